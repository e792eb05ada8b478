//! The counts of a run.

use std::collections::BTreeMap;

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) injected: BTreeMap<String, u32>,
    /// The fault points at which a process died, with their counts.
    pub(super) died: BTreeMap<String, u32>,
    /// The responses of single servers about executions in progress.
    pub(super) answers: u32,
    /// The executions that every server reported correctly at the end.
    pub(super) agreed: usize,
    /// The bytes of all outputs that were read to their end.
    pub(super) bytes: u64,
}

impl Tally {
    pub(super) fn inject(&mut self, what: &str) {
        *self.injected.entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn died(&mut self, point: &str) {
        *self.died.entry(point.to_owned()).or_default() += 1;
    }

    /// Returns the number of faults that occurred.
    pub(super) fn faults(&self) -> u32 {
        self.injected.values().chain(self.died.values()).sum()
    }
}
