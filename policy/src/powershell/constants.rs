//! The values of variables that the text determines, and the functions that it defines. A variable is known only if the
//! text itself assigns it once, outside every block, and nothing else can set it.

use std::collections::{HashMap, HashSet};

use airlock_powershell::{Argument, ConstructKind, Element, Entries, Script, Value};

/// Variables that PowerShell sets itself.
const AUTOMATIC: &[&str] = &[
    "_",
    "args",
    "error",
    "event",
    "false",
    "foreach",
    "host",
    "input",
    "lastexitcode",
    "matches",
    "myinvocation",
    "null",
    "psboundparameters",
    "pscmdlet",
    "psitem",
    "sender",
    "switch",
    "this",
    "true",
];

/// The constants of a text.
#[derive(Debug, Default)]
pub(crate) struct Constants<'s> {
    /// The values of variables in lower case, with the place behind which they are set.
    values: HashMap<String, (usize, &'s Value)>,
    /// The functions that the text itself defines outside every block, in lower case, with the first place.
    functions: HashMap<String, usize>,
    /// The types that it defines.
    types: HashSet<String>,
}

/// The largest number of values in a known table. Each use copies them.
const MAX_SIZE: usize = 64;

impl<'s> Constants<'s> {
    /// Collects the constants of a text.
    pub(crate) fn of(script: &'s Script) -> Self {
        let mut functions = HashMap::new();
        let mut types = HashSet::new();
        for construct in script.constructs.iter().filter(|construct| construct.is_outermost) {
            let Some(name) = &construct.name else { continue };
            match construct.kind {
                ConstructKind::Function if !name.contains(':') => {
                    functions.entry(name.to_ascii_lowercase()).or_insert(construct.span.start);
                }
                ConstructKind::Class | ConstructKind::Enum => {
                    types.insert(name.to_ascii_lowercase());
                }
                _ => {}
            }
        }
        Self { values: values(script), functions, types }
    }

    /// Returns the value that the variable has in this place.
    fn value(&self, name: &str, at: usize) -> Option<&'s Value> {
        let (from, value) = self.values.get(&name.to_ascii_lowercase())?;
        (at > *from).then_some(*value)
    }

    /// Returns the entries of a table in a variable.
    pub(crate) fn table(&self, name: &str, at: usize) -> Option<&'s Entries> {
        let value = match self.value(name, at)? {
            Value::Converted(value) => value,
            value => value,
        };
        match value {
            Value::Hashtable(entries) => entries.as_ref(),
            _ => None,
        }
    }

    /// Reports whether the value is a script block of the text.
    pub(crate) fn is_block(&self, argument: &Argument) -> bool {
        match &argument.value {
            Value::ScriptBlock => true,
            Value::Variable(name) => {
                matches!(self.value(name, argument.span.start), Some(Value::ScriptBlock))
            }
            Value::Array(values) => values.iter().all(|value| self.is_block(value)),
            _ => false,
        }
    }

    /// Reports whether a command with this name in this place certainly calls a function of the text.
    pub(crate) fn calls_function(&self, name: &str, at: usize) -> bool {
        let defined = || self.functions.get(&name.to_ascii_lowercase());
        !self.functions.is_empty() && defined().is_some_and(|defined| at > *defined)
    }

    /// Reports whether the text defines a class or enumeration with this name in lower case.
    pub(super) fn defines_type(&self, name: &str) -> bool {
        self.types.contains(name)
    }
}

/// Reports whether a value is `$false`.
pub(super) fn is_false(value: &Value) -> bool {
    matches!(value, Value::Variable(name) if name.eq_ignore_ascii_case("false"))
}

/// Returns the name of a variable without its scope, in lower case.
fn own_name(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase()
}

fn values(script: &Script) -> HashMap<String, (usize, &Value)> {
    let takes_reference = || script.types.iter().any(|used| used.name.to_ascii_lowercase().ends_with("ref"));
    if script.assignments.is_empty() || takes_reference() {
        return HashMap::new();
    }
    let mut set_elsewhere: HashSet<String> = AUTOMATIC.iter().map(|name| (*name).to_owned()).collect();
    let defined = script.constructs.iter().filter_map(|construct| construct.name.as_deref());
    set_elsewhere.extend(defined.map(own_name));
    for element in script.commands.iter().flat_map(|command| &command.elements) {
        named_in(element, &mut set_elsewhere);
    }
    for value in script.assignments.iter().filter_map(|found| found.value.as_ref()) {
        strings_of(value, &mut set_elsewhere);
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in script.assignments.iter().filter_map(|found| found.variable.as_deref()) {
        *counts.entry(own_name(name)).or_default() += 1;
    }
    // An element or property of the value may be assigned.
    let changes_objects = script.assignments.iter().any(|found| found.variable.is_none());
    let known = script.assignments.iter().filter_map(|found| {
        let name = own_name(found.variable.as_deref()?);
        let value = found.value.as_ref().filter(|_| found.is_outermost && !changes_objects)?;
        let once = counts.get(&name) == Some(&1) && !set_elsewhere.contains(&name);
        (once && size(value) <= MAX_SIZE).then_some((name, (found.span.end, value)))
    });
    known.collect()
}

/// Returns the number of values in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(|value| size(&value.value)).sum(),
        Value::Hashtable(Some(entries)) => entries.iter().map(|(_, value)| size(&value.value)).sum(),
        Value::Converted(value) => size(value),
        _ => 1,
    }
}

/// Adds the names of variables that an element may give to a cmdlet which sets them, such as `-OutVariable name`.
fn named_in(element: &Element, names: &mut HashSet<String>) {
    let argument = match element {
        Element::Parameter { value: Some(value), .. } => value,
        Element::Argument(argument) => argument,
        Element::Parameter { .. } => return,
    };
    strings_of(&argument.value, names);
}

fn strings_of(value: &Value, names: &mut HashSet<String>) {
    match value {
        Value::String(text, _) => {
            names.insert(own_name(text.trim_start_matches('+')));
        }
        Value::Array(values) => values.iter().for_each(|value| strings_of(&value.value, names)),
        Value::Hashtable(Some(entries)) => {
            entries.iter().for_each(|(_, value)| strings_of(&value.value, names));
        }
        Value::Converted(value) => strings_of(value, names),
        _ => {}
    }
}
