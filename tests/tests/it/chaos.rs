//! The rows of the fault table. Each row injects its fault in each state of an execution, at each step of its start and
//! at each event of its stream.

mod long;
mod sample;

use airlock_tests::chaos::rows::Row;

/// The smallest number of injections of all rows in `make test-long`.
const AT_LEAST: usize = 400;

#[test]
fn the_rows_make_enough_injections_and_each_has_a_sample() {
    let least: usize = Row::ALL.iter().map(|(row, ..)| row.least()).sum();
    assert!(least >= AT_LEAST, "{least} injections");
    for (row, least, sample) in Row::ALL {
        assert!((1..=least).contains(&sample), "{row:?}: {sample} of {least}");
    }
    for (name, text) in [("sample", include_str!("chaos/sample.rs")), ("long", include_str!("chaos/long.rs"))]
    {
        for (row, ..) in Row::ALL {
            let named = [',', ')'].iter().any(|end| text.contains(&format!("Row::{row:?}{end}")));
            assert!(named, "{row:?} has no test in `{name}`");
        }
    }
}

/// The spool is created before the command is started, so a missing spool shows that the command was not started.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_accepted_and_had_no_spool_was_not_started() {
    Box::pin(airlock_tests::chaos::rows::accepted_and_no_more(airlock_sampling::seed())).await;
}
