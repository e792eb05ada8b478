//! The parameters to which arguments are bound.

use std::collections::HashMap;

use airlock_policy::{Decision, Profile};
use serde_json::Value as Json;

use crate::decided::decided;

/// The largest number of differences that are printed.
const MAX_SHOWN: usize = 60;

/// Parameters that only paths in the file system have.
const OF_FILE_SYSTEM: [&str; 10] = [
    "AsByteStream",
    "Attributes",
    "Directory",
    "Encoding",
    "File",
    "Hidden",
    "NewerThan",
    "OlderThan",
    "Raw",
    "ReadOnly",
];

/// A cmdlet with the sorted names of its parameters.
type Bound = (String, Vec<String>);

/// Compares the bound parameters of each cmdlet with the facts, and prints the result. Returns whether they agree.
pub(crate) fn measure(facts: &[Json], texts: &HashMap<String, String>, profile: &Profile) -> bool {
    let (mut same, mut on_other_drives, mut without_facts, mut differ) = (0, 0, 0, 0);
    for row in facts {
        let Some(text) = row["id"].as_str().and_then(|id| texts.get(id)) else {
            continue;
        };
        let decision = decided(text, profile);
        if !decision.parse_complete {
            continue;
        }
        let found = found(&decision, text);
        for command in row["commands"].as_array().into_iter().flatten() {
            let at = command["start"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
            let wanted = wanted(command);
            match found.get(&at) {
                Some(ours) if *ours == wanted => same += 1,
                _ if is_without_facts(command) => without_facts += 1,
                Some(ours) if is_on_another_drive(ours, &wanted, command) => on_other_drives += 1,
                ours => {
                    differ += 1;
                    if differ <= MAX_SHOWN {
                        println!("  {} {ours:?}\n    PowerShell: {command}", row["id"]);
                    }
                }
            }
        }
    }
    println!("bindings.jsonl\n  {same} commands have the same parameters, {differ} differ");
    println!(
        "  {on_other_drives} differ in parameters of the file system, for another drive or a credential"
    );
    println!("  {without_facts} have no facts: PowerShell's binder failed, or the command is a program\n");
    differ == 0
}

/// Returns the cmdlets by the place of their first unit of UTF-16.
fn found(decision: &Decision, text: &str) -> HashMap<usize, Bound> {
    let cmdlets = decision.commands.iter().filter_map(|command| {
        let reading = command.powershell.as_ref()?;
        let units = text.get(..command.span.start).unwrap_or_default().encode_utf16().count();
        let mut names: Vec<String> =
            reading.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        names.sort();
        Some((units, (reading.command.clone()?, names)))
    });
    cmdlets.collect()
}

fn wanted(command: &Json) -> Bound {
    let bound = command["bound"].as_array().into_iter().flatten();
    let mut names: Vec<String> =
        bound.filter_map(|bound| Some(bound["parameter"].as_str()?.to_owned())).collect();
    names.sort();
    (command["command"].as_str().unwrap_or_default().to_owned(), names)
}

fn is_without_facts(command: &Json) -> bool {
    let failed = command["unbound"].as_array().into_iter().flatten().any(|unbound| unbound == "(binder)");
    let name = command["command"].as_str().unwrap_or_default();
    failed || name.is_empty() || name == "mkdir"
}

/// Reports whether the only difference are parameters of the file system, which PowerShell did not bind because it
/// could not read the path as one.
fn is_on_another_drive(ours: &Bound, wanted: &Bound, command: &Json) -> bool {
    let unbound: Vec<String> = command["unbound"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| Some(name.as_str()?.to_ascii_lowercase()))
        .collect();
    let is_unbound = |name: &String| {
        let lower = name.to_ascii_lowercase();
        OF_FILE_SYSTEM.contains(&name.as_str()) && unbound.iter().any(|start| lower.starts_with(start))
    };
    let rest: Vec<&String> = ours.1.iter().filter(|name| !is_unbound(name)).collect();
    ours.0 == wanted.0 && rest.len() < ours.1.len() && rest.into_iter().eq(&wanted.1)
}
