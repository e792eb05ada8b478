//! The injected faults and the results as tables.

use std::{collections::BTreeMap, fmt::Write as _};

use airlock_client::v1;

use super::{Plan, load::Done};
use crate::reader::cause;

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    injected: BTreeMap<String, u32>,
    /// The fault points at which a process died, with their counts.
    died: BTreeMap<String, u32>,
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

    pub(super) fn table(&self, plan: Plan, done: &[Done]) -> String {
        let mut table = format!(
            "fleet: SEED={} COUNT={}: {} faults; {} executions, {} MB of output told and counted; {} answers of single \
             servers under fire, {} executions that every server agrees about\n",
            plan.seed,
            plan.count,
            self.faults(),
            done.len(),
            self.bytes / 1_000_000,
            self.answers,
            self.agreed,
        );
        let mut rows = |title: &str, counts: &BTreeMap<String, u32>| {
            writeln!(table, "{title}").unwrap();
            for (what, count) in counts {
                writeln!(table, "  {count:>5}  {what}").unwrap();
            }
        };
        rows("injected", &self.injected);
        rows("died at", &self.died);
        let mut ends: BTreeMap<String, u32> = BTreeMap::new();
        for one in done {
            let cause = cause(&one.end);
            let cause = cause.as_str_name().trim_start_matches("CAUSE_CODE_");
            let started = one.end.result.as_ref().map_or(v1::Started::Unspecified, v1::Result::started);
            let started = started.as_str_name().trim_start_matches("STARTED_");
            *ends.entry(format!("{:?}: {cause} (started: {started})", one.kind)).or_default() += 1;
        }
        rows("ends", &ends);
        table
    }
}
