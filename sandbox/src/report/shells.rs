//! Finds the available shells. Each shell is started once, as for a command, and asked for its version.
//!
//! Must not search for programs itself. A start finds the path of a shell.

use serde::Serialize;

use super::observe::SESSION;
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::session::Session;
use crate::spec::Shell;

/// The maximum length of a reported version, in bytes.
const MAX_VERSION: usize = 64;

/// A shell that executes commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledShell {
    /// `bash`, `zsh` or `pwsh`.
    pub name: &'static str,
    /// The version that the shell reports: at most 64 printable characters without blanks. Empty if it reports none.
    pub version: String,
}

impl Launcher {
    /// Returns the working shells in a profile's root.
    pub(super) fn shells(&self, profile: &Profile, session: &Session) -> Vec<InstalledShell> {
        let installed = |shell: Shell| {
            let (said, _) = self.output_of(profile, session, SESSION, (shell, question(shell))).ok()?;
            Some(InstalledShell { name: shell.name(), version: version(&said) })
        };
        Shell::ALL.into_iter().filter_map(installed).collect()
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
}
