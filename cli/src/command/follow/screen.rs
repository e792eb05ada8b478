//! The status line of a command on a terminal. While there is no output, it shows the reason and the duration of the
//! wait. At the end it shows a summary. Nothing is drawn if standard error is not a terminal. Must not change the
//! output, nor draw on a line that the output has started.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, IsTerminal as _},
    os::{fd::AsFd, unix::fs::MetadataExt as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::super::output;
use crate::render::text::Marker;
use crate::render::{cause, text, time};
use airlock_client::v1::cause::Detail;
use airlock_client::v1::{Execution, ExecutionState, LinkState};

/// The time without output after which the status line appears.
const QUIET: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// The terminal to draw on, if there is one.
#[derive(Debug)]
pub(super) struct Screen(Option<Mutex<Line>>);

/// The line below the output.
#[derive(Debug)]
struct Line {
    /// The bar while it is drawn.
    bar: Option<ProgressBar>,
    waits_for: &'static str,
    since: Instant,
    last_output: Instant,
    /// Whether the output has ended its last line.
    is_free: bool,
    stdout_is_seen: bool,
}

impl Screen {
    /// Draws if `wanted` and if standard error is a terminal that supports it.
    pub(super) fn new(wanted: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if !wanted || is_dumb || !io::stderr().is_terminal() {
            return Self(None);
        }
        let now = Instant::now();
        Self(Some(Mutex::new(Line {
            bar: None,
            waits_for: "waiting for the server",
            since: now,
            last_output: now,
            is_free: true,
            stdout_is_seen: io::stdout().is_terminal(),
        })))
    }

    /// Redraws when it is time. Cancel-safe. Never returns if there is no terminal to draw on.
    pub(super) async fn tick(&self) {
        if self.0.is_none() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(TICK).await;
        if let Some(mut line) = self.line() {
            line.draw();
        }
    }

    /// Sets the state that the view waits for.
    pub(super) fn state(&self, state: ExecutionState, link: LinkState) {
        let Some(mut line) = self.line() else { return };
        let waits_for = match (state, link) {
            (_, LinkState::Unreachable) => "the runner is unreachable",
            (ExecutionState::PendingApproval, _) => "waiting for an approval",
            (ExecutionState::Queued, _) => "waiting for its turn",
            (ExecutionState::Starting, _) => "starting",
            (ExecutionState::Running, _) => "running",
            (ExecutionState::Finished | ExecutionState::Unspecified, _) => return,
        };
        if line.waits_for != waits_for {
            line.waits_for = waits_for;
            line.since = Instant::now();
        }
    }

    /// Makes room for output of the command. `to_stdout` selects the stream that it is written to.
    pub(super) fn output(&self, data: &[u8], to_stdout: bool) {
        let Some(mut line) = self.line() else { return };
        line.clear();
        line.last_output = Instant::now();
        if let (Some(last), true) = (data.last(), line.stdout_is_seen || !to_stdout) {
            line.is_free = *last == b'\n';
        }
    }

    /// Writes a note from Airlock on its own line.
    pub(super) fn note(&self, text: &str) {
        if let Some(mut line) = self.line() {
            line.clear();
            if !std::mem::replace(&mut line.is_free, true) {
                output::note_below(text);
                return;
            }
        }
        output::note(text);
    }

    /// Reports the result: on a terminal always, in one line with the usage; otherwise only if the exit code does not
    /// show it. With `notes`, further notes follow.
    pub(super) fn end(&self, execution: &Execution, notes: bool) {
        let outcome = execution.result.as_ref();
        if self.0.is_some() {
            self.note(&cause::summary(outcome));
        } else {
            report_end(execution);
        }
        for note in text::notes(outcome).iter().filter(|_| notes) {
            self.note(note);
        }
    }

    fn line(&self) -> Option<MutexGuard<'_, Line>> {
        self.0.as_ref().map(|line| line.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Line {
    fn draw(&mut self) {
        if !self.is_free || self.last_output.elapsed() < QUIET {
            return;
        }
        let text = format!("{}, {}", self.waits_for, time::short(self.since.elapsed()));
        let bar = self.bar.get_or_insert_with(spinner);
        bar.set_message(text);
        bar.tick();
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Reports the result if the exit code alone does not show it.
fn report_end(execution: &Execution) {
    let exited = execution
        .result
        .as_ref()
        .and_then(|outcome| outcome.cause.as_ref())
        .is_some_and(|cause| matches!(cause.detail, Some(Detail::Exited(_))));
    if !exited {
        output::note(&cause::sentence(execution.result.as_ref()));
    }
}

/// Returns the exit code of an ended execution, and writes its result to standard error.
pub(in crate::command) fn end_of(execution: &Execution, notes: bool) -> u8 {
    report_end(execution);
    for note in text::notes(execution.result.as_ref()).iter().filter(|_| notes) {
        output::note(note);
    }
    cause::exit_code(execution.result.as_ref())
}

/// The markers of both streams, or `None` if the output must be exact.
///
/// Marks output that looks like a line from Airlock. This applies only if standard output and standard error go to the
/// same place: a terminal or a shared pipe. Otherwise the output is exact and cannot be confused with notes.
#[derive(Debug)]
pub(super) struct Marks(Option<[Marker; 2]>);

impl Marks {
    /// Creates markers if `wanted` and if standard output and standard error go to the same place.
    pub(super) fn new(wanted: bool) -> Self {
        let one_place =
            || matches!((place(io::stdout()), place(io::stderr())), (Ok(out), Ok(err)) if out == err);
        Self((wanted && one_place()).then(Default::default))
    }

    /// Returns the next bytes of a stream in the form to show.
    pub(super) fn push<'a>(&mut self, data: &'a [u8], is_stdout: bool) -> Cow<'a, [u8]> {
        match &mut self.0 {
            None => Cow::Borrowed(data),
            Some([stdout, _]) if is_stdout => Cow::Owned(stdout.push(data)),
            Some([_, stderr]) => Cow::Owned(stderr.push(data)),
        }
    }

    /// Returns the rest of each stream, and whether it belongs to standard output.
    pub(super) fn finish(&mut self) -> Vec<(Vec<u8>, bool)> {
        let Some([stdout, stderr]) = &mut self.0 else { return Vec::new() };
        vec![(stdout.finish(), true), (stderr.finish(), false)]
    }
}

/// Returns the device and inode that a stream refers to.
fn place(stream: impl AsFd) -> io::Result<(u64, u64)> {
    let file = File::from(stream.as_fd().try_clone_to_owned()?).metadata()?;
    Ok((file.dev(), file.ino()))
}
