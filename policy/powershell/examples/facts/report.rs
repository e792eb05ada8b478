//! The figures of one set of texts.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value as Json;

use crate::compare;

/// The largest number of differences that are printed.
const MAX_SHOWN: usize = 20;

/// The figures, and what did not hold.
#[derive(Default)]
pub(crate) struct Report {
    texts: usize,
    valid: usize,
    complete: usize,
    /// Texts that PowerShell refuses although the parser finds nothing wrong.
    refused: BTreeMap<String, usize>,
    /// For each construct, the number of valid texts that contain it, and of those that are complete.
    constructs: BTreeMap<String, (usize, usize)>,
    /// For each reason, the number of valid texts that are not complete.
    faults: BTreeMap<&'static str, Vec<String>>,
    differences: Vec<String>,
}

impl Report {
    pub(crate) fn add(&mut self, id: &str, text: &str, facts: &Json) {
        let script = airlock_powershell::parse(text);
        let errors = facts["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.texts += 1;
        if errors.is_empty() {
            self.valid += 1;
            self.complete += usize::from(script.is_complete());
            for kind in facts["kinds"].as_object().into_iter().flat_map(serde_json::Map::keys) {
                let counts = self.constructs.entry(kind.clone()).or_default();
                counts.0 += 1;
                counts.1 += usize::from(script.is_complete());
            }
        }
        match script.fault {
            Some(fault) if errors.is_empty() => {
                self.faults.entry(fault.code).or_default().push(id.to_owned());
            }
            Some(_) => {}
            None => {
                if let Some(error) = errors.first() {
                    *self.refused.entry(error["ErrorId"].to_string()).or_default() += 1;
                }
                let (found, expected) = (compare::commands(&script, text), compare::of_facts(facts));
                if found != expected {
                    self.differences.push(difference(id, text, &found, &expected));
                }
            }
        }
    }

    pub(crate) fn holds(&self, least: f64) -> bool {
        self.differences.is_empty() && share(self.complete, self.valid) >= least
    }
}

fn difference(id: &str, text: &str, found: &[Json], expected: &[Json]) -> String {
    let show = |command: Option<&Json>| command.map_or("nothing".to_owned(), Json::to_string);
    let differs = |at: &usize| found.get(*at) != expected.get(*at);
    let first = (0..found.len().max(expected.len())).find(differs).unwrap_or_default();
    let (ours, theirs) = (show(found.get(first)), show(expected.get(first)));
    format!("  {id}: {text:?}\n    the parser: {ours}\n    PowerShell: {theirs}")
}

#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * share(self.complete, self.valid);
        writeln!(
            out,
            "  {} texts, {} valid, {} complete ({percent:.2} %)",
            self.texts, self.valid, self.complete
        )?;
        writeln!(out, "  {} differences", self.differences.len())?;
        writeln!(out, "  construct: valid texts, complete texts")?;
        for (construct, (valid, complete)) in &self.constructs {
            writeln!(out, "    {construct}: {valid}, {complete}")?;
        }
        for (code, ids) in &self.faults {
            let some: Vec<&str> = ids.iter().take(5).map(String::as_str).collect();
            writeln!(out, "  valid but `{code}`: {} ({})", ids.len(), some.join(" "))?;
        }
        for (error, count) in &self.refused {
            writeln!(out, "  complete, but PowerShell reports {error}: {count}")?;
        }
        for difference in self.differences.iter().take(MAX_SHOWN) {
            writeln!(out, "{difference}")?;
        }
        Ok(())
    }
}
