//! Launchers with the command or text among their operands.

use super::launches::{Launch, Launches};
use crate::decision::Span;
use crate::parse::{Assign, Word};
use crate::tables::{self, Launcher};

/// Handles operands that are the command, after `skip` operands of the launcher itself.
pub(super) fn command(launcher: &Launcher, operands: &[Word], skip: usize) -> Launches {
    let kept = operands.get(..skip).unwrap_or(operands);
    if kept.iter().any(|word| !word.exactly_one) {
        return Launches::opaque();
    }
    let mut found = from(launcher, operands.get(skip..).unwrap_or_default());
    if launcher.skip_is_optional {
        found.launches.extend(from(launcher, operands).launches);
    }
    found
}

fn from(launcher: &Launcher, words: &[Word]) -> Launches {
    let dash = |word: &Word| launcher.name == "env" && word.text.as_deref() == Some(b"-");
    let mut rest = match words.split_first() {
        Some((first, tail)) if dash(first) => tail,
        _ => words,
    };
    let mut assignments = Vec::new();
    while let Some((word, tail)) = rest.split_first() {
        let text = word.text.as_deref().unwrap_or(&word.lead);
        let Some(name) = assigned_name(launcher, text) else {
            break;
        };
        if tables::names::is_evaluated(name) || tables::names::changes_reading(name) {
            return Launches::opaque();
        }
        assignments.push(Assign {
            name: name.to_vec(),
            values: vec![value_of(word, name.len() + 1)],
            span: word.span,
        });
        rest = tail;
    }
    let is_keyword = launcher.name == "time";
    match rest {
        // `time x=1` sets x in the shell itself.
        [] if !is_keyword || assignments.is_empty() => Launches::default(),
        // `flock FILE -c text`
        [flag, text, ..] if flag.text.as_deref() == Some(b"-c") => Launches::one(Launch::text(text)),
        _ => Launches::one(Launch::Command { words: rest.to_vec(), assignments }),
    }
}

/// Returns the name that `NAME=value` before a launched command sets. The shell's keywords require
/// a valid name; `env` and `sudo` accept any text before the `=`.
fn assigned_name<'t>(launcher: &Launcher, text: &'t [u8]) -> Option<&'t [u8]> {
    if !launcher.assignments {
        return None;
    }
    if matches!(launcher.name, "time" | "coproc") {
        return crate::parse::assignment_name(text);
    }
    let end = text.iter().position(|byte| *byte == b'=')?;
    text.get(..end)
}

/// Returns the part of `NAME=value` after the `=`.
fn value_of(word: &Word, from: usize) -> Word {
    let behind = |text: &Vec<u8>| text.get(from..).unwrap_or_default().to_vec();
    Word { text: word.text.as_ref().map(behind), lead: behind(&word.lead), ..word.clone() }
}

/// Returns the words after `--`.
pub(super) fn behind_dashes(rest: &[Word]) -> Option<&[Word]> {
    let at = rest.iter().position(|word| word.text.as_deref() == Some(b"--"))?;
    rest.get(at + 1..)
}

/// Handles `git bisect run`: a single operand is text, several are a command.
pub(super) fn text_or_command(launcher: &Launcher, operands: &[Word]) -> Launches {
    match operands {
        [single] => Launches::one(Launch::text(single)),
        _ => command(launcher, operands, 0),
    }
}

/// Handles `eval a b`: the joined words are parsed again.
pub(super) fn joined(operands: &[Word]) -> Launches {
    let Some(first) = operands.first() else {
        return Launches::default();
    };
    // Words that xargs adds have the span of the words that they replace.
    let end = operands.iter().map(|word| word.span.end).max().unwrap_or_default();
    let texts: Option<Vec<&[u8]>> = operands.iter().map(|word| word.text.as_deref()).collect();
    let span = Span::new(first.span.start, end);
    Launches::one(Launch::Text(texts.map(|texts| texts.join(&b' ')), span))
}

pub(super) fn each_text(operands: &[Word]) -> Launches {
    Launches { launches: operands.iter().map(Launch::text).collect(), ..Launches::default() }
}

/// Handles `trap text SIGNAL`.
pub(super) fn first_text(operands: &[Word]) -> Launches {
    match operands.first() {
        Some(word) if word.text.as_deref() != Some(b"-") => Launches::one(Launch::text(word)),
        _ => Launches::default(),
    }
}

/// Handles `exec=text` and `ProxyCommand text`.
pub(super) fn named_text(value: &Word) -> Option<Launch> {
    let text = value.text.as_deref().unwrap_or(&value.lead);
    let end = text.iter().position(|byte| matches!(byte, b'=' | b' '))?;
    let (name, behind) = text.split_at_checked(end)?;
    if !tables::names::is_command_option(&name.to_ascii_lowercase()) {
        return None;
    }
    let behind = behind.get(1..).unwrap_or_default();
    Some(Launch::Text(value.text.is_some().then(|| behind.to_vec()), value.span))
}
