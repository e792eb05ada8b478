//! The part of the probe that runs inside: it inspects its environment, attempts to escape, and prints its observations as one
//! line of JSON.
//!
//! It is an attack by design, but harmless: it does not change the objects that it reaches. Must not run outside a
//! sandbox. Must not conclude that a layer holds. It reports observations, and the runner draws the conclusion.

mod attempts;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use airlock_init::sight::{LookFor, SESSION_PLACES, SYSTEM_PLACES, Sight, namespaces};
use airlock_init::wire::{COMMAND_DIRECTORY, Step};
use rustix::fs::{Mode, OFlags, open, unlink};

use crate::failure::{AtStep, Failure};

/// The lines of `/proc/self/status` that describe the rights of a process.
const STATUS: [&str; 10] = [
    "Uid",
    "Gid",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
];

pub(crate) fn run(wanted: Option<String>) -> Result<ExitCode, Failure> {
    let wanted: LookFor = serde_json::from_str(&wanted.unwrap_or_default()).at(Step::Message)?;
    let sight = Sight {
        status: status(),
        namespaces: namespaces(),
        pid: std::process::id(),
        proc_pid: fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse().ok()),
        processes: processes(),
        interfaces: interfaces(),
        writable: SYSTEM_PLACES
            .iter()
            .chain(&SESSION_PLACES)
            .filter(|place| writable(place))
            .map(ToString::to_string)
            .collect(),
        command_directory_writable: writable(COMMAND_DIRECTORY),
        attempts: attempts::all(&wanted),
    };
    let mut text = serde_json::to_vec(&sight).at(Step::Message)?;
    text.push(b'\n');
    std::io::stdout().write_all(&text).at(Step::Message)?;
    Ok(ExitCode::SUCCESS)
}

fn status() -> Vec<(String, String)> {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let wanted = lines.filter(|(name, _)| STATUS.contains(name));
    wanted.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

fn processes() -> usize {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())).count()
}

fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = table.lines().skip(2).filter_map(|line| line.split(':').next());
    names.map(|name| name.trim().to_owned()).collect()
}

/// Reports whether a file can be created in a directory. The file is removed again.
fn writable(directory: &str) -> bool {
    let path = Path::new(directory).join(format!(".airlock-look-{}", std::process::id()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let made = open(&path, flags, Mode::RUSR).is_ok();
    // A file that could be created can be removed.
    let _ = unlink(&path);
    made
}
