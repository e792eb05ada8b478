//! The result of a run as tables.

use std::{collections::BTreeMap, fmt::Write as _};

use airlock_client::v1;

use super::{Plan, load::Done, tally::Tally};
use crate::reader::cause;

/// Returns the injected faults and the results as tables.
pub(super) fn of(tally: &Tally, plan: Plan, done: &[Done]) -> String {
    let mut table = format!(
        "fleet: SEED={} COUNT={}: {} faults; {} executions, {} MB of output told and counted; {} answers of single \
         servers under fire, {} executions that every server agrees about\n",
        plan.seed,
        plan.count,
        tally.faults(),
        done.len(),
        tally.bytes / 1_000_000,
        tally.answers,
        tally.agreed,
    );
    let mut rows = |title: &str, counts: &BTreeMap<String, u32>| {
        writeln!(table, "{title}").unwrap();
        for (what, count) in counts {
            writeln!(table, "  {count:>5}  {what}").unwrap();
        }
    };
    rows("injected", &tally.injected);
    rows("died at", &tally.died);
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
