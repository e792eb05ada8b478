//! Data on the meaning of exit codes.

use super::{Name, data, find};

/// A program, or a program with its subcommand, with meaningful exit codes.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) name: &'static str,
    /// Whether all other codes are those of the command that it runs.
    pub(crate) passes: bool,
    /// Each code with its meaning and whether it is a failure.
    pub(crate) codes: &'static [(u8, &'static str, bool)],
}

/// Returns the entry with this name, such as `grep` or `git diff`.
pub(crate) fn exit(name: Name<'_>) -> Option<&'static Exit> {
    find(data::EXITS, name, |entry| entry.name)
}
