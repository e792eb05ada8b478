//! The shown form of each character of a text, and of the lines that a span touches, with marks below it. Characters
//! that hide text and words of another script are classified by Unicode properties, without a list of characters.

use std::ops::Range;

use unicode_bidi::{BidiClass, bidi_class};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _, skeleton};

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

/// The largest number of lines that are shown for one span.
const LINES: usize = 4;
/// The number of columns before the marks that remain when a line is cut.
const LEAD: usize = 20;

/// A line and its marks: spaces, and a `^` below each column of the span, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The line in printable ASCII.
    pub line: String,
    /// The marks.
    pub marks: String,
}

/// The excerpt for a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The first lines that the span touches.
    pub lines: Vec<Marked>,
    /// The number of further lines.
    pub more: usize,
}

/// Returns the lines of `bytes` that `span` touches, each with at most `columns` columns. An empty span touches the
/// line that contains it.
#[must_use]
pub fn excerpt(bytes: &[u8], span: Range<usize>, columns: usize) -> Excerpt {
    let mut touched = touched(bytes, &span);
    let lines: Vec<Marked> =
        touched.by_ref().take(LINES).map(|(start, line)| marked(line, start, &span, columns)).collect();
    Excerpt { lines, more: touched.count() }
}

fn touched<'a>(bytes: &'a [u8], span: &Range<usize>) -> impl Iterator<Item = (usize, &'a [u8])> {
    let (begin, end) = (span.start.min(bytes.len()), span.end.min(bytes.len()));
    let mut start = 0;
    let lines = bytes.split(|byte| *byte == b'\n').map(move |line| {
        let at = start;
        start += line.len() + 1;
        (at, line)
    });
    lines.filter(move |(at, line)| {
        let holds = begin <= at + line.len() && (end > *at || begin >= *at && end <= begin);
        let blank = begin < *at && line.is_empty();
        holds && !blank
    })
}

fn marked(line: &[u8], start: usize, span: &Range<usize>, columns: usize) -> Marked {
    let mut shown = String::new();
    let mut covered: Option<Range<usize>> = None;
    each(line, Letters::Ascii, |at, piece| {
        if span.contains(&(start + at)) {
            let from = covered.as_ref().map_or(shown.len(), |covered| covered.start);
            covered = Some(from..shown.len() + piece.len());
        }
        shown.push_str(piece);
    });
    let covered = covered.unwrap_or_else(|| {
        let at = if span.start <= start { 0 } else { shown.len() };
        at..at + 1
    });
    window(&shown, covered, columns)
}

/// Returns the part of a line that contains the first marks.
fn window(shown: &str, covered: Range<usize>, columns: usize) -> Marked {
    let room = columns.max(LEAD + 4 * CUT.len());
    if shown.len() <= room {
        let marks = format!("{}{}", " ".repeat(covered.start), "^".repeat(covered.len()));
        return Marked { line: shown.to_owned(), marks };
    }
    let from = if covered.start <= room / 2 { 0 } else { covered.start.saturating_sub(LEAD) };
    let lead = if from > 0 { CUT } else { "" };
    let mut to = from + room - lead.len();
    let mut tail = "";
    if to < shown.len() {
        (to, tail) = (to - CUT.len(), CUT);
    }
    let part = shown.get(from..to.min(shown.len())).unwrap_or_default();
    let indent = covered.start - from + lead.len();
    let marks = covered.end.min(to.max(covered.start + 1)) - covered.start;
    Marked {
        line: format!("{lead}{part}{tail}"),
        marks: format!("{}{}", " ".repeat(indent), "^".repeat(marks)),
    }
}
