//! Messages of runners for unit tests. `airlock_store::testing` has the records.

#![expect(clippy::expect_used, reason = "for tests")]

use std::collections::BTreeMap;

use airlock_domain::{Epoch, RunnerHello};
use airlock_proto::LINK_PROTOCOL_VERSION;

/// Returns the hello of a correct runner.
#[must_use]
pub fn hello(name: &str, epoch: Epoch) -> RunnerHello {
    RunnerHello {
        protocol_version: LINK_PROTOCOL_VERSION,
        runner_id: name.parse().expect("an id"),
        epoch,
        version: "0.1.0".to_owned(),
        labels: BTreeMap::new(),
        slots: 4,
        bases: vec!["repo".to_owned()],
        capabilities: Vec::new(),
        shells: BTreeMap::new(),
        clock_ms: 1000,
        vouched_epochs: Vec::new(),
        answers_probes: false,
    }
}
