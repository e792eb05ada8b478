//! The one escaper for what somebody else wrote and a person reads: commands, paths, rules, descriptions, names,
//! messages that quote them.
//!
//! What it gives is *injective*: from what is shown follows which bytes it was. A character is shown as `\u{HEX}`, a
//! byte that is not UTF-8 as `\x{HEX}`; a backslash stays one, save where it would read as such an escape. Only
//! printable ASCII stands for itself; in names and contents ([`name`], [`contents`]) also words of another script, of
//! one script alone and not made to look like ASCII. What a person is to judge is ASCII ([`line()`], [`lines`]).
//!
//! Pure. It decides nothing about what is shown, and knows no terminal.

#![forbid(unsafe_code)]

mod excerpt;
mod words;

use std::borrow::Cow;

pub use excerpt::{Excerpt, Marked, excerpt};
pub use words::hides;

use words::readable_words;

/// The one control that JSON may have raw inside of a text.
const DELETE: u8 = 0x7f;
const LINE_FEED: &str = "\\u{a}";
/// What stands for the rest of a text that is cut.
const CUT: &str = "...";

/// The bytes as lines of ASCII. Line breaks come only after a visible `\u{a}`.
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

/// The bytes in one line of ASCII.
#[must_use]
pub fn line(bytes: &[u8]) -> String {
    shown(bytes, Letters::Ascii)
}

/// The bytes in one line of at most `columns`; `...` stands for what does not fit. Not for approvals.
#[must_use]
pub fn shortened(bytes: &[u8], columns: usize) -> String {
    let whole = line(bytes);
    if whole.len() <= columns {
        return whole;
    }
    let kept = whole.get(..columns.saturating_sub(CUT.len())).unwrap_or_default();
    format!("{kept}{CUT}")
}

/// The name of a file in one line, with words of another script as themselves.
#[must_use]
pub fn name(bytes: &[u8]) -> String {
    shown(bytes, Letters::Words)
}

/// A line of a file, as [`name`]; tabs stay, too.
#[must_use]
pub fn contents(bytes: &[u8]) -> String {
    shown(bytes, Letters::WordsAndTabs)
}

/// The bytes as lines with words of another script as themselves: easier to read beside [`lines`], and no proof of
/// anything. None where there is no such word, or where it is not text.
#[must_use]
pub fn readable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    if readable_words(text).is_empty() {
        return None;
    }
    let shown: Vec<String> = text.split('\n').map(|line| name(line.as_bytes())).collect();
    Some(shown.join("\n"))
}

/// A text that was made of what is escaped already, and of what should not need it: identifiers, numbers, our own
/// words. Whatever hides or steers in it all the same is escaped; line feeds and backslashes stay. The last wall
/// before a terminal, and alone not injective.
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

/// A text of JSON that says the same with JSON's own escapes for whatever [`guard`] escapes. White space stays: it is
/// between values, where JSON has it.
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

/// Calls `show` with each character, and whether it may stand for itself.
fn guarded(text: &str, mut show: impl FnMut(char, bool)) {
    let words = readable_words(text);
    let mut words = words.iter().peekable();
    for (at, c) in text.char_indices() {
        while words.next_if(|word| word.end <= at).is_some() {}
        let is_plain = matches!(c, '\n' | ' ') || c.is_ascii_graphic();
        show(c, is_plain || words.peek().is_some_and(|word| word.contains(&at)));
    }
}

/// What stands for itself beside printable ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    Ascii,
    Words,
    WordsAndTabs,
}

fn shown(bytes: &[u8], letters: Letters) -> String {
    let mut out = String::new();
    each(bytes, letters, |_, shown| out.push_str(shown));
    out
}

/// Calls `show` with each character's offset and how it is shown.
fn each(bytes: &[u8], letters: Letters, mut show: impl FnMut(usize, &str)) {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        let words = if letters == Letters::Ascii { Vec::new() } else { readable_words(text) };
        let mut words = words.iter().peekable();
        for (inside, c) in text.char_indices() {
            while words.next_if(|word| word.end <= inside).is_some() {}
            let next = at + c.len_utf8();
            let stays = is_plain(c, bytes.get(next..).unwrap_or_default())
                || words.peek().is_some_and(|word| word.contains(&inside))
                || c == '\t' && letters == Letters::WordsAndTabs;
            match stays {
                true => show(at, c.encode_utf8(&mut [0; 4])),
                false => show(at, &escaped(c)),
            }
            at = next;
        }
        for byte in chunk.invalid() {
            show(at, &format!("\\x{{{byte:02x}}}"));
            at += 1;
        }
    }
}

fn escaped(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

/// Whether a character stands for itself where `rest` follows it.
fn is_plain(c: char, rest: &[u8]) -> bool {
    match c {
        '\\' => !rest.starts_with(b"u{") && !rest.starts_with(b"x{"),
        // At the very end nobody would see it.
        ' ' => !rest.is_empty(),
        c => c.is_ascii_graphic(),
    }
}

#[cfg(test)]
mod tests;
