//! Shell builtins that assign names to programs, or store text to run later.

use super::launches::{Launch, Launches};
use super::shells;
use crate::getopt::{self, Sorted};
use crate::parse::Word;

/// Returns the command that a builtin without its own flags launches; `None` for other programs.
pub(super) fn launches(name: &[u8], rest: &[Word]) -> Option<Launches> {
    match name {
        b"source" | b"." => {
            let file = rest.iter().find(|word| word.text.as_deref() != Some(b"--"));
            let empty = file.is_some_and(|word| word.text.as_deref() == Some(b"/dev/null"));
            Some(Launches { unseen: !empty, ..shells::sourced(file) })
        }
        // These assign a name to another program, or to code from a file.
        b"hash" if rest.iter().any(|word| may_have_flag(word, b'p')) => Some(Launches::opaque()),
        b"enable" if rest.iter().any(|word| may_have_flag(word, b'f')) => Some(Launches::opaque()),
        b"alias" => Some(alias(rest)),
        b"command" if looks_up(rest) => Some(Launches::default()),
        _ => None,
    }
}

/// Reports whether the words are `command -v` or `-V`, which run no program.
fn looks_up(rest: &[Word]) -> bool {
    let flag = rest.first().and_then(|word| word.text.as_deref());
    matches!(flag, Some(b"-v" | b"-V" | b"-pv" | b"-pV"))
}

/// Reports whether the word is, or could become, a cluster of flags that contains this one.
fn may_have_flag(word: &Word, flag: u8) -> bool {
    match &word.text {
        Some(text) => text.starts_with(b"-") && text.contains(&flag),
        None => !getopt::is_operand(word),
    }
}

fn alias(rest: &[Word]) -> Launches {
    let mut found = Launches::default();
    for word in rest {
        let Some(text) = &word.text else {
            found.opaque = true;
            continue;
        };
        if let Some(at) = text.iter().position(|byte| *byte == b'=') {
            let value = text.get(at + 1..).unwrap_or_default();
            found.launches.push(Launch::Text(Some(value.to_vec()), word.span));
        }
    }
    found
}

/// Handles `compgen -W words`, which expands the words. The text of `-C` is handled like any flag.
pub(super) fn callback(sorted: &Sorted) -> Launches {
    let plain = |text: &Vec<u8>| !text.iter().any(|byte| matches!(byte, b'$' | b'`'));
    // compgen appends words to the text of `-C`.
    let opaque = sorted.has("C") || !sorted.values("W").all(|word| word.text.as_ref().is_some_and(plain));
    Launches { opaque, ..Launches::default() }
}
