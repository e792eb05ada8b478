//! The text that is parsed: line continuations removed, offsets mapped back.

use crate::decision::Span;

/// Where a parsed text stands in the command as it was given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpanMap {
    /// It is the command.
    Whole,
    /// It is the value of a word there: every span in it is the word's.
    Word(Span),
}

impl SpanMap {
    pub(super) fn whole(self, length: usize) -> Span {
        match self {
            Self::Whole => Span::new(0, length),
            Self::Word(span) => span,
        }
    }
}

pub(crate) struct Source {
    text: Vec<u8>,
    /// Offsets in `text` where two bytes of the original were left out before.
    cuts: Vec<usize>,
    map: SpanMap,
}

impl Source {
    /// `continuations` are the offsets of the backslashes, ascending.
    pub(super) fn new(original: &[u8], continuations: &[usize], map: SpanMap) -> Self {
        let mut text = Vec::with_capacity(original.len());
        let mut cuts = Vec::with_capacity(continuations.len());
        let mut from = 0;
        for &at in continuations {
            text.extend_from_slice(original.get(from..at).unwrap_or_default());
            cuts.push(text.len());
            from = at + 2;
        }
        text.extend_from_slice(original.get(from..).unwrap_or_default());
        Self { text, cuts, map }
    }

    /// Whether each part of the text has a span of its own.
    pub(super) fn has_spans(&self) -> bool {
        matches!(self.map, SpanMap::Whole)
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &[u8] {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The span in the command as given of these offsets in the parsed text.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        match self.map {
            SpanMap::Word(span) => span,
            SpanMap::Whole => {
                let before = self.cuts.partition_point(|cut| *cut <= start);
                let within = self.cuts.partition_point(|cut| *cut < end);
                Span::new(start + 2 * before, (end + 2 * within).max(start + 2 * before))
            }
        }
    }

    /// A span given in offsets of the original text.
    pub(super) fn original(&self, at: usize) -> Span {
        match self.map {
            SpanMap::Word(span) => span,
            SpanMap::Whole => Span::new(at, at + 1),
        }
    }
}
