//! The texts and paths that a value may be, as far as the text shows them.

use airlock_powershell::{Argument, Quote, Span as Place, Value};

use crate::analysis::{Directory, join};
use crate::decision::Span;
use crate::facts::Facts;
use crate::parse::Word;
use crate::powershell;
use crate::tables::names;

/// Drives whose items exist only in the session.
const OF_SESSION: &[&str] = &["env", "variable", "function", "alias", "environment"];

/// The context of values.
pub(super) struct Places<'f> {
    facts: &'f Facts<'f>,
}

impl<'f> Places<'f> {
    pub(super) fn new(facts: &'f Facts<'f>) -> Self {
        Self { facts }
    }

    /// Returns the texts that the word may be, in lower case, with a slash for each backslash.
    pub(super) fn texts(&self, word: &Word) -> Vec<String> {
        self.values(word).iter().map(|text| text.replace('\\', "/").to_lowercase()).collect()
    }

    /// Returns the texts that the word may be: its own, the source text, or those that are assigned to it.
    pub(super) fn values(&self, word: &Word) -> Vec<String> {
        if let Some(text) = &word.text {
            return vec![String::from_utf8_lossy(text).into_owned()];
        }
        let source = if word.written.is_empty() { &word.lead } else { &word.written };
        let source = String::from_utf8_lossy(source);
        let written = built(source.trim()).unwrap_or_else(|| source.trim().trim_matches('"').to_owned());
        let name = written.strip_prefix('$').map(|name| name.trim_matches(['{', '}']).to_ascii_lowercase());
        let assigned = name.and_then(|name| self.facts.analysis.constants.get(&name)).into_iter().flatten();
        assigned.cloned().chain(std::iter::once(written.clone())).collect()
    }

    /// Returns the words for the paths that the word may name.
    pub(super) fn words(&self, word: &Word) -> Vec<Word> {
        self.values(word).iter().filter_map(|text| self.path(text, word.span)).collect()
    }

    /// Returns the absolute paths that the word may name, in lower case.
    pub(super) fn paths(&self, word: &Word, directory: &Directory) -> Vec<String> {
        let words = self.words(word).into_iter();
        let texts = words.filter_map(|word| Some(String::from_utf8_lossy(&word.text?).into_owned()));
        texts.map(|text| join(directory.last().unwrap_or("/"), &text).to_lowercase()).collect()
    }

    /// Returns a value as the word of a path. A drive of Windows becomes a directory of the root.
    fn path(&self, text: &str, span: Span) -> Option<Word> {
        let text = text.replace('\\', "/");
        let (start, rest) = split(&text);
        let text = match start {
            None => text,
            Some(place) => format!("{place}{rest}"),
        };
        if let Some(at) = text.find(['$', '(']) {
            let lead = text.get(..at).unwrap_or_default();
            let known = lead.contains('/').then(|| lead.as_bytes().to_vec());
            return known.map(|lead| Word { lead, ..Word::unknown(true, span) });
        }
        let argument =
            Argument { value: Value::String(text.clone(), Quote::None), span: Place { start: 0, end: 0 } };
        powershell::target(&argument, self.facts.places.home, true, span).or_else(|| {
            let drive = text.split(':').next().unwrap_or_default().to_ascii_lowercase();
            let of_session = OF_SESSION.contains(&drive.as_str());
            (!of_session).then(|| Word::known(format!("/{text}").as_bytes(), span))
        })
    }
}

/// Returns the text of strings in quotes that `+` joins: `('a' + 'b')`.
fn built(text: &str) -> Option<String> {
    let inner = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(text);
    let part = |part: &str| {
        let part = part.trim();
        let quote = part.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
        let inner = part.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(['$', '`', quote])).then(|| inner.to_owned())
    };
    inner.split('+').map(part).collect()
}

/// Splits a path into a variable or expression that stands for a place, and the rest.
fn split(text: &str) -> (Option<&'static str>, &str) {
    let lower = text.to_ascii_lowercase();
    let found = names::powershell_places().filter(|(name, _)| {
        let rest = lower.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let longest = found.max_by_key(|(name, _)| name.len());
    longest.map_or((None, text), |(name, place)| (Some(place), text.get(name.len()..).unwrap_or_default()))
}

/// Reports whether the text matches a pattern, in which `*` is any text and `?` any character.
pub(super) fn pattern_matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(byte) if *byte == b'?' || text.get(from) == Some(byte) => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((behind, taken)) = star else { return false };
                star = Some((behind, taken + 1));
                (at, from) = (behind, taken + 1);
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}
