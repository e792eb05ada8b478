//! The answer of a step, before it becomes a decision.

use crate::decision::{Reason, Requirement, ShadowHit, Verdict};
use crate::limits;

pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<Reason>,
    pub(super) requires: Vec<Requirement>,
    pub(super) shadow: Vec<ShadowHit>,
    /// Whether the read-only proof answered, which the mode plan requires.
    pub(super) by_proof: bool,
}

impl Outcome {
    pub(super) fn new(verdict: Verdict, reason: Reason) -> Self {
        Self::with(verdict, vec![reason])
    }

    pub(super) fn with(verdict: Verdict, reasons: Vec<Reason>) -> Self {
        let mut told: Vec<Reason> = Vec::new();
        for reason in reasons {
            let again = |known: &Reason| {
                (known.code, known.span, &known.message) == (reason.code, reason.span, &reason.message)
                    && known.rule == reason.rule
            };
            if told.len() < limits::MAX_REASONS && !told.iter().any(again) {
                told.push(reason);
            }
        }
        Self { verdict, reasons: told, requires: Vec::new(), shadow: Vec::new(), by_proof: false }
    }

    pub(super) fn requiring(mut self, requirement: Requirement) -> Self {
        self.requires.push(requirement);
        self
    }
}
