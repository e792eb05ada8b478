//! The text that is parsed: without line continuations, with offsets mapped to the original.

use std::collections::HashMap;

use tree_sitter::Node;

use super::grammar::{children_of, kind_of};
use crate::decision::Span;

/// The position of a parsed text in the original command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpanMap {
    /// The text is the command.
    Whole,
    /// The text is the value of the word with this span, and all its spans are that span.
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

pub(crate) struct MappedText {
    text: Vec<u8>,
    /// The offsets in `text` before which two bytes of the original were removed.
    cuts: Vec<usize>,
    map: SpanMap,
}

impl MappedText {
    /// Creates the source. `continuations` are the offsets of the backslashes, in ascending order.
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

    /// Writes a `;` in place of the line end or the blank at each of these offsets in the parsed text.
    pub(super) fn separate(&mut self, offsets: &[usize]) {
        for offset in offsets {
            if let Some(byte) = self.text.get_mut(*offset) {
                *byte = b';';
            }
        }
    }

    /// Reports whether each part of the text has its own span.
    pub(super) fn has_spans(&self) -> bool {
        matches!(self.map, SpanMap::Whole)
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &[u8] {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the span in the original command for these offsets in the parsed text.
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

    /// Returns the span of one byte at an offset of the original text.
    pub(super) fn original(&self, at: usize) -> Span {
        match self.map {
            SpanMap::Word(span) => span,
            SpanMap::Whole => Span::new(at, at + 1),
        }
    }
}

/// The text of the grammar's nodes, and their positions in the original text.
impl MappedText {
    pub(super) fn text_of(&self, node: Node<'_>) -> &[u8] {
        self.slice(node.start_byte(), node.end_byte())
    }

    pub(super) fn text_from(&self, start: usize) -> &[u8] {
        self.text().get(start..).unwrap_or_default()
    }

    /// Returns the offset of the line after the one that contains `at`.
    pub(super) fn line_after(&self, at: usize) -> usize {
        let rest = self.text_from(at);
        let length = rest.iter().position(|byte| *byte == b'\n');
        at + length.map_or(rest.len(), |length| length + 1)
    }

    pub(super) fn span_of(&self, node: Node<'_>) -> Span {
        self.span(node.start_byte(), node.end_byte())
    }

    /// Returns the descriptor of a redirect. `None` if bash reads the digits as the end of a word, as in `-2>f` and
    /// `{}$2>f`.
    pub(super) fn descriptor(&self, node: Node<'_>) -> Option<u32> {
        let start = node.start_byte();
        let before = self.slice(start.saturating_sub(1), start);
        let begins = before.iter().all(|byte| b" \t\n;&|<>()`".contains(byte));
        if !begins {
            return None;
        }
        std::str::from_utf8(self.text_of(node)).ok()?.parse().ok()
    }

    /// Returns the start of an expansion: in a string the grammar includes the spaces between two
    /// expansions in the second.
    pub(super) fn start_of(&self, node: Node<'_>) -> usize {
        let text = self.text_of(node);
        node.start_byte() + text.len() - text.trim_ascii_start().len()
    }

    /// Collects the expansions in a node by their start.
    pub(super) fn collect_expansions<'t>(
        &self,
        node: Node<'t>,
        from: usize,
        out: &mut HashMap<usize, Node<'t>>,
    ) {
        let opens = matches!(
            kind_of(node),
            "command_substitution" | "process_substitution" | "expansion" | "arithmetic_expansion"
        );
        let start = opens.then(|| self.start_of(node)).filter(|start| *start >= from);
        if let Some(start) = start {
            out.insert(start, node);
            return;
        }
        for child in children_of(node) {
            self.collect_expansions(child, from, out);
        }
    }
}

/// The context in which words are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// The command's HOME, for `~` and `$HOME`.
    pub(crate) home: &'a str,
    /// Whether bash splits words at white space, as far as the surrounding text shows.
    pub(crate) splits_as_usual: bool,
}

impl<'a> Surroundings<'a> {
    pub(crate) fn of_home(home: &'a str) -> Self {
        Self { home, splits_as_usual: true }
    }

    /// Reports whether HOME is unchanged by word splitting and globbing.
    pub(crate) fn has_plain_home(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        !self.home.is_empty() && self.home.bytes().all(plain)
    }
}
