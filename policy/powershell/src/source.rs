//! Texts and their places in the original text. The text of `$(...)` in a string is read again on its own; where the
//! string doubles its quotes, that text has fewer characters than its source.

use std::rc::Rc;

/// A place in the original text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

/// The relation between offsets of a text and those of the original.
#[derive(Debug, Clone)]
pub(crate) enum Map {
    /// The text starts at this offset.
    From(usize),
    /// The offset of each byte, and of the end.
    Each(Rc<[u32]>),
}

impl Map {
    pub(crate) fn offset(&self, at: usize) -> usize {
        match self {
            Self::From(start) => start + at,
            Self::Each(offsets) => {
                let known = offsets.get(at).or_else(|| offsets.last());
                known.map_or(0, |offset| *offset as usize)
            }
        }
    }

    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        Span { start: self.offset(start), end: self.offset(end) }
    }
}

/// The text of a nested expression, with its place.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) text: Rc<str>,
    pub(crate) map: Map,
}
