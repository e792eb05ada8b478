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
        let parts = source.split(',').map(str::trim);
        parts
            .flat_map(|part| {
                let mut values = powershell::possible_values(part, &self.facts.analysis.constants);
                values.push(part.trim_matches(['"', '\'']).to_owned());
                values
            })
            .collect()
    }

    /// Returns the words for the paths that the word may name.
    pub(super) fn words(&self, word: &Word) -> Vec<Word> {
        let is_known = word.text.is_some();
        self.values(word).iter().filter_map(|text| self.path(text, is_known, word.span)).collect()
    }

    /// Returns the absolute paths that the word may name, in lower case.
    pub(super) fn paths(&self, word: &Word, directory: &Directory) -> Vec<String> {
        let words = self.words(word).into_iter();
        let texts = words.filter_map(|word| Some(String::from_utf8_lossy(&word.text?).into_owned()));
        texts.map(|text| join(directory.last().unwrap_or("/"), &text).to_lowercase()).collect()
    }

    /// Returns a value as the word of a path. A drive of Windows becomes a directory of the root.
    fn path(&self, text: &str, is_known: bool, span: Span) -> Option<Word> {
        let text = text.replace('\\', "/");
        let (start, rest) = split(&text);
        let text = match start {
            None => text,
            Some(place) => format!("{place}{rest}"),
        };
        if let Some((file, _)) = text.split_once(':').filter(|(file, _)| !is_known && is_file(file)) {
            return Some(Word::known(file.as_bytes(), span));
        }
        if let Some(at) = text.find(['$', '(']).filter(|_| !is_known) {
            let lead = text.get(..at).unwrap_or_default();
            let known = lead.contains('/').then(|| lead.as_bytes().to_vec());
            return known.map(|lead| Word { lead, ..Word::unknown(true, span) });
        }
        let argument =
            Argument { value: Value::String(text.clone(), Quote::None), span: Place { start: 0, end: 0 } };
        powershell::target(&argument, self.facts.places.home, true, span).or_else(|| {
            let drive = text.split(':').next().unwrap_or_default().to_ascii_lowercase();
            if OF_SESSION.contains(&drive.as_str()) {
                return None;
            }
            let path = if is_file(&drive) { text.clone() } else { format!("/{text}") };
            Some(Word::known(path.as_bytes(), span))
        })
    }
}

/// Reports whether the text before a colon is a file, so that a stream of the file follows. The name of a drive contains
/// neither a dot nor a slash.
fn is_file(before: &str) -> bool {
    let is_provider = before.to_ascii_lowercase().ends_with("/registry");
    before.contains(['.', '/']) && !is_provider && !before.starts_with("//") && !before.contains(['$', '('])
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
