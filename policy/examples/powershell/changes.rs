//! The changes that texts make.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use airlock_policy::{Profile, Verdict};
use serde_json::Value as Json;

use crate::decided::decided;

/// The largest number of texts that are printed.
const MAX_SHOWN: usize = 40;

/// The figures of one file.
#[derive(Default)]
pub(crate) struct Found {
    changed: usize,
    unchanged: usize,
    read_only: usize,
    /// Texts that change something and are read-only or allowed.
    wrong: Vec<String>,
    /// The first reason of each text that makes no change and is not read-only.
    reasons: BTreeMap<String, (usize, String)>,
}

/// Compares the verdicts with the changes of texts by id.
pub(crate) fn measure(facts: &[Json], texts: &HashMap<String, String>, profile: &Profile) -> Found {
    let mut found = Found::default();
    for row in facts {
        if let Some(text) = row["id"].as_str().and_then(|id| texts.get(id)) {
            found.add(text, row, profile);
        }
    }
    found
}

/// Compares the verdicts with the changes of small cases.
pub(crate) fn cases(facts: &[Json], profile: &Profile) -> Found {
    let mut found = Found::default();
    for row in facts {
        if let Some(text) = row["script"].as_str().filter(|_| row["how"].is_string()) {
            found.add(text, row, profile);
        }
    }
    found
}

impl Found {
    fn add(&mut self, text: &str, row: &Json, profile: &Profile) {
        let decision = decided(text, profile);
        let kinds = ["created", "deleted", "changed"];
        let changes = kinds.iter().any(|kind| row[*kind].as_array().is_some_and(|files| !files.is_empty()));
        let allowed = decision.read_only || decision.verdict == Verdict::Allow;
        if changes {
            self.changed += 1;
            if allowed {
                self.wrong.push(text.to_owned());
            }
            return;
        }
        self.unchanged += 1;
        self.read_only += usize::from(decision.read_only);
        if let Some(reason) = decision.reasons.first().filter(|_| !decision.read_only) {
            let entry = self.reasons.entry(format!("{}: {}", reason.code, reason.message)).or_default();
            entry.0 += 1;
            text.clone_into(&mut entry.1);
        }
    }

    pub(crate) fn holds(&self) -> bool {
        self.wrong.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "  {} texts change something; {} of them are read-only",
            self.changed,
            self.wrong.len()
        )?;
        for text in self.wrong.iter().take(MAX_SHOWN) {
            writeln!(out, "    {text:?}")?;
        }
        writeln!(out, "  {} texts show no change; {} of them are read-only", self.unchanged, self.read_only)?;
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (reason, (count, text)) in reasons.into_iter().take(MAX_SHOWN) {
            let start: String = text.chars().take(100).collect();
            writeln!(out, "    {count}: {reason} ({start:?})")?;
        }
        Ok(())
    }
}
