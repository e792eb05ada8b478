//! Warnings about destructive commands, for approvers. The warnings are data in the tables; this
//! module only matches them.

use crate::analysis::{Analysis, Found};
use crate::decision;
use crate::decision::Nesting;
use crate::facts::Facts;
use crate::getopt::is_one_of;
use crate::launch::{base_name, behind_options};
use crate::parse::Word;
use crate::tables::{
    CmdletWarning, Warning, WarningPair, WarningText, cmdlet_warnings, warning_pairs, warning_texts, warnings,
};

pub(super) fn of(facts: &Facts<'_>) -> Vec<decision::Warning> {
    let analysis = &facts.analysis;
    let mut out = Vec::new();
    for (index, found) in analysis.commands.iter().enumerate() {
        let Some(program) = found.program().map(base_name) else {
            continue;
        };
        out.extend(cmdlets(found));
        let known = warnings().iter().filter(|entry| is_program(entry.program, program));
        for entry in known.filter(|entry| applies(entry, program, found)) {
            out.push(remark(entry.code, entry.message, found));
        }
        let input = piped_into(analysis, index);
        out.extend(warning_texts().iter().filter_map(|entry| text(entry, program, found, input)));
        for pair in warning_pairs().iter().filter(|pair| reaches(pair, program, analysis, index)) {
            out.push(remark(pair.code, pair.message, found));
        }
    }
    out
}

/// Returns the warnings about a cmdlet.
fn cmdlets(found: &Found) -> Vec<decision::Warning> {
    let Some(call) = found.call().filter(|call| !call.switches_on("WhatIf")) else {
        return Vec::new();
    };
    let applies = |entry: &&CmdletWarning| {
        let given = entry.parameters.iter().any(|name| call.switches_on(name));
        entry.cmdlets.contains(&call.cmdlet.name) && (entry.parameters.is_empty() || given)
    };
    let entries = cmdlet_warnings().iter().filter(applies);
    entries.map(|entry| remark(entry.code, entry.message, found)).collect()
}

fn remark(code: &'static str, message: &str, found: &Found) -> decision::Warning {
    decision::Warning { code, message: message.to_owned(), span: Some(found.span) }
}

pub(crate) fn is_program(known: &str, program: &[u8]) -> bool {
    let first = known.as_bytes().first();
    if first != program.first() && first != Some(&b'*') {
        return false;
    }
    match known.strip_suffix('*') {
        Some(start) => program.starts_with(start.as_bytes()),
        None => program == known.as_bytes(),
    }
}

fn among(names: &[&str], text: &[u8]) -> bool {
    names.iter().any(|name| name.as_bytes() == text)
}

/// Reports whether the command matches the entry. Its program is already the entry's.
pub(crate) fn applies(entry: &Warning, program: &[u8], found: &Found) -> bool {
    let rest = found.words.get(1..).unwrap_or_default();
    let Some(words) = behind_subcommand(entry, program, rest) else {
        return false;
    };
    let texts = || words.iter().filter_map(|word| word.text.as_deref());
    let has_word = |wanted: &&str| texts().any(|text| text == wanted.as_bytes());
    let begins =
        |word: &Word| !entry.word_begins.is_empty() && word.lead.starts_with(entry.word_begins.as_bytes());
    let any_flag = entry.flags.is_empty() && entry.word_begins.is_empty();
    entry.words.iter().all(has_word)
        && (entry.any_word.is_empty() || entry.any_word.iter().any(has_word))
        && (any_flag
            || words.iter().any(begins)
            || texts().take_while(|text| *text != b"--").any(|text| is_one_of(entry.flags, text)))
}

/// Returns the words after the subcommand, if it is the entry's.
pub(crate) fn behind_subcommand<'w>(entry: &Warning, program: &[u8], rest: &'w [Word]) -> Option<&'w [Word]> {
    if entry.subcommand.is_empty() {
        return Some(rest);
    }
    let mut words = behind_options(&[program], rest)?;
    for wanted in entry.subcommand {
        let (word, tail) = words.split_first()?;
        if word.text.as_deref() != Some(wanted.as_bytes()) {
            return None;
        }
        words = tail;
    }
    Some(words)
}

/// Returns the commands whose output may reach this one: those before it in the same pipeline.
fn piped_into(analysis: &Analysis, index: usize) -> &[Found] {
    let piped = |found: &Found| found.nesting.contains(&Nesting::Pipeline);
    let before = analysis.commands.get(..=index).unwrap_or_default();
    let first = before.iter().rposition(|found| !piped(found)).map_or(0, |last| last + 1);
    before.get(first..index).unwrap_or_default()
}

/// Finds database statements in a word, in redirected input, or in the words of commands whose output it reads.
fn text(entry: &WarningText, program: &[u8], found: &Found, input: &[Found]) -> Option<decision::Warning> {
    if !among(entry.programs, program) {
        return None;
    }
    let texts = input.iter().chain([found]).flat_map(|found| {
        let read = found.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
        found.words.iter().chain(read).filter_map(|word| word.text.as_deref())
    });
    let message = texts.map(plain).find_map(|text| {
        entry
            .texts
            .iter()
            .find(|(statement, _)| text.contains(&format!(" {statement} ")))
            .map(|(_, does)| does)
    });
    message.map(|message| remark(entry.code, message, found))
}

/// Returns the text in lower case, with single spaces between the words and at both ends.
fn plain(text: &[u8]) -> String {
    let lower = String::from_utf8_lossy(text).to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| c.is_whitespace() || matches!(c, ';' | '(' | ')' | '"')).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

/// Reports whether the command's output reaches a command that runs it: later in the same pipeline,
/// or around it as a substitution.
fn reaches(pair: &WarningPair, program: &[u8], analysis: &Analysis, index: usize) -> bool {
    if !among(pair.first, program) {
        return false;
    }
    let runs = |found: &Found| found.program().is_some_and(|name| among(pair.then, base_name(name)));
    let Some(found) = analysis.commands.get(index) else {
        return false;
    };
    let inside = |kind| found.nesting.contains(&kind);
    let piped = inside(Nesting::Pipeline) && analysis.commands.iter().skip(index + 1).any(runs);
    let substituted = inside(Nesting::Substitution) || inside(Nesting::ProcessSubstitution);
    piped || (substituted && analysis.commands.iter().take(index).any(runs))
}
