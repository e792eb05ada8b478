//! Files that programs obey before they do their work, as data.

use super::data;
use super::kinds::{Format, Search};

/// Files, and the settings in them that name a program.
#[derive(Debug)]
pub(crate) struct Obeys {
    pub(crate) programs: &'static [&'static str],
    /// Looked for as `from` says.
    pub(crate) files: &'static [&'static str],
    /// In HOME.
    pub(crate) home: &'static [&'static str],
    pub(crate) from: Search,
    pub(crate) format: Format,
    pub(crate) settings: &'static [&'static str],
}

/// What the program of this name obeys.
pub(crate) fn of(program: &[u8]) -> impl Iterator<Item = &'static Obeys> {
    data::OBEYED.iter().filter(move |entry| entry.programs.iter().any(|name| name.as_bytes() == program))
}
