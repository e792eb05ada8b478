//! New decisions about a stored execution. Plain data.

use crate::record::{ApprovalRecord, DecisionRecord};

/// A new decision about a stored execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redecision {
    /// The decision.
    pub record: DecisionRecord,
    /// The directory of the decision.
    pub directory: Vec<u8>,
}

/// A new question to a person about a stored execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The decision that asks.
    pub decision: Redecision,
    /// The approval.
    pub approval: ApprovalRecord,
    /// The time for which the approval stays open, in microseconds.
    pub valid_micros: i64,
}

impl Redecision {
    pub(crate) fn into_parts(self) -> (DecisionRecord, Vec<u8>) {
        (self.record, self.directory)
    }
}
