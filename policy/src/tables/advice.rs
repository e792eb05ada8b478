//! What is said of commands beside the verdict: categories and warnings, as data.

use super::{Target, data, find};
use crate::decision::Category;

/// A command to warn about.
#[derive(Debug)]
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    /// A star at the end stands for any rest.
    pub(crate) program: &'static str,
    pub(crate) subcommand: &'static [&'static str],
    /// Words that all stand behind it.
    pub(crate) words: &'static [&'static str],
    /// Words of which one does.
    pub(crate) any_word: &'static [&'static str],
    /// Flags of which one is given.
    pub(crate) flags: &'static [&'static str],
    /// The beginning of a word that stands for a flag.
    pub(crate) word_begins: &'static str,
}

/// A command that destroys a person's work, where it is aimed at it.
#[derive(Debug)]
pub(crate) struct Destroys {
    pub(crate) command: Warning,
    pub(crate) target: Target,
    /// Whether an operand makes it do less.
    pub(crate) whole: bool,
    /// Flags and words with which it does less.
    pub(crate) unless: &'static [&'static str],
    /// Words that are looked for, in their order, in a text that is not understood.
    pub(crate) text: &'static [&'static str],
}

/// Texts to warn about where these programs are given them.
#[derive(Debug)]
pub(crate) struct WarningText {
    pub(crate) code: &'static str,
    pub(crate) programs: &'static [&'static str],
    /// Texts in small letters, with what they do.
    pub(crate) texts: &'static [(&'static str, &'static str)],
}

/// Programs to warn about where the output of the first reaches the other.
#[derive(Debug)]
pub(crate) struct WarningPair {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    pub(crate) first: &'static [&'static str],
    pub(crate) then: &'static [&'static str],
}

/// How a user interface may fold the program.
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
