//! Which characters hide or steer, and which words of another script may stand for themselves: by the properties that
//! Unicode gives them. No list of characters is kept here.

use std::ops::Range;

use unicode_bidi::{BidiClass, bidi_class};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _, skeleton};

/// Whether a character cannot be seen, or changes how others are: controls, marks of direction, signs without
/// width, separators other than the space, and what no version of Unicode has given a meaning.
#[must_use]
pub fn hides(c: char) -> bool {
    let group = c.general_category_group();
    c != ' ' && matches!(group, GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator)
        || !c.is_ascii() && is_ignorable(c)
}

/// Unicode's Default_Ignorable_Code_Point: what confusables are compared without.
fn is_ignorable(c: char) -> bool {
    skeleton(c.encode_utf8(&mut [0; 4])).next().is_none()
}

/// Where words are that hold letters beyond ASCII, and are what they look like: of one script, each letter one of
/// ordinary writing, and not all of them to be taken for ASCII.
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

/// A letter that stands in a line without moving others: no mark that combines, and of no script that is written
/// from right to left.
fn is_ordinary_letter(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Letter
        && bidi_class(c) == BidiClass::L
        && c.identifier_allowed()
}
