//! What a decision claims about the programs that start, and whether a run kept to
//! it. It never looks at the text of the command.

use airlock_policy::{Decision, FoundCommand, Verdict, Word};

use super::sandbox::LAUNCHERS;
use crate::trace::{Exec, Trace};

/// Shells of which a script by name is not looked through.
const SHELLS: &[&[u8]] = &[b"sh", b"dash", b"bash"];

/// Whether the decision says which programs may start: every program's name is known
/// and the parse complete, or it may run unasked.
#[must_use]
pub fn is_claimed(decision: &Decision) -> bool {
    let known =
        decision.commands.iter().all(|command| command.argv.first().is_none_or(|word| word.text.is_some()));
    decision.verdict == Verdict::Allow || (decision.parse_complete && known)
}

/// The first program that was started and is not among those found.
#[must_use]
pub fn unpredicted<'t>(trace: &'t Trace, commands: &[FoundCommand]) -> Option<&'t Exec> {
    let started = trace.execs.iter().skip(1);
    started.into_iter().find(|exec| {
        is_by_shell_or_launcher(exec, &trace.execs) && !commands.iter().any(|command| predicts(command, exec))
    })
}

/// Whether bash itself started it, or a launcher that was looked through.
fn is_by_shell_or_launcher(exec: &Exec, all: &[Exec]) -> bool {
    let Some(by) = exec.by.filter(|by| *by > 0) else {
        return true;
    };
    let Some(starter) = all.get(by) else {
        return false;
    };
    let name = base_name(&starter.path);
    let launches = LAUNCHERS.iter().any(|launcher| launcher.as_bytes() == name);
    launches && !runs_script(name, &starter.argv) && is_by_shell_or_launcher(starter, all)
}

/// Whether it is a shell with the name of a file to run.
fn runs_script(name: &[u8], argv: &[Vec<u8>]) -> bool {
    let flag = |word: &Vec<u8>| word.first().is_some_and(|byte| matches!(byte, b'-' | b'+'));
    let text = |word: &Vec<u8>| {
        flag(word) && !word.starts_with(b"--") && (word.contains(&b'c') || word.contains(&b's'))
    };
    let rest = argv.get(1..).unwrap_or_default();
    SHELLS.contains(&name)
        && !rest.iter().take_while(|word| flag(word)).any(text)
        && rest.iter().any(|word| !flag(word))
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Whether the program and its words are among what the command may become.
fn predicts(command: &FoundCommand, exec: &Exec) -> bool {
    let Some((program, words)) = command.argv.split_first() else {
        return false;
    };
    let named = program.text.as_deref().is_some_and(|name| base_name(name) == base_name(&exec.path));
    named && may_become(words, exec.argv.get(1..).unwrap_or_default())
}

/// A word that is not known stands for one word, or for any number of words.
fn may_become(words: &[Word], argv: &[Vec<u8>]) -> bool {
    let Some((word, words)) = words.split_first() else {
        return argv.is_empty();
    };
    if word.text.is_none() && !word.exactly_one {
        return (0..=argv.len()).any(|from| may_become(words, argv.get(from..).unwrap_or_default()));
    }
    let Some((first, rest)) = argv.split_first() else {
        return false;
    };
    word.text.as_ref().is_none_or(|text| text == first) && may_become(words, rest)
}
