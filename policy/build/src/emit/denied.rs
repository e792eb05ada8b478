//! Writes the built-in deny rules for PowerShell: the entries, and those of each command.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::text::{Result, list, put, reasoned};
use crate::data::Denied;

pub(super) fn write(out: &mut String, entries: &BTreeMap<String, Denied>) -> Result {
    let mut by_command: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (index, (name, entry)) in entries.iter().enumerate() {
        check(name, entry)?;
        for command in &entry.commands {
            by_command.entry(command).or_default().push(index);
        }
    }
    list(out, "DENIED", "Denied", entries.values(), |out, entry| {
        let Denied { rule, message, commands: _, parameters, values, alone, lost, writes } = entry;
        put(write!(
            out,
            "Denied {{ rule: BuiltinDeny::{rule:?}, message: {message:?}, parameters: &{parameters:?}, values: &{values:?}, alone: &{alone:?}, lost: {lost}, writes: &{writes:?} }}"
        ))
    })?;
    list(out, "DENIED_COMMANDS", "(&str, &[usize])", by_command.into_iter(), |out, (command, indices)| {
        put(write!(out, "({command:?}, &{indices:?})"))
    })
}

fn check(name: &str, entry: &Denied) -> Result {
    reasoned(name, &entry.message)?;
    let folded = [&entry.commands, &entry.values, &entry.alone, &entry.writes];
    if let Some(text) = folded.into_iter().flatten().find(|text| text.to_lowercase() != **text) {
        return Err(format!("`{text}` of `denied.{name}` is not in lower case"));
    }
    if entry.commands.is_empty() == entry.writes.is_empty() {
        return Err(format!("`denied.{name}` must have either `commands` or `writes`"));
    }
    Ok(())
}
