//! The claims of a decision about the programs that start, and the check that they hold for a run. This module never
//! reads the text of the command.

use airlock_policy::{Decision, FoundCommand, Verdict, Word};

use super::sandbox::LAUNCHERS;
use crate::trace::{Exec, Trace};

/// Shells. The policy does not analyze a script that is passed to one by name.
const SHELLS: &[&[u8]] = &[b"sh", b"dash", b"bash"];

/// Returns whether the decision predicts which programs start: either the command is allowed, or
/// the parse is complete and every program name is known.
#[must_use]
pub fn is_claimed(decision: &Decision) -> bool {
    let known =
        decision.commands.iter().all(|command| command.argv.first().is_none_or(|word| word.text.is_some()));
    decision.verdict == Verdict::Allow || (decision.parse_complete && known)
}

/// Returns the first program that was started and that the decision did not predict.
#[must_use]
pub fn unpredicted<'t>(trace: &'t Trace, commands: &[FoundCommand]) -> Option<&'t Exec> {
    let started = trace.execs.iter().skip(1);
    started.into_iter().find(|exec| {
        is_claimed_about(exec, &trace.execs, commands)
            && !is_launchers_shell(exec)
            && !commands.iter().any(|command| predicts(command, exec))
    })
}

/// Returns whether the claim covers this program: bash itself started it, or a launcher that the
/// policy analyzes.
fn is_claimed_about(exec: &Exec, all: &[Exec], commands: &[FoundCommand]) -> bool {
    let Some(by) = exec.by.filter(|by| *by > 0) else {
        return true;
    };
    let Some(starter) = all.get(by) else {
        return false;
    };
    let launches = LAUNCHERS.iter().any(|launcher| launcher.as_bytes() == base_name(&starter.path));
    launches && !runs_file(starter, commands) && is_claimed_about(starter, all, commands)
}

/// Returns whether this is the shell that a launcher starts for a text, as `flock -c` does. The
/// claim covers the commands in that text.
fn is_launchers_shell(exec: &Exec) -> bool {
    let flag = exec.argv.get(1).is_some_and(|flag| flag == b"-c");
    exec.by.is_some_and(|by| by > 0) && flag && is_shell(exec)
}

fn is_shell(exec: &Exec) -> bool {
    SHELLS.contains(&base_name(&exec.path))
}

/// Returns whether the shell runs a file, by name or as its input.
fn runs_file(shell: &Exec, commands: &[FoundCommand]) -> bool {
    if !is_shell(shell) {
        return false;
    }
    let flag = |word: &Vec<u8>| word.first().is_some_and(|byte| matches!(byte, b'-' | b'+'));
    let rest = shell.argv.get(1..).unwrap_or_default();
    let mut flags = rest.iter().take_while(|word| flag(word)).filter(|word| !word.starts_with(b"--"));
    if flags.any(|word| word.contains(&b'c')) {
        return false;
    }
    let named = rest.iter().any(|word| !flag(word) && word != b"/dev/stdin");
    let mut found = commands.iter().filter(|command| predicts(command, shell));
    let input_is_text = found.any(|command| {
        let input = command.redirects.iter().rfind(|redirect| {
            matches!(redirect.descriptor, None | Some(0)) && redirect.operator.starts_with('<')
        });
        input.is_some_and(|redirect| redirect.operator.starts_with("<<"))
    });
    let by_flag = rest.iter().any(|word| flag(word) && !word.starts_with(b"--") && word.contains(&b's'));
    (named && !by_flag) || !input_is_text
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Returns whether the command can become this program with these arguments.
fn predicts(command: &FoundCommand, exec: &Exec) -> bool {
    let Some((program, words)) = command.argv.split_first() else {
        return false;
    };
    let named = program.text.as_deref().is_some_and(|name| base_name(name) == base_name(&exec.path));
    named && may_become(words, exec.argv.get(1..).unwrap_or_default())
}

/// Matches words with arguments. An unknown word matches one argument, or any number of them.
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
