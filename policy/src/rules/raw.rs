//! Matches deny and ask rules with text that is not understood. The rule's literal words must occur in order in the raw
//! or the unquoted text. In case of doubt, a rule matches.

use super::globs::{PATH_STEPS, PathPattern};
use super::matching::{Element, StepBudget, WordPattern, matches_within};
use crate::launch::base_name;

/// A text without its quotes, in three forms: as the shell reads it, as a nested shell reads its words, and without any
/// quotes and escapes.
#[derive(Debug)]
pub(crate) struct Unquoted {
    text: Vec<u8>,
    inner: Vec<u8>,
    bare: Vec<u8>,
}

impl Unquoted {
    pub(crate) fn of(text: &[u8]) -> Self {
        let is_kept = |byte: &&u8| !matches!(byte, b'\\' | b'\'' | b'"');
        let bare = text.iter().filter(is_kept).copied().collect();
        Self { text: unquote(text), inner: unquote(&words_given(text)), bare }
    }

    /// Returns the text.
    pub(crate) fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// Converts PowerShell text to the form in which PowerShell compares names.
    pub(crate) fn of_powershell(text: &[u8]) -> Self {
        Self { text: powershell(text), inner: Vec::new(), bare: Vec::new() }
    }
}

/// The words of a text, both raw and with quotes and escapes removed.
#[derive(Debug)]
pub(crate) struct RawViews<'t> {
    views: [View<'t>; 4],
}

/// The words of one text in sorted order, each with its position in the text.
#[derive(Debug)]
struct View<'t> {
    words: Vec<(&'t [u8], usize)>,
    /// Each word once, and whether it is a shell glob.
    distinct: Vec<(&'t [u8], bool)>,
    /// The words that are paths, by the part after the last slash.
    base_names: Vec<(&'t [u8], usize)>,
}

impl<'t> RawViews<'t> {
    pub(crate) fn new(text: &'t [u8], unquoted: &'t Unquoted) -> Self {
        Self {
            views: [
                View::new(text),
                View::new(&unquoted.text),
                View::new(&unquoted.inner),
                View::new(&unquoted.bare),
            ],
        }
    }

    /// Reports whether a word may be a path of the pattern, relative to the workspace.
    pub(crate) fn may_name(
        &self,
        pattern: &PathPattern,
        (workspace, home): (&str, &str),
        budget: &StepBudget,
    ) -> bool {
        for (word, is_glob) in self.views.iter().flat_map(|view| &view.distinct) {
            let length = workspace.len() + home.len() + word.len();
            let steps = if *is_glob { length * pattern.text().len() } else { 0 };
            // Before the path is built, which takes as long as the comparison.
            if !budget.spend(PATH_STEPS + length + steps) {
                return false;
            }
            let word = String::from_utf8_lossy(word);
            let path = match word.strip_prefix("~/") {
                Some(rest) => crate::analysis::join(home, rest),
                None => crate::analysis::join(workspace, &word),
            };
            let may_find = || *is_glob && pattern.may_match(&path, workspace, home);
            if pattern.matches(&path, workspace, home) || may_find() {
                return true;
            }
        }
        false
    }

    /// Returns the words that start with a dash.
    pub(crate) fn dashed(&self) -> impl Iterator<Item = &'t [u8]> {
        self.views.iter().flat_map(|view| {
            let from = view.words.partition_point(|(word, _)| *word < b"-".as_slice());
            let words = view.words.get(from..).unwrap_or_default().iter().map(|(word, _)| *word);
            words.take_while(|word| word.starts_with(b"-"))
        })
    }

    /// Reports whether every literal word of the pattern occurs, in order.
    pub(crate) fn may_hold(&self, pattern: &WordPattern, budget: &StepBudget) -> bool {
        self.views.iter().any(|view| view.holds(pattern.elements(), budget))
    }
}

impl<'t> View<'t> {
    fn new(text: &'t [u8]) -> Self {
        let mut words: Vec<_> = tokens(text).enumerate().map(|(place, word)| (word, place)).collect();
        let paths = words.iter().filter(|(word, _)| word.contains(&b'/'));
        let mut base_names: Vec<_> = paths.map(|(word, place)| (base_name(word), *place)).collect();
        words.sort_unstable();
        base_names.sort_unstable();
        let mut distinct: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        distinct.dedup();
        let is_glob = |word: &[u8]| word.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        let distinct = distinct.into_iter().map(|word| (word, is_glob(word))).collect();
        Self { words, distinct, base_names }
    }

    fn holds(&self, elements: &[Element], budget: &StepBudget) -> bool {
        let mut from = 0;
        let mut program = true;
        for wanted in elements.iter().flat_map(parts) {
            let by_name = if program { first_from(&self.base_names, &wanted, from, budget) } else { None };
            let found = [by_name, first_from(&self.words, &wanted, from, budget)];
            let Some(place) = found.into_iter().flatten().min() else {
                return false;
            };
            from = place + 1;
            program = false;
        }
        !budget.is_used_up()
    }
}

/// Returns the first position from `from` on of a word that matches. Words with the pattern's prefix are adjacent.
fn first_from(
    sorted: &[(&[u8], usize)],
    wanted: &[Option<u8>],
    from: usize,
    budget: &StepBudget,
) -> Option<usize> {
    let head: Vec<u8> = wanted.iter().map_while(|byte| *byte).collect();
    let exact = head.len() == wanted.len();
    budget.spend(8 + head.len());
    let begin = if exact { (head.as_slice(), from) } else { (head.as_slice(), 0) };
    let start = sorted.partition_point(|entry| *entry < begin);
    let mut alike = sorted.get(start..).unwrap_or_default().iter();
    if exact {
        return alike.next().filter(|(word, _)| *word == head).map(|(_, place)| *place);
    }
    let mut first: Option<usize> = None;
    for (word, place) in alike.take_while(|(word, _)| word.starts_with(&head)) {
        let sooner = *place >= from && first.is_none_or(|first| *place < first);
        if !budget.spend(1) {
            return None;
        }
        if sooner && matches_within(wanted, word, budget) {
            first = Some(*place);
        }
    }
    first
}

/// Returns the parts into which the text's tokenizer splits a word. A star in the word may match separators, so each
/// part may start and end with anything.
fn parts(element: &Element) -> Vec<Vec<Option<u8>>> {
    let Element::Word(word) = element else { return Vec::new() };
    let splits = |byte: &Option<u8>| byte.is_some_and(separates);
    if !word.iter().any(splits) {
        return vec![word.clone()];
    }
    let has_star = word.contains(&None);
    let part = |part: &[Option<u8>]| {
        let star = if has_star { &[None][..] } else { &[] };
        [star, part, star].concat()
    };
    word.split(splits).filter(|bytes| !bytes.is_empty()).map(part).collect()
}

/// Splits at every byte that can separate words in a shell.
fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| separates(*byte)).filter(|word| !word.is_empty())
}

fn separates(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, 0x0b | b';' | b'|' | b'&' | b'<' | b'>')
        || matches!(byte, b'(' | b')' | b'{' | b'}' | b'`' | b'"' | b'\'' | b',' | b'=' | b'$')
}

/// Returns the text as the words of a shell contain it: without quotes, and with the contents of single quotes
/// unchanged.
fn words_given(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut literal) = (text, false);
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        match (byte, tail.split_first()) {
            (b'\'', _) => literal = !literal,
            (b'\\', Some((next, after))) if !literal => {
                rest = after;
                out.extend((*next != b'\n').then_some(*next));
            }
            (b'"', _) if !literal => {}
            (other, _) => out.push(*other),
        }
    }
    out
}

/// Returns PowerShell text in the form in which PowerShell compares names: in lower case, without quote and escape
/// characters, with one kind of dash.
fn powershell(text: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(text.len());
    let text = String::from_utf8_lossy(text);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // At the end of a line it joins lines, between words.
            '`' => match letters.next() {
                Some('\n') => out.push(' '),
                escaped => out.extend(escaped.into_iter().flat_map(char::to_lowercase)),
            },
            '"' | '\'' | '\u{2018}'..='\u{201b}' | '\u{201c}'..='\u{201e}' => {}
            '\u{2013}'..='\u{2015}' => out.push('-'),
            blank if blank.is_whitespace() => out.push(if blank == '\n' { '\n' } else { ' ' }),
            other => out.extend(other.to_lowercase()),
        }
    }
    out.into_bytes()
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
