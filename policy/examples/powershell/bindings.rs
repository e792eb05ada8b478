//! The parameters to which arguments are bound.

use std::collections::{BTreeMap, HashMap};

use airlock_policy::Profile;
use serde_json::Value as Json;

use crate::decided::decided;

/// The largest number of differences that are printed.
const MAX_SHOWN: usize = 25;

/// Compares the bound parameters of each cmdlet with the facts, and prints the result.
pub(crate) fn measure(facts: &[Json], texts: &HashMap<String, String>, profile: &Profile) {
    let (mut same, mut all, mut shown) = (0, 0, 0);
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    for row in facts {
        let Some(text) = row["id"].as_str().and_then(|id| texts.get(id)) else {
            continue;
        };
        let decision = decided(text, profile);
        if !decision.parse_complete {
            continue;
        }
        let mut found: HashMap<usize, (String, Vec<String>)> = HashMap::new();
        for command in &decision.commands {
            let Some(reading) = &command.powershell else { continue };
            let Some(name) = &reading.command else { continue };
            let units = text.get(..command.span.start).unwrap_or_default().encode_utf16().count();
            let names = reading.parameters.iter().map(|parameter| parameter.name.clone()).collect();
            found.insert(units, (name.clone(), names));
        }
        for command in row["commands"].as_array().into_iter().flatten() {
            let at = command["start"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
            let name = command["command"].as_str().unwrap_or_default().to_owned();
            let mut bound: Vec<String> = command["bound"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|bound| Some(bound["parameter"].as_str()?.to_owned()))
                .collect();
            bound.sort();
            all += 1;
            let ours = found.get(&at).map(|(name, names)| {
                let mut names = names.clone();
                names.sort();
                (name.clone(), names)
            });
            match ours {
                Some(ours) if ours == (name.clone(), bound.clone()) => same += 1,
                None => *missing.entry(name).or_default() += 1,
                Some(ours) => {
                    shown += 1;
                    if shown <= MAX_SHOWN {
                        println!("  {} {ours:?}\n    PowerShell: {command}", row["id"]);
                    }
                }
            }
        }
    }
    println!("bindings.jsonl\n  {same} of {all} commands have the same parameters, {shown} differ");
    println!("  commands without an entry: {missing:?}\n");
}
