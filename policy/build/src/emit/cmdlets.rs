//! Writes the cmdlets of PowerShell with their parameters, and the aliases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::text::{Result, list, put, reasoned};
use crate::data::{Cmdlet, Tables};
use crate::kinds::{ParameterKind, ParameterRole, ValueType};

pub(super) fn write(out: &mut String, tables: &Tables) -> Result {
    let folded: BTreeMap<String, (&String, &Cmdlet)> =
        tables.cmdlet.iter().map(|(name, entry)| (name.to_lowercase(), (name, entry))).collect();
    list(out, "CMDLETS", "(&str, Cmdlet)", folded.into_iter(), |out, (folded, (name, entry))| {
        reasoned(name, &entry.does)?;
        let aliases: Vec<&String> = tables
            .cmdlet_alias
            .iter()
            .filter(|(_, command)| *command == name)
            .map(|(alias, _)| alias)
            .collect();
        put(write!(
            out,
            "({folded:?}, Cmdlet {{ name: {name:?}, aliases: &{aliases:?}, does: {:?}, effect: CmdletEffect::{:?}, set: {:?}, changes: {}, is_simple: {}, reads_with: &{:?}, parameters: &[",
            entry.does, entry.effect, entry.set, entry.changes, entry.simple, entry.reads_with
        ))?;
        parameters(out, name, &entry.parameters)?;
        put(write!(out, "] }})"))
    })?;
    put(writeln!(out, "pub(crate) static COMMON_PARAMETERS: &[Parameter] = &["))?;
    parameters(out, "cmdlet_common", &tables.cmdlet_common.parameters)?;
    put(writeln!(out, "];"))?;
    aliases(out, "CMDLET_ALIASES", &tables.cmdlet_alias)?;
    aliases(out, "WINDOWS_ALIASES", &tables.windows_alias)
}

fn aliases(out: &mut String, name: &str, aliases: &BTreeMap<String, String>) -> Result {
    list(out, name, "(&str, &str)", aliases.iter(), |out, (alias, command)| {
        if alias.to_lowercase() != *alias {
            return Err(format!("the alias `{alias}` is not in lower case"));
        }
        put(write!(out, "({alias:?}, {command:?})"))
    })
}

fn parameters(out: &mut String, cmdlet: &str, all: &[String]) -> Result {
    let mut seen = BTreeSet::new();
    for text in all {
        let parameter =
            Parameter::parse(text).ok_or_else(|| format!("`{text}` of `{cmdlet}` is no parameter"))?;
        if !parameter.names.iter().all(|name| seen.insert(name.to_lowercase())) {
            return Err(format!("`{text}` of `{cmdlet}` is listed twice"));
        }
        put(write!(
            out,
            "Parameter {{ names: &{:?}, kind: ParameterKind::{:?}, role: ParameterRole::{:?}, refused: {}, takes: (ValueType::{:?}, {}), sets: &{:?} }}, ",
            parameter.names,
            parameter.kind,
            parameter.role,
            parameter.refused,
            parameter.takes.0,
            parameter.takes.1,
            parameter.sets
        ))?;
    }
    Ok(())
}

/// A parameter as its line in the table describes it.
struct Parameter<'t> {
    names: Vec<&'t str>,
    kind: ParameterKind,
    role: ParameterRole,
    refused: bool,
    /// The type of its values, and whether it takes a list of them.
    takes: (ValueType, bool),
    /// The sets to which it belongs, with its position; `*` is every set.
    sets: Vec<(&'t str, Option<u8>)>,
}

impl<'t> Parameter<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let mut words = text.split(' ').peekable();
        let (head, role) = match words.next()?.split_once('>') {
            None => (text.split(' ').next()?, ParameterRole::Plain),
            Some((head, "read")) => (head, ParameterRole::Read),
            Some((head, "write")) => (head, ParameterRole::Write),
            Some((head, "create")) => (head, ParameterRole::Create),
            Some((head, "delete")) => (head, ParameterRole::Delete),
            Some((head, "variable")) => (head, ParameterRole::Variable),
            Some((head, "block")) => (head, ParameterRole::Block),
            Some((head, "type")) => (head, ParameterRole::Type),
            Some(_) => return None,
        };
        let (head, refused) = head.strip_suffix('!').map_or((head, false), |head| (head, true));
        let (names, kind) = match head.split_once('=') {
            None => (head, ParameterKind::Value),
            Some((names, "switch")) => (names, ParameterKind::Switch),
            Some((names, "rest")) => (names, ParameterKind::Rest),
            Some(_) => return None,
        };
        let takes = match words.next_if(|word| word.starts_with('~')) {
            Some(word) => value_type(word)?,
            None => (ValueType::Other, false),
        };
        let set = |word: &'t str| match word.split_once(':') {
            None => Some((word, None)),
            Some((set, position)) => Some((set, Some(position.parse().ok()?))),
        };
        let sets = words.map(set).collect::<Option<Vec<_>>>()?;
        Some(Self { names: names.split(',').collect(), kind, role, refused, takes, sets })
    }
}

/// Reads `~type` or `~type[]`.
fn value_type(word: &str) -> Option<(ValueType, bool)> {
    let name = word.strip_prefix('~')?;
    let (name, is_list) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
    let found = match name {
        "any" => ValueType::Any,
        "block" => ValueType::Block,
        "double" => ValueType::Double,
        "int" => ValueType::Int,
        "other" => ValueType::Other,
        "string" => ValueType::String,
        "table" => ValueType::Table,
        _ => return None,
    };
    Some((found, is_list))
}
