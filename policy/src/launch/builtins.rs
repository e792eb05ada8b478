//! Shells, programs that start a user's shell, and builtins that assign names to programs or store text to run later.

use super::launches::{Launch, Launches};
use super::operands;
use crate::getopt::{self, Sorted};
use crate::parse::Word;
use crate::tables::Launcher;

/// Returns the command that a builtin without its own flags launches; `None` for other programs.
pub(super) fn launches(name: &[u8], rest: &[Word]) -> Option<Launches> {
    match name {
        b"source" | b"." => {
            let file = rest.iter().find(|word| word.text.as_deref() != Some(b"--"));
            let empty = file.is_some_and(|word| word.text.as_deref() == Some(b"/dev/null"));
            Some(Launches { unseen: !empty, ..sourced(file) })
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

pub(super) fn shell(sorted: &Sorted, operands: &[Word]) -> Launches {
    if sorted.has("command") {
        // fish: the text is the flag's value.
        return Launches::default();
    }
    let options = ["o", "O"].iter().flat_map(|name| sorted.values(name));
    let changed =
        sorted.has("posix") || sorted.has("k") || !options.into_iter().all(crate::parse::keeps_reading);
    if changed || operands.iter().any(|word| word.lead.starts_with(b"+")) {
        return Launches::opaque();
    }
    let found = match operands.first() {
        _ if sorted.has("version") || sorted.has("help") => Launches::default(),
        Some(word) if sorted.has("c") => Launches::one(Launch::text(word)),
        _ if sorted.has("s") => Launches::input(),
        script => sourced(script),
    };
    Launches { interactive: sorted.has("i"), ..found }
}

/// Handles a script by name. Its text is not examined, unless the name refers to standard input.
fn sourced(script: Option<&Word>) -> Launches {
    let stdin = |text: &[u8]| matches!(text, b"-" | b"/dev/stdin" | b"/dev/fd/0" | b"/proc/self/fd/0");
    match script {
        Some(word) if word.is_process_input() => Launches::opaque(),
        Some(word) if !word.text.as_deref().is_some_and(stdin) => Launches::default(),
        _ => Launches::input(),
    }
}

/// Handles `su USER` and `runuser -u USER command`. The words after the user go to the shell.
pub(super) fn login(launcher: &Launcher, sorted: &Sorted, operands: &[Word]) -> Launches {
    if sorted.has("user") {
        return operands::command(launcher, operands, 0);
    }
    let words: Vec<&Word> = operands.iter().filter(|word| word.text.as_deref() != Some(b"-")).collect();
    let by_flag = sorted.has("command") || sorted.has("session-command");
    match words.as_slice() {
        // `runuser root -c text`: the first operand ended the flags.
        [_, flag, text, ..] if flag.text.as_deref() == Some(b"-c") => Launches::one(Launch::text(text)),
        [_, _, ..] => Launches::opaque(),
        _ if by_flag => Launches::default(),
        _ => Launches::input(),
    }
}
