//! Classifies characters that hide text or control the terminal, and words of another script that may be unescaped.
//! It uses Unicode properties and contains no list of characters.

use std::ops::Range;

use unicode_bidi::{BidiClass, bidi_class};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _, skeleton};

/// Reports whether a character is invisible or changes the display of others. These are control characters, direction
/// marks, zero-width characters, separators except the space, and unassigned code points.
#[must_use]
pub fn hides(c: char) -> bool {
    let group = c.general_category_group();
    c != ' ' && matches!(group, GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator)
        || !c.is_ascii() && is_ignorable(c)
}

/// Reports whether the character has Unicode's Default_Ignorable_Code_Point property, which confusable skeletons
/// omit.
fn is_ignorable(c: char) -> bool {
    skeleton(c.encode_utf8(&mut [0; 4])).next().is_none()
}

/// Returns the words with non-ASCII letters that are unambiguous: of one script, only ordinary letters, and not
/// entirely confusable with ASCII.
pub(crate) fn readable_words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    if text.is_ascii() {
        return words;
    }
    let mut start = 0;
    let ends =
        text.char_indices().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, c)| (at, at + c.len_utf8()));
    for (end, next) in ends.chain([(text.len(), text.len())]) {
        if is_readable(text.get(start..end).unwrap_or_default()) {
            words.push(start..end);
        }
        start = next;
    }
    words
}

fn is_readable(word: &str) -> bool {
    let letters = word.chars().all(|c| c.is_ascii() || is_ordinary_letter(c));
    !word.is_ascii() && letters && word.is_single_script() && skeleton(word).any(|c| !c.is_ascii())
}

/// Reports whether a letter does not affect its neighbours: not a combining mark, and not of a right-to-left script.
fn is_ordinary_letter(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Letter
        && bidi_class(c) == BidiClass::L
        && c.identifier_allowed()
}
