//! Writes the programs that run the contents of files, and the files that programs obey.

use std::{collections::BTreeMap, fmt::Write};

use super::text::{Result, list, put, reasoned};
use crate::data::{Interpreter, Obeys, Tables};

/// Writes the entries under all their names.
pub(super) fn write_interpreters(out: &mut String, all: &BTreeMap<String, Interpreter>) -> Result {
    let mut interpreters = BTreeMap::new();
    for (name, entry) in all {
        check(name, entry)?;
        for name in std::iter::once(name).chain(&entry.also) {
            if interpreters.insert(name, entry).is_some() {
                return Err(format!("the interpreter `{name}` is listed twice"));
            }
        }
    }
    list(out, "INTERPRETERS", "Interpreter", interpreters.into_iter(), |out, (name, entry)| {
        put(write!(
            out,
            "Interpreter {{ name: {name:?}, operands: Scripts::{:?}, subcommands: &{:?}, values: &{:?}, scripts: &{:?}, modules: &{:?}, texts: &{:?}, directory: &{:?}, defaults: &{:?} }}",
            entry.operands,
            entry.subcommands,
            entry.values,
            entry.scripts,
            entry.modules,
            entry.texts,
            entry.directory,
            entry.defaults
        ))
    })
}

fn check(name: &str, entry: &Interpreter) -> Result {
    reasoned(name, &entry.does)?;
    if let Some(option) = entry.directory.iter().find(|option| !entry.values.contains(option)) {
        return Err(format!("`{option}` of `{name}` is in `directory`, but not in `values`"));
    }
    let kinds = [&entry.values, &entry.scripts, &entry.modules, &entry.texts];
    let mut options: Vec<&String> = kinds.into_iter().flatten().collect();
    options.sort_unstable();
    match options.windows(2).find(|two| two.first() == two.last()) {
        Some(two) => Err(format!("{two:?} of `{name}` list one option with two meanings")),
        None => Ok(()),
    }
}

/// Writes the entries in their order, and the programs that obey no file.
pub(super) fn write_obeys(out: &mut String, tables: &Tables) -> Result {
    list(out, "OBEYED", "Obeys", tables.obeys.iter(), |out, (name, entry)| {
        check_obeys(name, entry)?;
        let settings: Vec<&String> = entry.settings.keys().collect();
        put(write!(
            out,
            "Obeys {{ programs: &{:?}, files: &{:?}, home: &{:?}, from: Search::{:?}, format: Format::{:?}, settings: &{settings:?} }}",
            entry.programs, entry.files, entry.home, entry.from, entry.format
        ))
    })?;
    let mut nothing = BTreeMap::new();
    for (reason, programs) in &tables.obeys_nothing {
        reasoned(reason, reason)?;
        for program in programs {
            if nothing.insert(program, reason).is_some() {
                return Err(format!("`{program}` is in `obeys_nothing` with two reasons"));
            }
        }
    }
    let both =
        tables.obeys.values().flat_map(|entry| &entry.programs).find(|name| nothing.contains_key(name));
    match both {
        Some(name) => Err(format!("`{name}` is in both `obeys` and `obeys_nothing`")),
        None => Ok(()),
    }
}

fn check_obeys(name: &str, entry: &Obeys) -> Result {
    let reasons = entry.settings.iter().chain(&entry.switched_off);
    reasons.into_iter().try_for_each(|(setting, reason)| reasoned(setting, reason))?;
    if entry.settings.is_empty() || entry.programs.is_empty() || entry.files.len() + entry.home.len() == 0 {
        return Err(format!("`obeys.{name}` has no programs, files or settings"));
    }
    Ok(())
}
