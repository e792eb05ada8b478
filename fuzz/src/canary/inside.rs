//! The process inside the sandbox. It creates the tree, traces one command after another, and compares the tree with
//! its original state. It must run only in the canary's sandbox. It does not judge. It writes its observations, one
//! line for each command.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::obeyed::{self, ConfigFiles};
use super::place::{Planted, WATCHED};
use super::snapshot::Snapshot;
use crate::trace::{self, Ended, Limits, Program};

/// The script that makes the tree.
const TREE: &str = include_str!("../../canary/tree.sh");
/// The script that adds configuration that names programs.
const PLANT: &str = include_str!("../../canary/planted.sh");
/// Scratch space of one command. Airlock deletes it after each command.
const SCRATCH: &str = "/var/tmp";

/// A task: run a command, or, without one, compare all bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// The text for bash.
    pub command: Option<String>,
    /// The configuration files that its programs read. The command does not run if one of them
    /// names a program.
    pub held: Vec<ConfigFiles>,
}

/// The observations of one task.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The programs that were started.
    pub started: Vec<Started>,
    /// The changes, one line for each name.
    pub changed: Vec<String>,
    /// Whether a runner would have withdrawn the verdict. The command did not run then.
    pub withdrawn: bool,
    /// Whether the command had to be killed.
    pub ended_by_force: bool,
    /// The reason why the command could not be run or watched.
    pub trouble: Option<String>,
}

/// A program that was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Started {
    /// The path given to the kernel.
    pub path: String,
    /// Its arguments, including `argv[0]`.
    pub argv: Vec<String>,
    /// The index of the program that started it, or none for the shell itself.
    pub by: Option<usize>,
}

/// Reads tasks from standard input until it ends, and answers each.
///
/// # Errors
///
/// Returns an error if the tree cannot be made or read, or if the output is closed.
pub fn run(planted: Planted) -> io::Result<()> {
    script(&["-c", TREE])?;
    if planted != Planted::Nothing {
        script(&["-c", PLANT, "plant", planted.name()])?;
    }
    let before = look(true)?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let task: Task = serde_json::from_str(&line?)?;
        let seen = match &task.command {
            Some(_) if obeyed::names_a_program(&task.held) => Seen { withdrawn: true, ..Seen::default() },
            Some(command) => run_one(command, &before)?,
            None => Seen { changed: before.differences(&look(true)?), ..Seen::default() },
        };
        serde_json::to_writer(&mut out, &seen)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

fn script(words: &[&str]) -> io::Result<()> {
    let made = Command::new("/bin/bash").args(words).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if made.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("the canary tree was not made: {made}")))
    }
}

fn look(contents: bool) -> io::Result<Snapshot> {
    Snapshot::take(&WATCHED.map(Path::new), contents)
}

fn run_one(command: &str, before: &Snapshot) -> io::Result<Seen> {
    let env: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| name != "PWD")
        .chain([("BASH_ENV".into(), "/run/airlock/bash_env".into())])
        .collect();
    let args = ["--noprofile", "--norc", "-c", command].map(|word| word.as_bytes().to_vec());
    let program = Program {
        path: Path::new("/bin/bash"),
        args: args.into(),
        env: &env,
        cwd: Path::new(airlock_sandbox::WORKSPACE),
    };
    let limits = Limits {
        wall: Duration::from_secs(5),
        linger: Duration::from_millis(500),
        file_blocks: 64 * 1024,
        memory_kib: 8 << 20,
        ..Limits::default()
    };
    let mut seen = match trace::run(&program, &limits) {
        Ok(run) => Seen {
            started: run.execs.iter().map(started).collect(),
            ended_by_force: matches!(run.ended, Ended::TimedOut | Ended::TooManyProcesses) || run.leftovers,
            ..Seen::default()
        },
        Err(error) => Seen { trouble: Some(error.to_string()), ..Seen::default() },
    };
    seen.changed = before.differences(&look(false)?);
    clear_scratch()?;
    Ok(seen)
}

fn started(exec: &trace::Exec) -> Started {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    Started { path: text(&exec.path), argv: exec.argv.iter().map(text).collect(), by: exec.by }
}

fn clear_scratch() -> io::Result<()> {
    for entry in fs::read_dir(SCRATCH)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
    }
    Ok(())
}
