//! Deny and ask rules against text that was not understood: the rule's literal
//! words, found in order, in the raw or the unquoted text. It errs towards finding.

use super::matching::{Piece, WordPattern, glob_matches};

/// The words of a text, seen raw and with quotes and escapes removed.
#[derive(Debug)]
pub(crate) struct RawViews {
    views: Vec<Vec<Vec<u8>>>,
}

impl RawViews {
    pub(crate) fn new(text: &[u8]) -> Self {
        let unquoted = unquote(text);
        Self { views: vec![tokens(text), tokens(&unquoted)] }
    }

    /// Whether every literal word of the pattern is found, in order.
    pub(crate) fn may_hold(&self, pattern: &WordPattern) -> bool {
        self.views.iter().any(|view| holds(view, pattern.pieces()))
    }
}

fn holds(view: &[Vec<u8>], pieces: &[Piece]) -> bool {
    let mut words = view.iter();
    let mut program = true;
    for piece in pieces {
        let Piece::Word(wanted) = piece else {
            continue;
        };
        let found = words.any(|word| {
            let name = if program { base_name(word) } else { word };
            glob_matches(wanted, name) || glob_matches(wanted, word)
        });
        if !found {
            return false;
        }
        program = false;
    }
    true
}

fn base_name(word: &[u8]) -> &[u8] {
    word.rsplit(|byte| *byte == b'/').next().unwrap_or(word)
}

/// Splits at everything that could separate words of a shell.
fn tokens(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|byte| {
        byte.is_ascii_whitespace()
            || matches!(byte, 0x0b | b';' | b'|' | b'&' | b'<' | b'>')
            || matches!(byte, b'(' | b')' | b'{' | b'}' | b'`' | b'"' | b'\'' | b',' | b'=' | b'$')
    })
    .filter(|word| !word.is_empty())
    .map(<[u8]>::to_vec)
    .collect()
}

/// Removes quotes, escapes and line continuations, and decodes `$'...'`.
fn unquote(text: &[u8]) -> Vec<u8> {
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
