//! Writes the programs that run the contents of files.

use std::{collections::BTreeMap, fmt::Write};

use super::text::{Result, list, put, reasoned};
use crate::data::Interpreter;

/// Writes the entries under all their names.
pub(super) fn write(out: &mut String, all: &BTreeMap<String, Interpreter>) -> Result {
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
