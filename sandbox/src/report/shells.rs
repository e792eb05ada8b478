//! Starts each shell as for a command, to find the available ones, their versions, and what keeps them from starting.

use serde::Serialize;

use super::layers::Check;
use super::observe::{NotObserved, READER, SESSION, ended, spec};
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::running::Cause;
use crate::session::Session;
use crate::spec::{Limits, Shape, Shell};

/// The maximum length of a reported version, in bytes.
const MAX_VERSION: usize = 64;
/// The maximum length of a reported message, in characters.
const MAX_MESSAGE: usize = 200;
/// The usual limit of a command's files, which a runtime with large files in memory can exceed.
const FILE_SIZE: u64 = 4 << 30;

/// A shell that executes commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledShell {
    /// `bash`, `zsh` or `pwsh`.
    pub name: &'static str,
    /// The version that the shell reports: at most 64 printable characters without blanks. Empty if it reports none.
    pub version: String,
}

impl Launcher {
    /// Returns the working shells in a profile's root. Adds a check for each shell that is there and does not work.
    pub(super) fn shells(
        &self,
        profile: &Profile,
        session: &Session,
        checks: &mut Vec<Check>,
    ) -> Vec<InstalledShell> {
        let mut working = Vec::new();
        for shell in Shell::ALL {
            match self.version_of(profile, session, shell) {
                Ok(Some(version)) => working.push(InstalledShell { name: shell.name(), version }),
                Ok(None) => {}
                Err(NotObserved { cause, remedy }) => {
                    checks.push(Check::missing(shell.name(), cause, lost(shell), remedy));
                }
            }
        }
        working
    }

    /// Returns the version of a shell. `None` if it is not there.
    fn version_of(
        &self,
        profile: &Profile,
        session: &Session,
        shell: Shell,
    ) -> Result<Option<String>, NotObserved> {
        // PowerShell writes to HOME when it starts, and read-only commands cannot.
        let shapes: &[Shape] = if shell == Shell::Pwsh { &[READER, SESSION] } else { &[SESSION] };
        let limits = Limits { fsize: Some(FILE_SIZE), ..Limits::default() };
        let mut found = None;
        for shape in shapes {
            let spec = spec(profile, *shape, shell, question(shell))?;
            let running = match self.start(profile, session, &limits, &spec) {
                Err(error) if error.is_shell_unavailable() => return Ok(None),
                started => started.map_err(|error| NotObserved::from(&error))?,
            };
            match ended(running) {
                (Ok(said), Cause::Exited(0)) => found = Some(version(&said)),
                (said, cause) => {
                    let said = said.unwrap_or_else(|error| error.to_string());
                    let place = if shape.read_only { "on read-only mounts" } else { "in a sandbox" };
                    return Err(failed(shell, place, &cause, &said));
                }
            }
        }
        Ok(found)
    }
}

fn lost(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "bash commands fail",
        Shell::Zsh => "zsh commands fail",
        Shell::Pwsh => "PowerShell commands end with SHELL_UNAVAILABLE or fail",
    }
}

fn question(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "echo \"$BASH_VERSION\"",
        Shell::Zsh => "echo \"$ZSH_VERSION\"",
        Shell::Pwsh => "$PSVersionTable.PSVersion.ToString()",
    }
}

/// Returns the first word, if it can be a version.
fn version(said: &str) -> String {
    let word = said.split_whitespace().next().unwrap_or_default();
    let is_version = word.len() <= MAX_VERSION && word.bytes().all(|byte| byte.is_ascii_graphic());
    if is_version { word.to_owned() } else { String::new() }
}

fn failed(shell: Shell, place: &str, cause: &Cause, said: &str) -> NotObserved {
    let end = match cause {
        Cause::Exited(code) => format!("exited with {code}"),
        Cause::Signaled { signal, .. } => format!("was ended by signal {signal}"),
        Cause::Killed => "did not end in time".to_owned(),
        Cause::OomKilled => "needed more memory than there is".to_owned(),
        Cause::SandboxFailed { step, detail } => format!("failed at {step}: {detail}"),
    };
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let line: String = line.unwrap_or("no output").chars().take(MAX_MESSAGE).collect();
    NotObserved {
        cause: format!("`{}` {end} {place}: {line}", shell.name()),
        remedy: match shell {
            Shell::Bash | Shell::Zsh => "reinstall the shell".to_owned(),
            Shell::Pwsh => missing_of_powershell(cause, said).to_owned(),
        },
    }
}

/// Returns the likely cause of a start of PowerShell that failed.
fn missing_of_powershell(cause: &Cause, said: &str) -> &'static str {
    const ABORT: u8 = 6;
    const KILL: u8 = 9;
    const SEGV: u8 = 11;
    const FILE_SIZE: u8 = 25;
    let said = said.to_lowercase();
    if said.contains("libicu") || said.contains("icu package") {
        return "install libicu in the root of the sandbox";
    }
    if said.contains("shared librar") || said.contains("hostfxr") || said.contains("hostpolicy") {
        return "show the whole directory of PowerShell and its libraries in the sandbox (sandbox.root_binds)";
    }
    // PowerShell ends itself by a signal, or exits with the code of one.
    let signal = match cause {
        Cause::Signaled { signal, .. } => *signal,
        Cause::Exited(code) => code.saturating_sub(128),
        _ => 0,
    };
    match (cause, signal) {
        (Cause::Exited(70), _) => "PowerShell needs /etc/passwd and a place that it can write",
        (Cause::OomKilled, _) | (_, SEGV) => {
            "PowerShell needs 192 MiB of memory: raise the limit of the runner"
        }
        (_, ABORT) => "PowerShell needs /dev, a place that it can write, and 192 MiB of memory",
        (_, KILL) => {
            "PowerShell needs /proc, memory, and `sched_setaffinity` on itself: see the runtime's filter"
        }
        (_, FILE_SIZE) => "raise the limit of file sizes, or use a newer version of .NET",
        _ => "run `pwsh -NoProfile -Command 1` on the host; reinstall PowerShell if it fails there too",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_short_printable_word() {
        assert_eq!(version("5.2.15(1)-release\n"), "5.2.15(1)-release");
        assert_eq!(version("7.4.1\r\nmore"), "7.4.1");
        for said in ["", "\n", "\u{1b}[31m5", "5\u{e9}", &"9".repeat(MAX_VERSION + 1)] {
            assert_eq!(version(said), "", "{said:?}");
        }
    }

    #[test]
    fn a_failed_start_of_powershell_names_what_is_missing() {
        let signaled = |signal| Cause::Signaled { signal, core: false };
        for (cause, said, wanted) in [
            (Cause::Exited(70), "No such file or directory", "/etc/passwd"),
            (Cause::Exited(134), "", "/dev"),
            (signaled(6), "Unhandled exception", "a place that it can write"),
            (signaled(9), "Failed to create CoreCLR", "sched_setaffinity"),
            (Cause::Exited(139), "", "192 MiB"),
            (Cause::OomKilled, "", "192 MiB"),
            (signaled(25), "", "file sizes"),
            (Cause::Exited(1), "Couldn't find a valid ICU package installed", "libicu"),
            (Cause::Exited(127), "error while loading shared libraries: x", "root_binds"),
            (Cause::Exited(1), "?", "pwsh -NoProfile"),
        ] {
            let NotObserved { cause: seen, remedy } = failed(Shell::Pwsh, "in a sandbox", &cause, said);
            assert!(remedy.contains(wanted), "{cause:?} {said}: {remedy}");
            assert!(seen.starts_with("`pwsh` ") && seen.contains("in a sandbox: "), "{seen}");
        }
        let long = failed(Shell::Pwsh, "in a sandbox", &Cause::Killed, &"x".repeat(9999));
        assert!(long.cause.len() < 300);
    }
}
