//! Options as GNU getopt reads them, over words that may be unknown. It only sorts
//! words into flags and operands; what a flag means is for the tables.
//!
//! Short options are written as for getopt: `ab:c?d@` is a switch, one with a value,
//! one whose value is attached or absent, one whose value is a path. Long options
//! are names divided by blanks: `all color=? width= file=@`.

use crate::parse::Word;

/// The options of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'a> {
    pub(crate) short: &'a str,
    pub(crate) long: &'a str,
    /// Flags that are known and refused, with the reason.
    pub(crate) refused: &'a [(&'a str, &'a str)],
    /// Whether the first operand ends the options, as for programs that launch.
    pub(crate) stop_at_operand: bool,
    /// Whether `-5` is an option.
    pub(crate) digits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Path,
    Optional,
}

/// One option found.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    /// Its full name without dashes.
    pub(crate) name: String,
    /// Its value: a word, whose text is `None` where it is not known.
    pub(crate) value: Option<Word>,
    pub(crate) is_path: bool,
}

/// Why the words could not be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A flag that is not on the list.
    UnknownFlag,
    /// A flag that is refused, and why.
    Refused(&'static str),
    /// A word that is not known stands where it could be a flag.
    UnknownWord,
}

#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) flags: Vec<Flag>,
    /// Indices into the words.
    pub(crate) operands: Vec<usize>,
    /// The troubles and the index of the word.
    pub(crate) troubles: Vec<(Trouble, usize)>,
}

impl Sorted {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag.name == name)
    }
}

/// Sorts the words behind the program.
pub(crate) fn sort(words: &[Word], options: &Options<'static>) -> Sorted {
    let mut sorter = Sorter { words, options, at: 0, out: Sorted::default() };
    while sorter.at < words.len() {
        if !sorter.step() {
            break;
        }
    }
    sorter.out
}

/// Whether an unknown word can only be an operand.
pub(crate) fn is_operand(word: &Word) -> bool {
    match word.lead.first() {
        None => word.is_process_input(),
        Some(b'-') => false,
        Some(b'*' | b'?' | b'[') => !word.glob,
        Some(_) => true,
    }
}

/// What the short option takes, if it is on the list.
fn short(list: &str, letter: u8) -> Option<Takes> {
    let mut letters = list.bytes().peekable();
    while let Some(known) = letters.next() {
        let takes = match letters.peek() {
            Some(b':') => Takes::Value,
            Some(b'@') => Takes::Path,
            Some(b'?') => Takes::Optional,
            _ => Takes::Nothing,
        };
        if takes != Takes::Nothing {
            letters.next();
        }
        if known == letter {
            return Some(takes);
        }
    }
    None
}

/// Whether the short option takes a value.
pub(crate) fn takes_value(list: &str, letter: u8) -> bool {
    short(list, letter).is_some_and(|takes| takes != Takes::Nothing)
}

struct Sorter<'w> {
    words: &'w [Word],
    options: &'w Options<'static>,
    at: usize,
    out: Sorted,
}

impl Sorter<'_> {
    /// One word; false where the options end for good.
    fn step(&mut self) -> bool {
        let Some(word) = self.words.get(self.at) else {
            return false;
        };
        let Some(text) = word.text.clone() else {
            if !is_operand(word) {
                self.trouble(Trouble::UnknownWord);
            }
            return self.operand();
        };
        if text == b"--" {
            self.at += 1;
            self.rest();
            return false;
        }
        if let Some(name) = text.strip_prefix(b"--") {
            self.long(name);
            return true;
        }
        match text.strip_prefix(b"-") {
            None | Some(b"") => self.operand(),
            Some(cluster) if self.options.digits && cluster.iter().all(u8::is_ascii_digit) => {
                self.flag(String::from_utf8_lossy(cluster).into_owned(), None, false);
                self.at += 1;
                true
            }
            Some(cluster) => {
                self.cluster(cluster);
                true
            }
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.out.troubles.push((trouble, self.at));
    }

    fn operand(&mut self) -> bool {
        if self.options.stop_at_operand {
            self.rest();
            return false;
        }
        self.out.operands.push(self.at);
        self.at += 1;
        true
    }

    fn rest(&mut self) {
        self.out.operands.extend(self.at..self.words.len());
        self.at = self.words.len();
    }

    fn flag(&mut self, name: String, value: Option<Word>, is_path: bool) {
        self.out.flags.push(Flag { name, value, is_path });
    }

    fn cluster(&mut self, cluster: &[u8]) {
        let mut rest = cluster;
        while let Some((&letter, tail)) = rest.split_first() {
            rest = tail;
            let name = char::from(letter).to_string();
            if let Some(reason) = self.refusal(&name) {
                self.trouble(Trouble::Refused(reason));
                break;
            }
            match short(self.options.short, letter) {
                None => {
                    self.trouble(Trouble::UnknownFlag);
                    break;
                }
                Some(Takes::Nothing) => self.flag(name, None, false),
                Some(Takes::Optional) => {
                    let value = (!tail.is_empty()).then(|| self.attached(tail));
                    self.flag(name, value, false);
                    break;
                }
                Some(takes) => {
                    self.value(name, tail, takes == Takes::Path);
                    return;
                }
            }
        }
        self.at += 1;
    }

    fn attached(&self, text: &[u8]) -> Word {
        let span = self.words.get(self.at).map(|word| word.span);
        Word::known(text, span.unwrap_or_default())
    }

    /// A value that is attached or the next word.
    fn value(&mut self, name: String, attached: &[u8], is_path: bool) {
        if !attached.is_empty() {
            let value = self.attached(attached);
            self.flag(name, Some(value), is_path);
            self.at += 1;
            return;
        }
        let value = self.words.get(self.at + 1).cloned();
        if value.as_ref().is_some_and(|value| !value.exactly_one) {
            self.trouble(Trouble::UnknownWord);
        }
        if let Some(reason) = value.as_ref().and_then(|value| self.refusal_in(&value.lead)) {
            // Versions of a program differ on which flags take a value.
            self.trouble(Trouble::Refused(reason));
        }
        self.flag(name, value, is_path);
        self.at += 2;
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        let found = self.options.refused.iter().find(|(flag, _)| *flag == name);
        found.map(|(_, reason)| *reason)
    }

    /// Whether the word, were it read as flags, would hold a refused one.
    fn refusal_in(&self, word: &[u8]) -> Option<&'static str> {
        let flags = word.strip_prefix(b"-")?;
        let Some(name) = flags.strip_prefix(b"-") else {
            return flags.iter().find_map(|letter| self.refusal(&char::from(*letter).to_string()));
        };
        let name = name.split(|byte| *byte == b'=').next().unwrap_or_default();
        self.refusal(&self.resolve(&String::from_utf8_lossy(name))?)
    }

    fn long(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text).into_owned();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text.as_str(), None),
        };
        let Some(full) = self.resolve(name) else {
            self.trouble(Trouble::UnknownFlag);
            self.at += 1;
            return;
        };
        if let Some(reason) = self.refusal(&full) {
            self.trouble(Trouble::Refused(reason));
            self.at += 1;
            return;
        }
        let takes = self.long_takes(&full);
        match (takes, value) {
            (Takes::Nothing, Some(_)) => {
                self.trouble(Trouble::UnknownFlag);
                self.at += 1;
            }
            (Takes::Nothing | Takes::Optional, None) => {
                self.flag(full, None, false);
                self.at += 1;
            }
            (takes, Some(value)) => {
                let value = self.attached(value.as_bytes());
                self.flag(full, Some(value), takes == Takes::Path);
                self.at += 1;
            }
            (takes, None) => self.value(full, b"", takes == Takes::Path),
        }
    }

    /// The one long option that the name is, or abbreviates.
    fn resolve(&self, name: &str) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        let listed = self
            .options
            .long
            .split_whitespace()
            .map(|entry| entry.split_once('=').map_or(entry, |(name, _)| name));
        let refused = self.options.refused.iter().map(|(name, _)| *name);
        let known: Vec<&str> = listed.chain(refused.filter(|name| name.len() > 1)).collect();
        if known.contains(&name) {
            return Some(name.to_owned());
        }
        let mut starts = known.iter().filter(|known| known.starts_with(name));
        let first = starts.next()?;
        starts.next().is_none().then(|| (*first).to_owned())
    }

    fn long_takes(&self, name: &str) -> Takes {
        for entry in self.options.long.split_whitespace() {
            match entry.split_once('=') {
                None if entry == name => return Takes::Nothing,
                Some((known, "?")) if known == name => return Takes::Optional,
                Some((known, "@")) if known == name => return Takes::Path,
                Some((known, _)) if known == name => return Takes::Value,
                _ => {}
            }
        }
        Takes::Nothing
    }
}
