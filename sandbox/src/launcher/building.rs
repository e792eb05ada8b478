//! From a command to what pid 1 starts: which shell, by which words, with which files.
//!
//! Pure. Must not put a command into the text of another: it is a file of its own, which
//! the shell runs as a script.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use airlock_init::wire::{
    COMMAND_FILE, COMMAND_FOLDER, INSIDE_BASH_ENV, SHELL_INIT_FILE, SNAPSHOT_FILE, StartSpec,
};

use crate::landlock;
use crate::spec::{LaunchSpec, Limits, Shell, Stdin};

/// For a sandbox.
pub(super) fn inside(spec: &LaunchSpec, limits: &Limits) -> StartSpec {
    // PowerShell takes nothing else for a script.
    let name =
        if spec.shell == Shell::Pwsh { format!("{COMMAND_FILE}.ps1") } else { COMMAND_FILE.to_owned() };
    let mut args: Vec<Vec<u8>> = words(spec).into_iter().map(Vec::from).collect();
    args.extend((spec.shell == Shell::Pwsh).then(|| b"-File".to_vec()));
    args.push(format!("{COMMAND_FOLDER}/{name}").into_bytes());
    let mut files = vec![(name, spec.command.clone())];
    let others = [(SNAPSHOT_FILE, &spec.snapshot), (SHELL_INIT_FILE, &spec.shell_init)];
    files.extend(others.into_iter().filter_map(|(name, file)| Some((name.to_owned(), file.clone()?))));
    let mut start = start(spec, limits, args);
    start.files = files;
    if spec.snapshot.is_some() {
        start.env.push((b"BASH_ENV".to_vec(), INSIDE_BASH_ENV.as_bytes().to_vec()));
    }
    start
}

/// For a command outside the sandbox, where there is no place for files of its own.
pub(super) fn outside(spec: &LaunchSpec, limits: &Limits) -> StartSpec {
    let text: &[u8] = if spec.shell == Shell::Pwsh { b"-Command" } else { b"-c" };
    let mut args: Vec<Vec<u8>> = words(spec).into_iter().map(Vec::from).collect();
    args.extend([text.to_vec(), spec.command.clone()]);
    start(spec, limits, args)
}

/// The options of a shell that reads no file of settings before the command.
fn words(spec: &LaunchSpec) -> Vec<&'static [u8]> {
    match spec.shell {
        Shell::Bash => {
            let mut words: Vec<&[u8]> = vec![b"--noprofile", b"--norc", b"+H", b"+O", b"extglob"];
            if !spec.shape.read_only {
                words.extend([b"-O".as_slice(), b"expand_aliases"]);
            }
            words
        }
        // Aliases can stand anywhere in a line there, and would hide what runs.
        Shell::Zsh => vec![b"-f", b"-d", b"-o", b"no_aliases", b"-o", b"no_bang_hist"],
        Shell::Pwsh => vec![b"-NoLogo", b"-NoProfile", b"-NonInteractive"],
    }
}

fn start(spec: &LaunchSpec, limits: &Limits, args: Vec<Vec<u8>>) -> StartSpec {
    let bytes = |text: &OsString| text.clone().into_vec();
    StartSpec {
        shell: spec.shell,
        prefix: spec.prefix.clone(),
        args,
        files: Vec::new(),
        env: spec.env.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
        cwd: spec.cwd.as_os_str().as_bytes().to_vec(),
        limits: limits.rlimits(),
        access: landlock::access(spec.shape, &spec.masks),
        terminal: match spec.stdin {
            Stdin::Terminal(size) => Some(size),
            Stdin::Null | Stdin::Pipe => None,
        },
    }
}
