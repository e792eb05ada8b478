//! The session's shell snapshot: what its aliases and functions make of names. The
//! file is parsed here, and what a shell says of itself is not believed. Whatever is
//! not understood in it makes every name unknown.

mod expand;
mod read;

use std::collections::{HashMap, HashSet};

pub(crate) use expand::Expanded;

/// A snapshot, read once for the session.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The text of each alias.
    aliases: HashMap<Vec<u8>, Vec<u8>>,
    /// Names that are functions.
    functions: HashSet<Vec<u8>>,
    /// Whether the shell that sources it expands aliases.
    expands: bool,
    /// Whether something in it is not understood.
    opaque: bool,
}

impl Snapshot {
    /// Reads a snapshot as bash prints one: `alias -p`, `declare -f`, `shopt -p`,
    /// `set +o`, and variables. Total: what is not of that kind is not understood.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        read::snapshot(text)
    }

    /// The command as the shell reads it behind its aliases.
    #[must_use]
    pub fn expanded(&self, command: &[u8]) -> Vec<u8> {
        self.expand(command, "/").map_or_else(|| command.to_vec(), |expanded| expanded.text)
    }

    /// Whether the name may mean anything: a function, or any name of a snapshot that
    /// is not understood.
    #[must_use]
    pub fn is_unknown(&self, name: &[u8]) -> bool {
        self.opaque || self.functions.contains(name)
    }

    /// Whether the name is an alias, expanded wherever the shell reads it.
    pub(crate) fn is_alias(&self, name: &[u8]) -> bool {
        self.aliases.contains_key(name)
    }

    /// The names it makes functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.functions.iter()
    }

    /// Whether the shell that sources it expands the aliases.
    pub(crate) fn expands(&self) -> bool {
        self.expands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Request, decide};

    #[test]
    fn what_only_reads_by_an_alias_gets_the_alias() {
        let snapshot = Snapshot::parse(b"# PATH=/usr/bin\nalias hi='echo hello'\nalias ls='touch'\n");
        let profile = Profile::builtin("sandboxed").unwrap();
        let reads = |text: &str| {
            let request = Request { snapshot: Some(&snapshot), ..Request::bash(text.as_bytes()) };
            decide(&request, &profile).read_only
        };
        assert!(!reads("hi there"), "without the alias it is another program");
        assert!(!reads("ls x"), "with the alias it is one that writes");
        assert!(reads("cat x"), "the control");
    }
}
