//! Finds the launcher entry of a command by its program and subcommands. It parses only the options
//! before a subcommand.

use crate::parse::Word;
use crate::tables::{self, Launcher, Name, Takes};

/// The largest number of words in a name, such as `git submodule foreach`.
const MOST_WORDS: usize = 3;

pub(super) enum Looked<'w> {
    /// The entry, with the words after its name.
    Launcher(&'static Launcher, &'w [Word]),
    /// The options before the subcommand were not understood, so there may be a launcher.
    Hidden,
    Nothing,
}

pub(super) fn launcher<'w>(name: &[u8], rest: &'w [Word]) -> Looked<'w> {
    let mut full = vec![name];
    let mut rest = rest;
    let mut found = tables::launcher(&full).map(|launcher| (launcher, rest));
    for _ in 1..MOST_WORDS {
        if !tables::has_launching_subcommands(&full) {
            break;
        }
        let Some(behind) = behind_options(&full, rest) else {
            return if may_launch(&full, rest) { Looked::Hidden } else { Looked::Nothing };
        };
        let Some((word, tail)) = behind.split_first() else {
            break;
        };
        let Some(text) = word.text.as_deref() else {
            break;
        };
        full.push(text);
        rest = tail;
        found = tables::launcher(&full).map(|launcher| (launcher, rest)).or(found);
    }
    found.map_or(Looked::Nothing, |(launcher, rest)| Looked::Launcher(launcher, rest))
}

/// Returns the words after the options that precede the subcommand; `None` if an option is unknown.
pub(crate) fn behind_options<'w>(name: Name<'_>, rest: &'w [Word]) -> Option<&'w [Word]> {
    let options = tables::global(name).map(|global| &global.options);
    let mut rest = rest;
    while let Some((word, tail)) = rest.split_first() {
        let Some(flag) = word.text.as_deref().and_then(|text| text.strip_prefix(b"-")) else {
            break;
        };
        let bare = flag.strip_prefix(b"-").unwrap_or(flag);
        let end = bare.iter().position(|byte| *byte == b'=');
        let flag = options?.exact(bare.get(..end.unwrap_or(bare.len()))?)?;
        let separate = end.is_none() && !matches!(flag.takes, Takes::Nothing | Takes::Optional);
        rest = if separate { tail.get(1..).unwrap_or_default() } else { tail };
    }
    Some(rest)
}

/// Reports whether one of the words is a subcommand that launches.
fn may_launch(name: Name<'_>, rest: &[Word]) -> bool {
    rest.iter().filter_map(|word| word.text.as_deref()).any(|text| {
        let full = [name, &[text]].concat();
        tables::launcher(&full).is_some_and(|launcher| launcher.runs != tables::Runs::Flags)
            || tables::has_launching_subcommands(&full)
    })
}
