//! What exit codes mean to the programs that give them, as data.

use super::{Name, data, find};

/// A program, or a program with its subcommand, whose exit codes mean something.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) name: &'static str,
    /// Whether its other codes are those of what it runs.
    pub(crate) passes: bool,
    /// Codes, what they mean, and whether they are a failure.
    pub(crate) codes: &'static [(u8, &'static str, bool)],
}

/// The entry of that name, such as `grep` or `git diff`.
pub(crate) fn exit(name: Name<'_>) -> Option<&'static Exit> {
    find(data::EXITS, name, |entry| entry.name)
}
