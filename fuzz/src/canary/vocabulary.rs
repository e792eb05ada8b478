//! The words of generated commands, from `canary/vocabulary.toml`: operands and values, the different bash spellings of
//! a word, and the reproducible random choices. One seed gives one run.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

static ALL: LazyLock<Vocabulary> =
    LazyLock::new(|| toml::from_str(include_str!("../../canary/vocabulary.toml")).unwrap_or_default());

#[derive(Default, Deserialize)]
struct Vocabulary {
    operands: BTreeMap<String, Vec<String>>,
    part: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<String>>,
}

/// Returns the list of that name, or an empty list.
#[must_use]
pub fn list(name: &str) -> &'static [String] {
    ALL.lists.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the operands that have a meaning for the program.
pub(super) fn operands(program: &str) -> &'static [String] {
    ALL.operands.get(program).map(Vec::as_slice).unwrap_or_default()
}

/// Returns a random part of a language.
pub(super) fn part(random: &mut Random, name: &str) -> &'static str {
    random.pick(ALL.part.get(name).map(Vec::as_slice).unwrap_or_default())
}

/// A seeded generator of random numbers.
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// Creates a generator. The same seed gives the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Returns a number from 0 to `end`, exclusive; 0 if `end` is 0.
    pub fn up_to(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.usize(0..end) }
    }

    /// Returns true in one of `times` calls.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.up_to(times) == 0
    }

    /// Returns a random element, or an empty string if there is none.
    pub fn pick<'a, T: AsRef<str>>(&mut self, all: &'a [T]) -> &'a str {
        all.get(self.up_to(all.len())).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Shuffles the elements.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        self.0.shuffle(all);
    }
}

/// Returns the word in one of its bash spellings. All spellings mean the same word.
pub(super) fn quoted(random: &mut Random, word: &str) -> String {
    let plain = !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./,:+@%=".contains(&byte));
    let single = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    match random.up_to(if plain { 12 } else { 6 }) {
        0 if !word.contains(['"', '$', '`', '\\', '!']) => format!("\"{word}\""),
        1 if plain && word.len() > 1 && word.is_ascii() => {
            let (a, b) = word.split_at(1 + random.up_to(word.len() - 1));
            format!("{a}\"{b}\"")
        }
        2 if plain => {
            let at = random.up_to(word.len());
            let (a, b) = word.split_at(at);
            format!("{a}\\{b}")
        }
        3 if !word.contains(['\'', '\\']) => format!("$'{}'", word.replace('\n', "\\n").replace('\t', "\\t")),
        4 | 5 => single(word),
        _ if plain => word.to_owned(),
        _ => single(word),
    }
}

/// Returns a file, a directory, or a glob pattern.
pub(super) fn path(random: &mut Random) -> String {
    match random.up_to(12) {
        0 => random.pick(list("globs")).to_owned(),
        1 => directory(random),
        2 => format!("\"$PWD/{}\"", random.pick(list("texts"))),
        3..=6 => {
            let text = random.pick(list("texts"));
            quoted(random, text)
        }
        _ => {
            let file = random.pick(list("files"));
            quoted(random, file)
        }
    }
}

pub(super) fn directory(random: &mut Random) -> String {
    random.pick(list("directories")).to_owned()
}

/// Returns a value for a flag. The value fits the flag's name and the tables' name for the value, or is random.
pub(super) fn value(random: &mut Random, program: &str, flag: &str, called: &str) -> String {
    let known = match random.up_to(8) {
        0 => random.pick(list("baits")),
        1 => random.pick(list("values")),
        _ => likely(random, program, flag, called),
    };
    quoted(random, known)
}

fn likely(random: &mut Random, program: &str, flag: &str, called: &str) -> &'static str {
    const NUMBERS: &[&str] = &["0", "1", "2", "3", "10", "100", "-1", "+2"];
    let says =
        |words: &[&str]| words.iter().any(|word| flag.contains(word) || called.to_lowercase().contains(word));
    if says(&["file"]) || says(&["path"]) {
        random.pick(list("files"))
    } else if says(&["dir"]) {
        random.pick(list("directories"))
    } else if says(&["color", "colour", "when"]) {
        random.pick(&["always", "never", "auto"])
    } else if says(&["format", "pretty", "printf"]) {
        match program.split(' ').next() {
            Some("git") => part(random, "git format"),
            Some("stat") => random.pick(&["%n %s %y", "%A %U", "%i %T", "%N"]),
            Some("seq") => random.pick(&["%g", "%05.1f", "%.2e"]),
            _ => part(random, "format"),
        }
    } else if says(&["since", "until", "after", "before", "date", "time", "newer", "older", "changed"]) {
        part(random, "date")
    } else if says(&[
        "num", "count", "width", "lines", "bytes", "depth", "context", "abbrev", "size", "skip", "max",
        "min", "length", "tab",
    ]) || matches!(called, "N" | "NUM" | "NUMBER")
    {
        random.pick(NUMBERS)
    } else {
        random.pick(list("values"))
    }
}

/// Returns a text operand for this program.
pub(super) fn text(random: &mut Random, program: &str) -> String {
    let known = operands(program);
    let word = match program {
        _ if !known.is_empty() => random.pick(known),
        "cd" | "pushd" => random.pick(list("directories")),
        "basename" | "dirname" | "pathchk" => random.pick(list("files")),
        _ if program.starts_with("git ") && random.once_in(3) => random.pick(list("texts")),
        _ if program.starts_with("git ") => random.pick(list("revisions")),
        _ => random.pick(list("values")),
    };
    quoted(random, word)
}
