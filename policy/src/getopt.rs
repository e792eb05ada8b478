//! GNU getopt's reading of options, over words that may be unknown. It only sorts words into flags
//! and operands; the tables define the meaning of a flag.

use crate::parse::Word;
use crate::tables::{Flag, Options, Takes};

/// The flag `-5`, for programs that accept a number as a flag.
static NUMBER: Flag = Flag { names: &["NUM"], takes: Takes::Nothing, values: &[], refused: None };

/// An option that was found.
#[derive(Debug, Clone)]
pub(crate) struct GivenFlag {
    pub(crate) flag: &'static Flag,
    /// The value. The text of the word is `None` if it is unknown.
    pub(crate) value: Option<Word>,
}

impl GivenFlag {
    /// Reports whether this is the flag with this name, in any spelling.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.flag.names.contains(&name)
    }
}

/// The reason why the words could not be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagProblem {
    /// A flag that is not in the list.
    UnknownFlag,
    /// A flag that is refused, and the reason.
    Refused(&'static str),
    /// An unknown word in a position where it could be a flag.
    UnknownWord,
}

#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) flags: Vec<GivenFlag>,
    /// Indices into the words.
    pub(crate) operands: Vec<usize>,
    /// The index of the first word after a flag that starts another program's words.
    pub(crate) behind: Option<usize>,
    /// Each trouble with the index of its word.
    pub(crate) troubles: Vec<(FlagProblem, usize)>,
}

impl Sorted {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|given| given.is(name))
    }

    /// Returns the values of the flags with this name.
    pub(crate) fn values<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s Word> {
        self.flags.iter().filter(move |given| given.is(name)).filter_map(|given| given.value.as_ref())
    }

    /// Returns the values of the flags that use their value in this way.
    pub(crate) fn values_that_are(&self, takes: Takes) -> impl Iterator<Item = &Word> {
        let given = self.flags.iter().filter(move |given| given.flag.takes == takes);
        given.filter_map(|given| given.value.as_ref())
    }
}

/// Sorts the words after the program's name.
pub(crate) fn sort(words: &[Word], options: &'static Options) -> Sorted {
    Sorter { words, options, strict: true, at: 0, out: Sorted::default() }.run()
}

/// Sorts the words without refusing any: harmful flags are accepted, and an unknown word does not
/// hide the words after it.
pub(crate) fn sort_leniently(words: &[Word], options: &'static Options) -> Sorted {
    Sorter { words, options, strict: false, at: 0, out: Sorted::default() }.run()
}

/// Reports whether an unknown word can only be an operand.
pub(crate) fn is_operand(word: &Word) -> bool {
    match word.lead.first() {
        None => word.is_process_input() || word.flagless,
        Some(b'-') => false,
        Some(b'*' | b'?' | b'[') if word.glob => false,
        // Word splitting in bash may produce a flag after the first space.
        Some(_) => word.exactly_one || word.flagless,
    }
}

struct Sorter<'w> {
    words: &'w [Word],
    options: &'static Options,
    /// Whether flags may be refused.
    strict: bool,
    at: usize,
    out: Sorted,
}

impl Sorter<'_> {
    fn run(mut self) -> Sorted {
        while self.at < self.words.len() {
            if !self.step() {
                break;
            }
        }
        self.out
    }

    /// Sorts one word. Returns false if no more options can follow.
    fn step(&mut self) -> bool {
        let words = self.words;
        let Some(word) = words.get(self.at) else {
            return false;
        };
        let Some(text) = word.text.as_deref() else {
            if !is_operand(word) {
                self.trouble(FlagProblem::UnknownWord);
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
            Some(cluster) if self.options.number && cluster.iter().all(u8::is_ascii_digit) => {
                let number = (!self.strict).then(|| self.attached(cluster));
                self.given(&NUMBER, number);
                self.at += 1;
                true
            }
            Some(name) if self.options.one_dash => {
                self.long(name);
                true
            }
            // A word such as `-ps` of xxd or `-slt` of 7z.
            Some(_) if text.len() > 2 && self.options.exact(text).is_some() => {
                self.long(text);
                true
            }
            Some(cluster) => {
                self.cluster(cluster);
                true
            }
        }
    }

    fn refusal(&self, flag: &'static Flag) -> Option<&'static str> {
        flag.refused.filter(|_| self.strict)
    }

    fn trouble(&mut self, trouble: FlagProblem) {
        self.out.troubles.push((trouble, self.at));
    }

    fn operand(&mut self) -> bool {
        if self.options.operand_ends_flags {
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

    fn given(&mut self, flag: &'static Flag, value: Option<Word>) {
        let text = value.as_ref().and_then(|word| word.text.as_deref());
        if !flag.values.is_empty() && !flag.values.iter().any(|known| text == Some(known.as_bytes())) {
            self.trouble(FlagProblem::UnknownFlag);
        }
        self.out.flags.push(GivenFlag { flag, value });
    }

    fn cluster(&mut self, cluster: &[u8]) {
        let mut rest = cluster;
        while let Some((&letter, tail)) = rest.split_first() {
            rest = tail;
            let number = (self.options.number && letter.is_ascii_digit()).then_some(&NUMBER);
            let Some(flag) = self.options.short(letter).or(number) else {
                self.trouble(FlagProblem::UnknownFlag);
                if self.strict {
                    break;
                }
                continue;
            };
            if let Some(reason) = self.refusal(flag) {
                self.trouble(FlagProblem::Refused(reason));
                break;
            }
            match flag.takes {
                Takes::Nothing => self.given(flag, None),
                Takes::Optional => {
                    let value = (!tail.is_empty()).then(|| self.attached(tail));
                    self.given(flag, value);
                    // If only the long name takes a value, the rest of the cluster is further
                    // flags.
                    if self.strict {
                        break;
                    }
                }
                Takes::Pair => {
                    self.pair(flag);
                    return;
                }
                _ => {
                    self.value(flag, tail);
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

    /// Takes a value that is attached or is the next word.
    fn value(&mut self, flag: &'static Flag, attached: &[u8]) {
        if !attached.is_empty() {
            let value = self.attached(attached);
            self.given(flag, Some(value));
            self.at += 1;
            self.end_at(flag);
            return;
        }
        let value = self.words.get(self.at + 1).cloned();
        if flag.takes == Takes::Command {
            self.given(flag, None);
            self.at += 1;
            self.end_at(flag);
            return;
        }
        if value.as_ref().is_some_and(|value| !value.exactly_one) {
            self.trouble(FlagProblem::UnknownWord);
        }
        if let Some(reason) = value.as_ref().and_then(|value| self.refusal_in(&value.lead)) {
            // Versions of a program differ on which flags take a value.
            self.trouble(FlagProblem::Refused(reason));
        }
        self.given(flag, value);
        self.at += 2;
        self.end_at(flag);
    }

    /// After split text, the words belong to another program.
    fn end_at(&mut self, flag: &'static Flag) {
        if matches!(flag.takes, Takes::SplitText | Takes::Command) {
            self.out.behind = Some(self.at);
            self.at = self.words.len();
        }
    }

    /// Takes a name and a value from the next two words.
    fn pair(&mut self, flag: &'static Flag) {
        let words = self.words.get(self.at + 1..self.at + 3).unwrap_or_default();
        if words.len() < 2 || words.iter().any(|word| !word.exactly_one) {
            self.trouble(FlagProblem::UnknownFlag);
        }
        self.given(flag, words.last().cloned());
        self.at += 3;
    }

    /// Reports whether the word would contain a refused flag if it were read as flags.
    fn refusal_in(&self, word: &[u8]) -> Option<&'static str> {
        let flags = word.strip_prefix(b"-")?;
        let Some(name) = flags.strip_prefix(b"-") else {
            return flags.iter().find_map(|letter| self.options.short(*letter)?.refused);
        };
        let name = name.split(|byte| *byte == b'=').next().unwrap_or_default();
        self.options.long(name)?.refused
    }

    fn long(&mut self, text: &[u8]) {
        let (name, value) = match text.iter().position(|byte| *byte == b'=') {
            Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
            None => (text, None),
        };
        // Programs with one-dash long flags do not accept abbreviations.
        let one_dash = self.options.one_dash;
        let flag = if one_dash { self.options.exact(name) } else { self.options.long(name) };
        let Some(flag) = flag else {
            self.trouble(FlagProblem::UnknownFlag);
            self.at += 1;
            return;
        };
        if let Some(reason) = self.refusal(flag) {
            self.trouble(FlagProblem::Refused(reason));
            self.at += 1;
            return;
        }
        match (flag.takes, value) {
            (Takes::Nothing, Some(_)) => {
                self.trouble(FlagProblem::UnknownFlag);
                self.at += 1;
            }
            (Takes::Nothing | Takes::Optional, None) => {
                self.given(flag, None);
                self.at += 1;
            }
            (Takes::Pair, None) => self.pair(flag),
            (Takes::Pair, Some(_)) => {
                self.trouble(FlagProblem::UnknownFlag);
                self.at += 1;
            }
            (_, Some(value)) => {
                let value = self.attached(value);
                self.given(flag, Some(value));
                self.at += 1;
                self.end_at(flag);
            }
            (_, None) => self.value(flag, b""),
        }
    }
}

/// Reports whether the word is one of the flags: in full, with a value, abbreviated, or as a letter
/// of a cluster.
pub(crate) fn is_one_of(flags: &[&str], text: &[u8]) -> bool {
    flags.iter().any(|flag| {
        let flag = flag.as_bytes();
        let name = text.split(|byte| *byte == b'=').next().unwrap_or_default();
        match (flag, text) {
            ([b'-', b'-', ..], _) => name == flag || (name.len() > 4 && flag.starts_with(name)),
            ([b'-', letter], [b'-', cluster @ ..]) => {
                cluster.contains(letter) && cluster.iter().all(u8::is_ascii_alphanumeric)
            }
            _ => name == flag,
        }
    })
}

#[cfg(test)]
mod tests;
