//! Writes the meaning of exit codes.

use std::{collections::BTreeMap, fmt::Write};

use super::text::{Result, list, put, reasoned};
use crate::data::Exit;

/// Writes the entries under all names of their programs.
pub(super) fn write(out: &mut String, all: &BTreeMap<String, Exit>) -> Result {
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
