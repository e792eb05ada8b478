//! The connections of an execution that were not plainly allowed, for its result.

use std::collections::BTreeSet;

use airlock_domain::{Violation, ViolationAction};
use airlock_egress::{Connection, Outcome};

/// The most targets that a result names. Further ones are counted.
const TARGETS: usize = 20;

/// Collects targets, each once.
#[derive(Debug, Default)]
pub(super) struct Refused {
    seen: BTreeSet<(String, u16)>,
    violations: Vec<Violation>,
    more: u64,
}

impl Refused {
    pub(super) fn add(&mut self, connection: Connection) {
        let (kind, verb) = match connection.outcome {
            Outcome::Refused => ("refused", "was refused"),
            Outcome::Failed => ("failed", "failed"),
            Outcome::Warned => ("warned", "was let through with a warning"),
            Outcome::Allowed => return,
        };
        let Connection { host, port, rule, layer, remedy, .. } = connection;
        if self.seen.contains(&(host.clone(), port)) {
            return;
        }
        if self.violations.len() >= TARGETS {
            self.more = self.more.saturating_add(1);
            return;
        }
        let by = match (rule, layer) {
            (Some(rule), Some(layer)) => format!(" by `{rule}` of the {layer}"),
            (None, Some(layer)) => format!(" by the {layer}"),
            (_, None) => String::new(),
        };
        let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        let target = if port == 0 { host.clone() } else { format!("{host}:{port}") };
        self.violations.push(violation(kind, format!("the connection to `{target}` {verb}{by}{remedy}")));
        self.seen.insert((host, port));
    }

    pub(super) fn violations(mut self) -> Vec<Violation> {
        if self.more > 0 {
            self.violations.push(violation(
                "refused",
                format!("{} more connections were refused, failed or let through with a warning", self.more),
            ));
        }
        self.violations
    }
}

fn violation(kind: &str, detail: String) -> Violation {
    Violation {
        layer: "network".to_owned(),
        kind: kind.to_owned(),
        path: Vec::new(),
        action: ViolationAction::Reported,
        detail,
        quarantine_id: String::new(),
    }
}
