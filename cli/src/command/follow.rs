//! Follows an execution to its end. Writes its bytes unchanged to standard output and its result to standard error, and
//! returns its exit code.

mod background;
mod denied;
mod screen;

use std::{pin::Pin, time::Duration};

use tokio::{io, sync::watch, time::timeout};

use super::{
    Failure,
    failure::describe,
    interrupt::Interrupts,
    output,
    terminal::{Left, Terminal, is_raw},
};

use crate::render::{cause, escape, json, names};
use airlock_client::{
    Client, ClientError, Events,
    v1::{
        Event, Execution, ExecutionState, LinkState, Note, Opened, OutputStream, StateChanged,
        event::Event as Kind,
    },
};
use airlock_embedded::state::{StateDirectory, StateError};

pub(super) use super::args::ViewOptions;
pub(super) use screen::end_of;

use screen::{Marks, Screen};

/// The exit code of a view that Ctrl-C ended.
const LEFT: u8 = 130;
/// The time that a cancel request may still take after a second Ctrl-C.
const LAST_WORD: Duration = Duration::from_secs(1);
/// The number of checks whether an `airlock dev` that does not answer is stopping, and the pause between them.
const ENDING_LOOKS: u32 = 20;
const ENDING_PAUSE: Duration = Duration::from_millis(50);
/// Shorter connection trouble is not reported.
const LASTING: Duration = Duration::from_secs(2);

/// Shows all events and returns the exit code.
pub(super) async fn follow(client: &Client, events: Events, options: ViewOptions) -> Result<u8, Failure> {
    let known = watch::Sender::new(events.execution_id().map(str::to_owned));
    let id = known.subscribe();
    let screen = Screen::new(!options.json && !options.log && options.terminal.is_none());
    let address = client.address();
    let mut trouble = Trouble { text: events.trouble(), dev: options.dev.clone(), address, screen: &screen };
    let runs = watch::Sender::new(false);
    let mut input = Box::pin(give_input(client, &options, id.clone(), runs.subscribe()));
    // A large future.
    let mut view = Box::pin(View::new(&options, known, runs, &screen).show(events));
    let mut interrupts = Interrupts::new()?;
    let mut key = background::Key::new(&options);
    let (mut asked, mut sent) = (Asked::Not, Asked::Not);
    let mut forwarded = false;
    let end = loop {
        tokio::select! {
            end = &mut view => break end,
            failure = trouble.hopeless(&id) => return Err(failure),
            left = &mut input, if !forwarded => match left? {
                Some(left) => return Ok(say_terminal_left(left, id.borrow().as_deref(), &options)),
                None => forwarded = true,
            },
            () = asked.done(), if matches!(asked, Asked::Asking(_)) => {}
            () = sent.done(), if matches!(sent, Asked::Asking(_)) => {}
            () = key.pressed(), if !matches!(sent, Asked::Asking(_)) => {
                sent = Asked::Asking(Box::pin(background::send(client.clone(), id.clone())));
            }
            () = interrupts.next() => {
                // On a raw terminal Ctrl-C is a byte for the command; here the signal comes from another
                // process.
                if options.owns && matches!(asked, Asked::Not) && !is_raw() {
                    let again = if options.local { "end it at once" } else { "leave without waiting for its end" };
                    screen.note(&format!("cancelling the command; press Ctrl-C again to {again}"));
                    asked = Asked::Asking(Box::pin(cancel(client.clone(), id.clone())));
                    continue;
                }
                // A second Ctrl-C can arrive before the cancel request is sent, so the request still gets
                // some time.
                tokio::select! {
                    end = &mut view => break end,
                    _ = timeout(LAST_WORD, asked.done()) => {}
                }
                if !options.local {
                    say_left(id.borrow().as_deref());
                }
                return Ok(LEFT);
            }
        }
    };
    match end {
        Ok(End::Finished(code)) => Ok(code),
        Ok(End::Failed(error)) => {
            if options.json {
                // The error is also written to standard error for a person.
                output::print_json(&json::error(&error))?;
            }
            let started = id.borrow().is_some() || !options.owns;
            Ok(denied::not_followed(client, &error, started).await)
        }
        Err(failure) => {
            // As in a local pipeline, a command is ended when its output has no reader.
            if failure.is_broken_pipe() && options.owns {
                let id = id.borrow().clone();
                if let Some(id) = id {
                    let _ = client.cancel(&id).await;
                }
            }
            Err(failure)
        }
    }
}

/// Forwards the terminal or standard input to the command. Returns the reason if the terminal was left.
async fn give_input(
    client: &Client,
    options: &ViewOptions,
    id: watch::Receiver<Option<String>>,
    runs: watch::Receiver<bool>,
) -> Result<Option<Left>, Failure> {
    match &options.terminal {
        Some(terminal) => terminal.attend(client, id, runs).await.map(Some),
        None if options.input => {
            background::forward_input(client, id, runs).await;
            Ok(None)
        }
        None => Ok(None),
    }
}

/// The state of a request to end or detach the command.
enum Asked {
    Not,
    Asking(Pin<Box<dyn Future<Output = ()> + Send>>),
    Yes,
}

impl Asked {
    /// Returns when no request is in progress. Cancel-safe.
    async fn done(&mut self) {
        if let Self::Asking(asking) = self {
            asking.await;
            *self = Self::Yes;
        }
    }
}

/// Reports trouble that keeps the view from continuing.
struct Trouble<'a> {
    text: watch::Receiver<Option<String>>,
    dev: Option<StateDirectory>,
    address: &'a str,
    screen: &'a Screen,
}

impl Trouble<'_> {
    /// Reports trouble that lasts, and returns only if it cannot pass. Cancel-safe, but a new call reports
    /// the trouble again.
    async fn hopeless(&mut self, id: &watch::Receiver<Option<String>>) -> Failure {
        loop {
            let text = self.text.wait_for(Option::is_some).await.map(|text| text.clone());
            let Some(text) = text.ok().flatten() else { std::future::pending().await };
            match timeout(LASTING, self.text.wait_for(Option::is_none)).await {
                Ok(Ok(_)) => continue,
                Ok(Err(_)) => std::future::pending().await,
                Err(_) => {}
            }
            if self.dev_is_gone() {
                return dev_has_ended(id.borrow().as_deref());
            }
            self.screen.note(&format!("{}; retrying", escape::line(text.as_bytes())));
            if self.text.wait_for(Option::is_none).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn dev_is_gone(&self) -> bool {
        self.dev.as_ref().is_some_and(|directory| is_gone(directory, self.address))
    }
}

/// Reports whether the `airlock dev` at `address` has ended, or another one has replaced it.
pub(super) fn is_gone(directory: &StateDirectory, address: &str) -> bool {
    match directory.connection() {
        Ok(connection) => connection.address != address,
        Err(error) => matches!(error, StateError::NotRunning(_)),
    }
}

/// Reports whether an `airlock dev` that does not answer is stopping: it closes its connections before it releases its
/// directory.
pub(super) async fn is_ending(directory: &StateDirectory) -> bool {
    for _ in 0..ENDING_LOOKS {
        if matches!(directory.connection(), Err(StateError::NotRunning(_))) {
            return true;
        }
        tokio::time::sleep(ENDING_PAUSE).await;
    }
    false
}

pub(super) fn dev_has_ended(id: Option<&str>) -> Failure {
    let look = match id {
        Some(id) => format!("airlock wait {id}"),
        None => "airlock ps --all".to_owned(),
    };
    Failure::new(format!("`airlock dev` has ended; start it again, and look up the result with: {look}"))
}

/// The end of a view.
enum End {
    Finished(u8),
    Failed(ClientError),
}

struct View<'a> {
    options: &'a ViewOptions,
    known: watch::Sender<Option<String>>,
    /// Whether the command can take input.
    runs: watch::Sender<bool>,
    stdout: io::Stdout,
    stderr: io::Stderr,
    screen: &'a Screen,
    marks: Marks,
    /// Whether the next byte can be in the middle of a line or of a terminal control sequence.
    in_line: bool,
    /// The reported connections that cannot succeed.
    foreseen: Vec<String>,
}

impl<'a> View<'a> {
    fn new(
        options: &'a ViewOptions,
        known: watch::Sender<Option<String>>,
        runs: watch::Sender<bool>,
        screen: &'a Screen,
    ) -> Self {
        let in_line = options.terminal.as_ref().is_some_and(Terminal::is_joined);
        let marks = Marks::new(options.notes && !options.json && !options.log && options.terminal.is_none());
        let (stdout, stderr, foreseen) = (io::stdout(), io::stderr(), Vec::new());
        Self { options, known, runs, stdout, stderr, screen, marks, in_line, foreseen }
    }

    async fn show(mut self, mut events: Events) -> Result<End, Failure> {
        loop {
            let event = match self.next(&mut events).await {
                Ok(Some(event)) => event,
                ended => {
                    self.unhold().await?;
                    return Ok(ended.map_or_else(End::Failed, |_| End::Finished(cause::FAILED)));
                }
            };
            let id = events.execution_id().unwrap_or_default();
            self.known.send_if_modified(|known| {
                let new = known.as_deref() != Some(id) && !id.is_empty();
                if new {
                    *known = Some(id.to_owned());
                }
                new
            });
            self.event(id, &event).await?;
            if let Some(Kind::Finished(finished)) = &event.event {
                let mut execution = finished.execution.clone().unwrap_or_default();
                if self.options.log {
                    return Ok(End::Finished(0));
                }
                self.unhold().await?;
                if let Some(result) = &mut execution.result {
                    result.notes.retain(|note| !self.foreseen.contains(&note.text));
                }
                self.screen.end(&execution, self.options.notes && !self.options.json);
                return Ok(End::Finished(cause::exit_code(execution.result.as_ref())));
            }
            if let Some(Kind::Backgrounded(_)) = &event.event {
                self.unhold().await?;
                if self.options.owns && self.options.terminal.is_none() {
                    say_backgrounded(id);
                    return Ok(End::Finished(cause::BACKGROUNDED));
                }
                self.screen.note("the command was sent to the background and continues");
                events.go_on();
            }
        }
    }

    /// Returns the next event. Until it arrives, the screen shows the reason for the wait.
    async fn next(&self, events: &mut Events) -> Result<Option<Event>, ClientError> {
        let mut next = std::pin::pin!(events.next());
        loop {
            tokio::select! {
                event = &mut next => return event,
                () = self.screen.tick() => {}
            }
        }
    }

    /// Reports once, before the command starts, which of its connections cannot succeed.
    fn foresee(&mut self, execution: &Execution) {
        if !self.options.notes || self.options.json || self.options.log || !self.foreseen.is_empty() {
            return;
        }
        let about =
            |note: &&Note| ["no_network", "network_refused", "no_proxy"].contains(&note.code.as_str());
        let notes = execution.decision.iter().flat_map(|decision| &decision.warning_notes).filter(about);
        self.foreseen = notes.map(|note| note.text.clone()).collect();
        for text in &self.foreseen {
            self.screen.note(&escape::line(text.as_bytes()));
        }
    }

    async fn event(&mut self, id: &str, event: &Event) -> Result<(), Failure> {
        if self.options.json {
            let line = format!("{}\n", json::event(id, event));
            output::write(&mut self.stdout, escape::json(&line).as_bytes()).await?;
        }
        match &event.event {
            Some(Kind::Output(out)) if !self.options.json => {
                let is_stdout = out.stream() != OutputStream::Stderr;
                let cut = std::mem::take(&mut self.in_line) && out.offset > 0;
                let shown = if cut { from_next_line(&out.data) } else { &out.data };
                let shown = self.marks.push(shown, is_stdout);
                self.write(&shown, is_stdout).await?;
            }
            Some(Kind::Gap(gap)) => self.screen.note(&format!(
                "{} bytes of {} are no longer held (from offset {} to {})",
                gap.to.saturating_sub(gap.from),
                names::lower::<OutputStream>(gap.stream),
                gap.from,
                gap.to
            )),
            Some(Kind::StateChanged(change)) => {
                self.screen.state(change.state(), change.link());
                say_state(change, self.screen);
                self.runs.send_if_modified(|runs| start(runs, change.state()));
            }
            Some(Kind::Opened(Opened { execution: Some(execution) })) => {
                self.screen.state(execution.state(), execution.link());
                self.runs.send_if_modified(|runs| start(runs, execution.state()));
                self.foresee(execution);
            }
            _ => {}
        }
        Ok(())
    }
}

impl View<'_> {
    async fn write(&mut self, shown: &[u8], is_stdout: bool) -> Result<(), Failure> {
        self.screen.output(shown, is_stdout);
        if is_stdout {
            output::write(&mut self.stdout, shown).await
        } else {
            output::write(&mut self.stderr, shown).await
        }
    }

    /// Writes bytes that were held back because they could have been the start of a line to mark.
    async fn unhold(&mut self) -> Result<(), Failure> {
        for (held, is_stdout) in self.marks.finish() {
            self.write(&held, is_stdout).await?;
        }
        Ok(())
    }
}

/// Returns the data after its first line feed, or all of it if it has none.
fn from_next_line(data: &[u8]) -> &[u8] {
    let at = data.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    data.get(at..).unwrap_or_default()
}

fn start(runs: &mut bool, state: ExecutionState) -> bool {
    state == ExecutionState::Running && !std::mem::replace(runs, true)
}

/// Reports state changes that matter to a person while the command is in progress.
fn say_state(change: &StateChanged, screen: &Screen) {
    if change.state() == ExecutionState::PendingApproval {
        let id = &change.approval_id;
        screen.note(&format!("an approval is required; answer with: airlock approve {id}"));
    }
    if change.state() == ExecutionState::Running && !change.approval_id.is_empty() {
        let id = &change.approval_id;
        screen.note(&format!("a connection waits for an approval; answer with: airlock approve {id}"));
    }
    if change.link() == LinkState::Unreachable {
        screen.note("the runner is unreachable; the command continues on it");
    }
}

/// Reports why a start was refused, and returns the exit code.
pub(super) async fn not_started(client: &Client, error: &ClientError) -> u8 {
    denied::not_followed(client, error, false).await
}

fn say_backgrounded(id: &str) {
    output::note(&format!(
        "execution {id} was sent to the background and continues\n  to follow it: airlock logs --follow {id}\n  to end it: airlock kill {id}"
    ));
}

fn say_left(id: Option<&str>) {
    match id {
        Some(id) => output::note(&format!(
            "no longer following execution {id}\n  to show it: airlock attach {id}\n  to end it: airlock kill {id}"
        )),
        None => output::note("stopped before the server answered; `airlock ps` lists running commands"),
    }
}

/// Reports options to return to a terminal, and returns the exit code.
fn say_terminal_left(left: Left, id: Option<&str>, options: &ViewOptions) -> u8 {
    let why = match left {
        Left::Detached => "detached from",
        Left::Taken => "another client took",
    };
    match id {
        Some(id) if !options.local => output::note(&format!(
            "{why} the terminal of execution {id}; the command continues\n  to return: airlock attach -it {id}\n  to end it: airlock kill {id}"
        )),
        _ => output::note("detached from the terminal; the command ends with its server"),
    }
    match left {
        Left::Detached => cause::BACKGROUNDED,
        Left::Taken => LEFT,
    }
}

/// Cancels the execution as soon as its ID is known.
async fn cancel(client: Client, mut id: watch::Receiver<Option<String>>) {
    let known = match id.wait_for(Option::is_some).await {
        Ok(known) => known.clone().unwrap_or_default(),
        Err(_) => return,
    };
    if let Err(error) = client.cancel(&known).await {
        output::note(&format!("cannot cancel the command: {}", describe(&error)));
    }
}
