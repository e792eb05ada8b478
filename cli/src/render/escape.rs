//! The one escaper for bytes that somebody else wrote and a person is to judge.
//!
//! What it gives is printable ASCII only, and *injective*: two different texts never look the same,
//! whatever letters, directions or widths Unicode has to offer. A character is shown as `\u{HEX}`, a
//! byte that is not UTF-8 as `\x{HEX}`; a backslash stays one, save where it would read as such an
//! escape. A line feed is shown, and then breaks the line.

use std::ops::Range;

use unicode_security::{GeneralSecurityProfile as _, MixedScript as _};

/// The bytes as lines. Line breaks come only after a visible `\u{a}`.
#[must_use]
pub fn lines(bytes: &[u8]) -> String {
    let mut out = String::new();
    each(bytes, |_, shown| {
        out.push_str(shown);
        if shown == LINE_FEED {
            out.push('\n');
        }
    });
    out
}

/// The bytes in one line.
#[must_use]
pub fn line(bytes: &[u8]) -> String {
    let mut out = String::new();
    each(bytes, |_, shown| out.push_str(shown));
    out
}

/// The bytes in one line of at most `columns`; `...` stands for what does not fit. Not for approvals.
#[must_use]
pub fn shortened(bytes: &[u8], columns: usize) -> String {
    let whole = line(bytes);
    if whole.len() <= columns {
        return whole;
    }
    let kept = whole.get(..columns.saturating_sub(3)).unwrap_or_default();
    format!("{kept}...")
}

/// The bytes with words of another script as themselves: easier to read, and no proof of anything. A word of
/// several scripts, or with letters that are not of ordinary writing, stays escaped. None where there is no such
/// word, or where it is not text.
#[must_use]
pub fn readable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let words = foreign_words(text);
    if words.is_empty() {
        return None;
    }
    let mut out = String::new();
    each(bytes, |at, shown| match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c) if c == '\n' || words.iter().any(|word| word.contains(&at)) => out.push(c),
        _ => out.push_str(shown),
    });
    Some(out)
}

/// Where words are of one script, which is not that of ASCII alone.
fn foreign_words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    let ends =
        text.char_indices().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, c)| (at, at + c.len_utf8()));
    for (end, next) in ends.chain([(text.len(), text.len())]) {
        let word = text.get(start..end).unwrap_or_default();
        if !word.is_ascii() && word.chars().all(is_readable) && word.is_single_script() {
            words.push(start..end);
        }
        start = next;
    }
    words
}

fn is_readable(c: char) -> bool {
    c.is_ascii() || (is_foreign_letter(c) && c.identifier_allowed())
}

/// The bytes for a person who reads a file or a name: as they are, but for what would move the cursor, change
/// the terminal, or cannot be seen. Not injective, and so not for approvals.
#[must_use]
pub fn terminal(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\t' || !(c.is_control() || is_invisible(c)) {
                out.push(c);
            } else {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{{{byte:02x}}}"));
        }
    }
    out
}

/// Marks of direction and signs without width.
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c), 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe0000..=0xe0fff)
}

/// The line of `bytes` that holds `start`, and below it marks under what is between `start` and `end`.
#[must_use]
pub fn underlined(bytes: &[u8], start: usize, end: usize) -> (String, String) {
    let head = bytes.get(..start).unwrap_or(bytes);
    let begin = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rest = bytes.get(begin..).unwrap_or_default();
    let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let mut shown = String::new();
    let (mut from, mut to) = (None, 0);
    each(rest.get(..length).unwrap_or_default(), |at, piece| {
        if (start..end.max(start + 1)).contains(&(begin + at)) {
            from.get_or_insert(shown.len());
            to = shown.len() + piece.len();
        }
        shown.push_str(piece);
    });
    let from = from.unwrap_or(shown.len());
    window(&shown, from, to.max(from + 1))
}

/// Columns shown before the marks.
const BEFORE: usize = 60;
/// Columns of a line at most.
const COLUMNS: usize = 160;

/// The part of a long line that holds the marks.
fn window(shown: &str, from: usize, to: usize) -> (String, String) {
    let cut = if shown.len() > COLUMNS { from.saturating_sub(BEFORE) } else { 0 };
    let rest = shown.get(cut..).unwrap_or_default();
    let part = rest.get(..COLUMNS).unwrap_or(rest);
    let lead = if cut > 0 { "..." } else { "" };
    let tail = if part.len() < rest.len() { "..." } else { "" };
    let marks = to.min(cut + COLUMNS).saturating_sub(from).max(1);
    let indent = from - cut + lead.len();
    (format!("{lead}{part}{tail}"), format!("{}{}", " ".repeat(indent), "^".repeat(marks)))
}

const LINE_FEED: &str = "\\u{a}";

/// Calls `show` with each character's offset and how it is shown.
fn each(bytes: &[u8], mut show: impl FnMut(usize, &str)) {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let next = at + c.len_utf8();
            if is_plain(c, bytes.get(next..).unwrap_or_default()) {
                show(at, c.encode_utf8(&mut [0; 4]));
            } else {
                show(at, &format!("\\u{{{:x}}}", u32::from(c)));
            }
            at = next;
        }
        for byte in chunk.invalid() {
            show(at, &format!("\\x{{{byte:02x}}}"));
            at += 1;
        }
    }
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

/// A letter outside ASCII that stands in a line without moving others: no mark that combines, and of
/// no script that is written from right to left.
fn is_foreign_letter(c: char) -> bool {
    let right_to_left = matches!(u32::from(c),
        0x0590..=0x08ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x10800..=0x10fff | 0x1e800..=0x1efff);
    !c.is_ascii() && c.is_alphabetic() && !right_to_left
}

#[cfg(test)]
mod tests;
