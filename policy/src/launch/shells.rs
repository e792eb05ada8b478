//! Shells, and programs that start a user's shell.

use super::launches::{Launch, Launches};
use super::operands;
use crate::getopt::Sorted;
use crate::parse::Word;
use crate::tables::Launcher;

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
pub(super) fn sourced(script: Option<&Word>) -> Launches {
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
