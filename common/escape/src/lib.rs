//! The escaper for foreign text that a person reads: commands, paths, rules, descriptions, names, and messages that
//! quote them.
//!
//! The result is *injective*: the shown text determines the original bytes. A character is shown as `\u{HEX}`, a byte
//! that is not UTF-8 as `\x{HEX}`. A backslash is shown as itself, unless it would look like such an escape. Only
//! printable ASCII is unescaped. In names and contents ([`name`], [`contents`]), a word of another script is also shown
//! unescaped, if it uses only that script and does not look like ASCII. Text that a person must judge is ASCII only
//! ([`line()`], [`lines`]).
//!
//! Pure. The crate makes no decisions about the text and does not depend on a terminal.

#![forbid(unsafe_code)]

mod shown;

use std::borrow::Cow;

pub use shown::{Excerpt, Marked, excerpt, hides};

use shown::{CUT, Letters, each, escaped, readable_words};

/// The only control character that can be unescaped inside a JSON string.
const DELETE: u8 = 0x7f;
const LINE_FEED: &str = "\\u{a}";

/// Returns the bytes as lines of ASCII. Line breaks only follow a visible `\u{a}`.
#[must_use]
pub fn lines(bytes: &[u8]) -> String {
    let mut out = String::new();
    each(bytes, Letters::Ascii, |_, shown| {
        out.push_str(shown);
        if shown == LINE_FEED {
            out.push('\n');
        }
    });
    out
}

/// Returns the bytes in one line of ASCII.
#[must_use]
pub fn line(bytes: &[u8]) -> String {
    all_shown(bytes, Letters::Ascii)
}

/// Returns the bytes in one line of at most `columns`; `...` replaces the rest. Not for approvals.
#[must_use]
pub fn shortened(bytes: &[u8], columns: usize) -> String {
    let whole = line(bytes);
    if whole.len() <= columns {
        return whole;
    }
    let kept = whole.get(..columns.saturating_sub(CUT.len())).unwrap_or_default();
    format!("{kept}{CUT}")
}

/// Returns the name of a file in one line. Words of another script are not escaped.
#[must_use]
pub fn name(bytes: &[u8]) -> String {
    all_shown(bytes, Letters::Words)
}

/// Returns a line of a file like [`name`]; tabs are unescaped, too.
#[must_use]
pub fn contents(bytes: &[u8]) -> String {
    all_shown(bytes, Letters::WordsAndTabs)
}

/// Returns the bytes as lines. Words of another script are not escaped. It is easier to read next to [`lines`], but
/// proves nothing. Returns `None` if there is no such word, or the bytes are not text.
#[must_use]
pub fn readable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    if readable_words(text).is_empty() {
        return None;
    }
    let shown: Vec<String> = text.split('\n').map(|line| name(line.as_bytes())).collect();
    Some(shown.join("\n"))
}

/// Escapes characters that hide text or control the terminal, and keeps line feeds and backslashes. It is for text that
/// consists of escaped parts and of Airlock's own words. It is the last check before a terminal. Its result alone is
/// not injective.
#[must_use]
pub fn guard(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || byte == b' ' || byte.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    guarded(text, |c, stays| match stays {
        true => out.push(c),
        false => out.push_str(&escaped(c)),
    });
    Cow::Owned(out)
}

/// Returns JSON with the same meaning, in which JSON escapes replace all characters that [`guard`] escapes. White
/// space between values is kept.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && byte != DELETE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    guarded(text, |c, stays| {
        if stays || c.is_ascii_whitespace() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    });
    Cow::Owned(out)
}

/// Calls `show` with each character, and whether it may be unescaped.
fn guarded(text: &str, mut show: impl FnMut(char, bool)) {
    let words = readable_words(text);
    let mut words = words.iter().peekable();
    for (at, c) in text.char_indices() {
        while words.next_if(|word| word.end <= at).is_some() {}
        let is_plain = matches!(c, '\n' | ' ') || c.is_ascii_graphic();
        show(c, is_plain || words.peek().is_some_and(|word| word.contains(&at)));
    }
}

fn all_shown(bytes: &[u8], letters: Letters) -> String {
    let mut out = String::new();
    each(bytes, letters, |_, shown| out.push_str(shown));
    out
}

#[cfg(test)]
mod tests;
