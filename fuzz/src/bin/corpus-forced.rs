//! The second part of `make corpus CORPUS=DIR`: runs every labelled command that must not be allowed
//! automatically, in the sandbox for read-only commands. Exits with 1 if a command changed content, a mode or a
//! name in the workspace, HOME or /tmp.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlock_fuzz::canary::forced::{Forced, ForcedError, Tried};
use clap::Parser;
use serde::Deserialize;

#[derive(Parser)]
#[command(
    about = "Runs labelled commands that write as if they were read-only, on files that must not change"
)]
struct Args {
    /// Directory with the labelled commands, in files with one JSON object per line
    directory: PathBuf,
    /// Time limit for one command, in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// How many sandboxes run at the same time
    #[arg(long, default_value_t = 2)]
    jobs: u32,
}

/// The relevant fields of a labelled command.
#[derive(Deserialize)]
struct Row {
    #[serde(alias = "command")]
    cmd: String,
    /// The reason why it must not be allowed automatically.
    why: Option<String>,
    /// The kind of bypass that it attempts.
    class: Option<String>,
    shell: Option<String>,
}

impl Row {
    /// Returns whether the command is labelled as unsafe and is a bash command.
    fn is_wanted(&self) -> bool {
        (self.why.is_some() || self.class.is_some())
            && self.shell.as_deref().is_none_or(|shell| shell == "bash")
    }
}

/// A command and its file and line.
struct Trap {
    place: String,
    command: String,
}

/// The results of all commands.
#[derive(Default)]
struct Report {
    ended: BTreeMap<&'static str, usize>,
    /// The position of each command, and its changes.
    changed: Vec<(String, Vec<String>)>,
    failed: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match work(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(said) => {
            eprintln!("corpus-forced: {said}");
            ExitCode::from(2)
        }
    }
}

fn work(args: &Args) -> Result<bool, String> {
    let traps = traps(&args.directory)?;
    if traps.is_empty() {
        return Err(format!(
            "`{}` holds no command that must not be allowed by itself",
            args.directory.display()
        ));
    }
    let (next, report) = (AtomicUsize::new(0), Mutex::new(Report::default()));
    std::thread::scope(|scope| {
        for number in 0..args.jobs.max(1) {
            let (traps, next, report) = (&traps, &next, &report);
            scope.spawn(move || {
                if let Err(error) = worker(number, args, traps, next, report) {
                    note(report, |report| report.failed = Some(error.to_string()));
                }
            });
        }
    });
    let report = report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(failed) = report.failed {
        return Err(failed);
    }
    let counts: Vec<String> = report.ended.iter().map(|(how, count)| format!("{count} {how}")).collect();
    println!(
        "as if read-only: {} commands, {}; {} changed something",
        traps.len(),
        counts.join(", "),
        report.changed.len()
    );
    for (place, changes) in &report.changed {
        println!("  {place}: {}", changes.join("; "));
    }
    Ok(report.changed.is_empty())
}

fn note(report: &Mutex<Report>, change: impl FnOnce(&mut Report)) {
    change(&mut report.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
}

/// Runs commands one after another, each on unchanged files.
fn worker(
    number: u32,
    args: &Args,
    traps: &[Trap],
    next: &AtomicUsize,
    report: &Mutex<Report>,
) -> Result<(), ForcedError> {
    let wall = Duration::from_secs(args.seconds);
    let mut directory = tempfile::tempdir()?;
    let mut forced = Forced::new(directory.path(), number, wall)?;
    while let Some(trap) = traps.get(next.fetch_add(1, Ordering::SeqCst)) {
        let (tried, changes) = forced.try_one(&trap.command)?;
        let how = match tried {
            Tried::Ended => "ended",
            Tried::Killed => "were ended in the end",
            Tried::NotStarted => "could not be started",
        };
        note(report, |report| *report.ended.entry(how).or_default() += 1);
        if !changes.is_empty() {
            note(report, |report| report.changed.push((trap.place.clone(), changes)));
            directory = tempfile::tempdir()?;
            forced = Forced::new(directory.path(), number, wall)?;
        }
    }
    Ok(())
}

/// Reads the relevant commands from the files of the directory.
fn traps(directory: &Path) -> Result<Vec<Trap>, String> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut traps = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("{}:{}", path.display(), index + 1);
            let row: Row = serde_json::from_str(line).map_err(|error| format!("{place}: {error}"))?;
            if row.is_wanted() {
                traps.push(Trap { place, command: row.cmd });
            }
        }
    }
    Ok(traps)
}
