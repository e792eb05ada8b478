//! Refuses launches that cannot be started, and builds the program that pid 1 starts for a command: the shell, its
//! arguments, its files.
//!
//! Pure. Must not insert a command into the text of another command. It is a separate file, which the shell runs as a
//! script.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use airlock_init::wire::{
    CERTIFICATES_FILE, COMMAND_FILE, INSIDE_BASH_ENV, SHELL_INIT_FILE, SNAPSHOT_FILE, StartSpec,
};

use super::powershell;
use crate::error::LaunchError;
use crate::spec::{LaunchSpec, Limits, MAX_COMMAND, Shell, Stdin};
use crate::{landlock, mask, runtime};

/// The option with which zsh reads no start file of the user.
const ZSH_NO_FILES: &[u8] = b"-f";
/// The name of the file in `ZDOTDIR` that zsh reads before a script.
const ZSH_START_FILE: &str = ".zshenv";

/// Builds the start message. The command, and the files that the shell reads before it, are files of `directory`.
pub(super) fn start(spec: &LaunchSpec, limits: &Limits, directory: &Path) -> StartSpec {
    let words = shell_words(spec.shell, spec.shape.read_only);
    let mut args: Vec<Vec<u8>> = words.into_iter().map(Vec::from).collect();
    let sources_in_zsh = spec.snapshot.is_some() && spec.shell == Shell::Zsh;
    if sources_in_zsh {
        // With this option zsh would not read its start file, which sources the snapshot.
        args.retain(|word| word != ZSH_NO_FILES);
    }
    let mut files = vec![(COMMAND_FILE.to_owned(), spec.command.clone())];
    let mut script = COMMAND_FILE;
    if spec.shell == Shell::Pwsh {
        args.push(b"-File".to_vec());
        files.extend(powershell::files(spec));
        script = powershell::RUN_FILE;
    }
    args.push(directory.join(script).into_os_string().into_vec());
    let others = [
        (if spec.shell == Shell::Pwsh { powershell::SNAPSHOT_FILE } else { SNAPSHOT_FILE }, &spec.snapshot),
        (SHELL_INIT_FILE, &spec.shell_init),
        (CERTIFICATES_FILE, &spec.certificates),
    ];
    files.extend(others.into_iter().filter_map(|(name, file)| Some((name.to_owned(), file.clone()?))));
    let bytes = |text: &OsString| text.clone().into_vec();
    let mut env: Vec<_> = spec.env.iter().map(|(name, value)| (bytes(name), bytes(value))).collect();
    let mut own = powershell::variables(spec, directory);
    if sources_in_zsh {
        files.push((ZSH_START_FILE.to_owned(), runtime::zsh_start().into_bytes()));
        own.push(("ZDOTDIR", directory.as_os_str().as_bytes().to_vec()));
    }
    env.retain(|(name, _)| own.iter().all(|(known, _)| known.as_bytes() != name.as_slice()));
    env.extend(own.into_iter().map(|(name, value)| (name.into(), value)));
    if spec.snapshot.is_some() && spec.shell == Shell::Bash {
        env.push((b"BASH_ENV".to_vec(), INSIDE_BASH_ENV.as_bytes().to_vec()));
    }
    StartSpec {
        shell: spec.shell,
        prefix: spec.prefix.clone(),
        args,
        directory: directory.as_os_str().as_bytes().to_vec(),
        directories: powershell::directories(spec),
        files,
        env,
        cwd: spec.cwd.as_os_str().as_bytes().to_vec(),
        limits: limits.rlimits(),
        umask: spec.umask,
        access: landlock::access(spec.shape, &spec.masks),
        terminal: match spec.stdin {
            Stdin::Terminal(size) => Some(size),
            Stdin::Null | Stdin::Pipe => None,
        },
        watched: Vec::new(),
    }
}

/// Returns the options of a shell, such that it reads no startup file before a command. In a read-only command, bash
/// expands no aliases.
#[must_use]
pub fn shell_words(shell: Shell, read_only: bool) -> Vec<&'static [u8]> {
    match shell {
        Shell::Bash => {
            let mut words: Vec<&[u8]> = vec![b"--noprofile", b"--norc", b"+H", b"+O", b"extglob"];
            if !read_only {
                words.extend([b"-O".as_slice(), b"expand_aliases"]);
            }
            words
        }
        // An alias of zsh can occur anywhere in a line, and would hide the program that runs.
        Shell::Zsh => vec![ZSH_NO_FILES, b"-d", b"-o", b"no_aliases", b"-o", b"no_bang_hist"],
        Shell::Pwsh => vec![b"-NoLogo", b"-NoProfile", b"-NonInteractive"],
    }
}

/// The maximum total bytes of names and values of the environment.
const MAX_ENVIRONMENT: usize = 512 << 10;

/// Refuses parameters that cannot be started.
pub(super) fn check(spec: &LaunchSpec) -> Result<(), LaunchError> {
    let refuse = |cause: &str| Err(LaunchError::Invalid { cause: cause.to_owned() });
    if spec.command.len() > MAX_COMMAND {
        return Err(LaunchError::CommandTooLong { bytes: spec.command.len() });
    }
    if spec.command.contains(&0) {
        return refuse("the command contains a NUL byte");
    }
    if spec.prefix.iter().any(|word| word.contains(&0)) {
        return refuse("the prefix contains a NUL byte");
    }
    if spec.snapshot.is_some() && spec.shape.read_only {
        return refuse("a read-only command cannot use a shell snapshot");
    }
    if spec.separate_stderr && matches!(spec.stdin, Stdin::Terminal(_)) {
        return refuse("a terminal has one stream for output and errors");
    }
    if !spec.cwd.is_absolute() || spec.cwd.as_os_str().as_bytes().contains(&0) {
        return refuse("the directory is not an absolute path");
    }
    let bad = |(name, value): &(OsString, OsString)| {
        let name = name.as_bytes();
        name.is_empty() || name.iter().any(|byte| matches!(byte, 0 | b'=')) || value.as_bytes().contains(&0)
    };
    if spec.env.iter().any(bad) {
        return refuse("the environment contains a name or value that cannot be passed");
    }
    let sizes = spec.env.iter().map(|(name, value)| name.len() + value.len());
    if sizes.clone().any(|size| size >= MAX_COMMAND) || sizes.sum::<usize>() > MAX_ENVIRONMENT {
        return refuse("the environment is too large");
    }
    mask::check(&spec.masks).map_err(|cause| LaunchError::Invalid { cause })
}
