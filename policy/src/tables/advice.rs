//! Data for the informative parts of a decision: categories and warnings.

use super::{Target, data, find};
use crate::decision::Category;

/// A command to warn about.
#[derive(Debug)]
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    /// The program's name; a star at the end matches any suffix.
    pub(crate) program: &'static str,
    pub(crate) subcommand: &'static [&'static str],
    /// Words that must all follow the program's name.
    pub(crate) words: &'static [&'static str],
    /// Words of which one must follow.
    pub(crate) any_word: &'static [&'static str],
    /// Flags of which one must be given.
    pub(crate) flags: &'static [&'static str],
    /// The prefix of a word that counts as a flag.
    pub(crate) word_begins: &'static str,
}

/// A command that destroys a person's work if its target matches.
#[derive(Debug)]
pub(crate) struct Destroys {
    pub(crate) command: Warning,
    pub(crate) target: Target,
    /// Whether any operand makes it less destructive.
    pub(crate) whole: bool,
    /// Flags and words that make it less destructive.
    pub(crate) unless: &'static [&'static str],
    /// Words to search for, in order, in a text that is not understood.
    pub(crate) text: &'static [&'static str],
}

/// Texts to warn about when these programs receive them.
#[derive(Debug)]
pub(crate) struct WarningText {
    pub(crate) code: &'static str,
    pub(crate) programs: &'static [&'static str],
    /// Texts in lower case, with their effects.
    pub(crate) texts: &'static [(&'static str, &'static str)],
}

/// Programs to warn about when the output of the first reaches the other.
#[derive(Debug)]
pub(crate) struct WarningPair {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    pub(crate) first: &'static [&'static str],
    pub(crate) then: &'static [&'static str],
}

/// Returns the category of the program for user interfaces.
pub(crate) fn category(name: &[u8]) -> Category {
    find(data::CATEGORIES, &[name], |entry| entry.0).map_or(Category::Other, |(_, category)| *category)
}

pub(crate) fn warnings() -> &'static [Warning] {
    data::WARNINGS
}

pub(crate) fn destroys() -> &'static [Destroys] {
    data::DESTROYS
}

pub(crate) fn warning_texts() -> &'static [WarningText] {
    data::WARNING_TEXTS
}

pub(crate) fn warning_pairs() -> &'static [WarningPair] {
    data::WARNING_PAIRS
}
