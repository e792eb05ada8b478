//! Characters that mislead a reader of a text.

/// Reports whether a character in the text looks like a space, or is invisible.
pub(super) fn misleads(text: &[u8]) -> bool {
    !text.is_ascii() && String::from_utf8_lossy(text).chars().any(is_misleading)
}

fn is_misleading(c: char) -> bool {
    matches!(c,
        '\u{85}' | '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}'
        | '\u{17b5}' | '\u{180b}'..='\u{180e}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
