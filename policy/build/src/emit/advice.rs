//! Writes the tables of advice: categories by program, warnings, commands that destroy a person's work, and the meaning
//! of exit codes.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::text::{Result, list, put, reasoned};
use crate::data::{Destroys, Exit, Tables, Warning};

pub(super) fn write(out: &mut String, tables: &Tables) -> Result {
    let mut categories = BTreeMap::new();
    for (name, entry) in &tables.category {
        reasoned(name, &entry.does)?;
        for program in &entry.programs {
            if categories.insert(program, variant(name)).is_some() {
                return Err(format!("`{program}` has two categories"));
            }
        }
    }
    list(out, "CATEGORIES", "(&str, Category)", categories.iter(), |out, (name, variant)| {
        put(write!(out, "({name:?}, Category::{variant})"))
    })?;
    cmdlets(out, tables)?;
    list(out, "WARNINGS", "Warning", tables.warning.iter(), |out, (code, entry)| warning(out, code, entry))?;
    list(out, "DESTROYS", "Destroys", tables.destroys.iter(), |out, (code, entry)| {
        let Destroys { message, command, words, flags, word_begins, target, whole, unless, text } = entry;
        let command = Warning {
            message: message.clone(),
            command: command.clone(),
            words: words.clone(),
            any_word: Vec::new(),
            flags: flags.clone(),
            word_begins: word_begins.clone(),
        };
        put(write!(out, "Destroys {{ command: "))?;
        warning(out, code, &command)?;
        put(write!(
            out,
            ", target: Target::{target:?}, whole: {whole}, unless: &{unless:?}, text: &{text:?} }}"
        ))
    })?;
    list(out, "WARNING_TEXTS", "WarningText", tables.warning_text.iter(), |out, (code, entry)| {
        let texts: Vec<_> = entry.texts.iter().collect();
        put(write!(
            out,
            "WarningText {{ code: {code:?}, programs: &{:?}, texts: &{texts:?} }}",
            entry.programs
        ))
    })?;
    list(out, "WARNING_PAIRS", "WarningPair", tables.warning_pair.iter(), |out, (code, entry)| {
        reasoned(code, &entry.message)?;
        put(write!(
            out,
            "WarningPair {{ code: {code:?}, message: {:?}, first: &{:?}, then: &{:?} }}",
            entry.message, entry.first, entry.then
        ))
    })
}

/// Writes the categories and warnings of cmdlets.
fn cmdlets(out: &mut String, tables: &Tables) -> Result {
    let mut categories = BTreeMap::new();
    for (category, entry) in &tables.category {
        for cmdlet in &entry.cmdlets {
            let (name, parameter) = cmdlet.split_once(" -").unwrap_or((cmdlet, ""));
            if !tables.cmdlet.contains_key(name) {
                return Err(format!("the category `{category}` has the unknown cmdlet `{name}`"));
            }
            if categories.insert((name, std::cmp::Reverse(parameter)), category).is_some() {
                return Err(format!("`{cmdlet}` has two categories"));
            }
        }
    }
    let entries = categories.into_iter();
    list(
        out,
        "CMDLET_CATEGORIES",
        "(&str, &str, Category)",
        entries,
        |out, ((name, parameter), category)| {
            put(write!(out, "({name:?}, {:?}, Category::{})", parameter.0, variant(category)))
        },
    )?;
    list(out, "CMDLET_WARNINGS", "CmdletWarning", tables.cmdlet_warning.iter(), |out, (code, entry)| {
        reasoned(code, &entry.message)?;
        if let Some(name) = entry.cmdlets.iter().find(|name| !tables.cmdlet.contains_key(*name)) {
            return Err(format!("`cmdlet_warning.{code}` has the unknown cmdlet `{name}`"));
        }
        put(write!(
            out,
            "CmdletWarning {{ code: {code:?}, message: {:?}, cmdlets: &{:?}, parameters: &{:?} }}",
            entry.message, entry.cmdlets, entry.parameters
        ))
    })
}

/// Returns the variant of a name in snake case.
fn variant(name: &str) -> String {
    format!("{}{}", name.get(..1).unwrap_or_default().to_uppercase(), name.get(1..).unwrap_or_default())
}

/// Writes a command with its words and flags.
fn warning(out: &mut String, code: &str, entry: &Warning) -> Result {
    let Warning { message, command, words, any_word, flags, word_begins } = entry;
    reasoned(code, message)?;
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let subcommand: Vec<&str> = rest.split_whitespace().collect();
    put(write!(
        out,
        "Warning {{ code: {code:?}, message: {message:?}, program: {program:?}, subcommand: &{subcommand:?}, words: &{words:?}, any_word: &{any_word:?}, flags: &{flags:?}, word_begins: {word_begins:?} }}"
    ))
}

/// Writes the entries under all names of their programs.
pub(super) fn write_exits(out: &mut String, all: &BTreeMap<String, Exit>) -> Result {
    let mut exits = BTreeMap::new();
    for (name, entry) in all {
        reasoned(name, &entry.does)?;
        for name in std::iter::once(name).chain(&entry.also) {
            if exits.insert(name, entry).is_some() {
                return Err(format!("the exit codes of `{name}` are listed twice"));
            }
        }
    }
    list(out, "EXITS", "Exit", exits.into_iter(), |out, (name, entry)| {
        put(write!(
            out,
            "Exit {{ name: {name:?}, passes: {}, codes: &{:?} }}",
            entry.passes,
            codes(name, entry)?
        ))
    })
}

fn codes<'a>(name: &str, entry: &'a Exit) -> Result<Vec<(u8, &'a str, bool)>> {
    let answers = entry.answer.iter().map(|(code, means)| (code, means, false));
    let failures = entry.failure.iter().map(|(code, means)| (code, means, true));
    let mut codes: Vec<(u8, &str, bool)> = Vec::new();
    for (code, means, is_failure) in answers.chain(failures) {
        let number = code.parse().ok().filter(|number| *number > 0);
        let number =
            number.ok_or_else(|| format!("`{code}` of `{name}` is not an exit code from 1 to 255"))?;
        reasoned(code, means)?;
        if codes.iter().any(|(known, ..)| *known == number) {
            return Err(format!("the exit code {number} of `{name}` is listed twice"));
        }
        codes.push((number, means.as_str(), is_failure));
    }
    codes.sort_unstable();
    Ok(codes)
}
