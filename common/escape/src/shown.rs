//! The shown form of each character of a text.

use crate::words::readable_words;

/// The text that replaces the rest of a cut text.
pub(crate) const CUT: &str = "...";

/// The characters that are unescaped in addition to printable ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    Ascii,
    Words,
    WordsAndTabs,
}

/// Calls `show` with each character's offset and its shown form.
pub(crate) fn each(bytes: &[u8], letters: Letters, mut show: impl FnMut(usize, &str)) {
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

/// Returns the escaped form of a character.
pub(crate) fn escaped(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

/// Reports whether a character is unescaped if `rest` follows it.
fn is_plain(c: char, rest: &[u8]) -> bool {
    match c {
        '\\' => !rest.starts_with(b"u{") && !rest.starts_with(b"x{"),
        // A space at the very end would be invisible.
        ' ' => !rest.is_empty(),
        c => c.is_ascii_graphic(),
    }
}
