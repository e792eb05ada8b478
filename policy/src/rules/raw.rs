//! Deny and ask rules against text that was not understood: the rule's literal
//! words, found in order, in the raw or the unquoted text. It errs towards finding.

use super::matching::{Effort, Piece, WordPattern, matches_within};

/// The words of a text, seen raw and with quotes and escapes removed.
#[derive(Debug)]
pub(crate) struct RawViews<'t> {
    views: [View<'t>; 2],
}

/// The words of one text, sorted, each with its place in the text.
#[derive(Debug)]
struct View<'t> {
    words: Vec<(&'t [u8], usize)>,
    /// The words that are paths, by what is behind the last slash.
    base_names: Vec<(&'t [u8], usize)>,
}

impl<'t> RawViews<'t> {
    pub(crate) fn new(text: &'t [u8], unquoted: &'t [u8]) -> Self {
        Self { views: [View::new(text), View::new(unquoted)] }
    }

    /// Whether every literal word of the pattern is found, in order.
    pub(crate) fn may_hold(&self, pattern: &WordPattern, effort: &Effort) -> bool {
        self.views.iter().any(|view| view.holds(pattern.pieces(), effort))
    }
}

impl<'t> View<'t> {
    fn new(text: &'t [u8]) -> Self {
        let mut words: Vec<_> = tokens(text).enumerate().map(|(place, word)| (word, place)).collect();
        let paths = words.iter().filter(|(word, _)| word.contains(&b'/'));
        let mut base_names: Vec<_> = paths.map(|(word, place)| (base_name(word), *place)).collect();
        words.sort_unstable();
        base_names.sort_unstable();
        Self { words, base_names }
    }

    fn holds(&self, pieces: &[Piece], effort: &Effort) -> bool {
        let mut from = 0;
        let mut program = true;
        for piece in pieces {
            let Piece::Word(wanted) = piece else {
                continue;
            };
            let by_name = if program { first_from(&self.base_names, wanted, from, effort) } else { None };
            let found = [by_name, first_from(&self.words, wanted, from, effort)];
            let Some(place) = found.into_iter().flatten().min() else {
                return false;
            };
            from = place + 1;
            program = false;
        }
        !effort.is_spent()
    }
}

/// The first place, not before `from`, of a word that matches. Words that begin as the
/// pattern does stand together.
fn first_from(
    sorted: &[(&[u8], usize)],
    wanted: &[Option<u8>],
    from: usize,
    effort: &Effort,
) -> Option<usize> {
    let head: Vec<u8> = wanted.iter().map_while(|byte| *byte).collect();
    let exact = head.len() == wanted.len();
    effort.spend(8 + head.len());
    let begin = if exact { (head.as_slice(), from) } else { (head.as_slice(), 0) };
    let start = sorted.partition_point(|entry| *entry < begin);
    let mut alike = sorted.get(start..).unwrap_or_default().iter();
    if exact {
        return alike.next().filter(|(word, _)| *word == head).map(|(_, place)| *place);
    }
    let mut first: Option<usize> = None;
    for (word, place) in alike.take_while(|(word, _)| word.starts_with(&head)) {
        let sooner = *place >= from && first.is_none_or(|first| *place < first);
        if !effort.spend(1) {
            return None;
        }
        if sooner && matches_within(wanted, word, effort) {
            first = Some(*place);
        }
    }
    first
}

fn base_name(word: &[u8]) -> &[u8] {
    word.rsplit(|byte| *byte == b'/').next().unwrap_or(word)
}

/// Splits at everything that could separate words of a shell.
fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| {
        byte.is_ascii_whitespace()
            || matches!(byte, 0x0b | b';' | b'|' | b'&' | b'<' | b'>')
            || matches!(byte, b'(' | b')' | b'{' | b'}' | b'`' | b'"' | b'\'' | b',' | b'=' | b'$')
    })
    .filter(|word| !word.is_empty())
}

/// Removes quotes, escapes and line continuations, and decodes `$'...'`.
pub(crate) fn unquote(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'\\' => {
                if let Some((next, after)) = tail.split_first() {
                    rest = after;
                    if *next != b'\n' {
                        out.push(*next);
                    }
                }
            }
            b'$' if tail.first() == Some(&b'\'') => {
                let body = tail.get(1..).unwrap_or_default();
                let (decoded, used) = crate::parse::ansi_c(body);
                out.extend_from_slice(&decoded);
                rest = body.get(used..).unwrap_or_default();
            }
            b'\'' | b'"' => {}
            other => out.push(*other),
        }
    }
    out
}
