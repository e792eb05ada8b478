//! Writes the files that programs obey.

use std::{collections::BTreeMap, fmt::Write};

use super::text::{Result, list, put, reasoned};
use crate::data::{Obeys, Tables};

/// Writes the entries in their order, and the programs that obey no file.
pub(super) fn write(out: &mut String, tables: &Tables) -> Result {
    list(out, "OBEYED", "Obeys", tables.obeys.iter(), |out, (name, entry)| {
        check(name, entry)?;
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

fn check(name: &str, entry: &Obeys) -> Result {
    let reasons = entry.settings.iter().chain(&entry.switched_off);
    reasons.into_iter().try_for_each(|(setting, reason)| reasoned(setting, reason))?;
    if entry.settings.is_empty() || entry.programs.is_empty() || entry.files.len() + entry.home.len() == 0 {
        return Err(format!("`obeys.{name}` has no programs, files or settings"));
    }
    Ok(())
}
