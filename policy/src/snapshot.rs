//! The session's shell snapshot: the meaning that its aliases and functions give to names. The text
//! is parsed here; claims of a shell about itself are not trusted. If any part is not understood,
//! every name is unknown.

mod expand;
mod read;

use std::collections::{HashMap, HashSet};

pub(crate) use expand::Expanded;

/// A snapshot, parsed once for a session.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The text of each alias.
    aliases: HashMap<Vec<u8>, Vec<u8>>,
    /// The names that are functions.
    functions: HashSet<Vec<u8>>,
    /// Whether the shell that loads the snapshot expands aliases.
    expands: bool,
    /// Whether a part of it is not understood.
    opaque: bool,
}

impl Snapshot {
    /// Parses a snapshot in the form that bash prints: `alias -p`, `declare -f`, `shopt -p`, `set
    /// +o`, and variables. Total: other text makes the snapshot opaque.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        read::snapshot(text)
    }

    /// Returns the command after alias expansion.
    #[must_use]
    pub fn expanded(&self, command: &[u8]) -> Vec<u8> {
        self.expand(command, "/").map_or_else(|| command.to_vec(), |expanded| expanded.text)
    }

    /// Reports whether the meaning of the name is unknown: it is a function, or the snapshot is not
    /// understood.
    #[must_use]
    pub fn is_unknown(&self, name: &[u8]) -> bool {
        self.opaque || self.functions.contains(name)
    }

    /// Reports whether the name is an alias.
    pub(crate) fn is_alias(&self, name: &[u8]) -> bool {
        self.aliases.contains_key(name)
    }

    /// Returns the names of functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.functions.iter()
    }

    /// Reports whether the shell that loads the snapshot expands aliases.
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
