//! Data on files that programs obey before they do their work.

use super::data;
use super::kinds::{Format, Search};

/// Files, and the settings in them that name a program.
#[derive(Debug)]
pub(crate) struct Obeys {
    pub(crate) programs: &'static [&'static str],
    /// File names that are searched for as `from` defines.
    pub(crate) files: &'static [&'static str],
    /// Paths relative to HOME.
    pub(crate) home: &'static [&'static str],
    pub(crate) from: Search,
    pub(crate) format: Format,
    pub(crate) settings: &'static [&'static str],
}

/// Returns the entries for the program with this name.
pub(crate) fn of(program: &[u8]) -> impl Iterator<Item = &'static Obeys> {
    data::OBEYED.iter().filter(move |entry| entry.programs.iter().any(|name| name.as_bytes() == program))
}
