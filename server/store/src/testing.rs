//! Records, options and shared engines for the tests of this crate and of the crates that use a store. The functions
//! panic if a test should fail.

#![expect(clippy::unwrap_used, reason = "for tests")]

pub mod records;

use std::{
    collections::BTreeMap,
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use airlock_domain::{Cause, CommandSpec, DeniedBy, ExecutionResult, ExecutionState, Given};

use crate::{
    Room,
    record::{DecisionRecord, ExecutionRecord, ExecutionSpec, Micros, Verdict},
    sqlite::SqliteOptions,
};

/// The time that a test waits for an expected event. Only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Limits that no test reaches.
pub const ROOMY: Room = Room {
    sessions_per_tenant: 1_000_000,
    executions_per_tenant: 1_000_000,
    executions_per_session: 1_000_000,
    queue_per_tenant: 1_000_000,
    queue: 1_000_000,
    starts_per_second: 1_000_000,
    denials_per_second: 1_000_000,
    output_bytes_per_day: u64::MAX,
    weight: 1,
};

/// Returns the options of a store with timeouts that expire only in a failing test.
#[must_use]
pub fn sqlite() -> SqliteOptions {
    SqliteOptions { busy_timeout: PATIENCE, acquire_timeout: PATIENCE, ..SqliteOptions::default() }
}

/// Waits until the condition holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns an execution that policy denied.
#[must_use]
pub fn execution() -> ExecutionRecord {
    let cause = Cause::Denied { by: DeniedBy::Policy, reason: "a rule denies it".to_owned() };
    let base = records::record(ExecutionState::Finished);
    ExecutionRecord {
        tenant: "default".to_owned(),
        principal: "ci".to_owned(),
        spec: ExecutionSpec {
            command: CommandSpec {
                text: b"git push".to_vec(),
                timeout: Duration::from_secs(120),
                ..base.spec.command
            },
            given: Given::default(),
            description: "push the branch".to_owned(),
            labels: BTreeMap::from([("job".to_owned(), "7".to_owned())]),
            ..base.spec
        },
        decision: DecisionRecord {
            verdict: Verdict::Deny,
            reason_code: "deny_rule".to_owned(),
            reason_message: "a rule denies it".to_owned(),
            reason_span: Some((0, 8)),
            policy_version: vec![7; 32],
            ..base.decision
        },
        result: Some(ExecutionResult::not_started(cause)),
        created: Micros(1_000_001),
        queued: Micros(1_000_001),
        ended: Some(Micros(1_000_001)),
        ..base
    }
}

/// Returns the directory and the port of an engine (`postgres` or `s3`) that all tests of this run share. The
/// first test starts it. It ends with the process that runs the tests.
#[must_use]
pub fn engine(kind: &str) -> (PathBuf, u16) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/engine.sh");
    let said = Command::new(script).arg(kind).arg(parent_id().to_string()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let folder = PathBuf::from(String::from_utf8(said.stdout).unwrap().trim());
    let port = std::fs::read_to_string(folder.join("port")).unwrap().trim().parse().unwrap();
    (folder, port)
}
