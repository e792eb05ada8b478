//! Tests that usage from before a command is distinguished from usage that the command caused.

use std::{fs, path::Path};

use airlock_domain::SessionId;
use airlock_sandbox::{UidIsolation, UidRange};
use tokio::time::timeout;

use super::*;
use crate::{
    config::WorkspaceBackend,
    files::BaselineLimits,
    session::{CopyLimits, Opening, SessionTable},
};

const MIB: u64 = 1 << 20;
/// Longer than any delay of a busy host.
const PATIENCE: Duration = Duration::from_secs(120);

fn config() -> WorkspaceConfig {
    WorkspaceConfig {
        backend: WorkspaceBackend::Watch,
        bytes: Some(2 * MIB),
        inodes: None,
        watch_every: Duration::from_millis(10),
    }
}

fn session(state: &Path) -> (SessionTable, Arc<OpenSession>) {
    let copy = CopyLimits {
        bytes: MIB,
        entries: 1000,
        baseline: BaselineLimits { bytes: 64 << 10, file_bytes: 4 << 10 },
    };
    let range = UidRange::new(40_000_000, 64);
    let disk = config().for_sandbox();
    let sessions = SessionTable::restore(state, UidIsolation::detect(), range, 8, copy, disk).unwrap();
    let Opening::Reserved(reserved) = sessions.reserve(SessionId::new()) else {
        panic!("the session is new")
    };
    let session = sessions.make(&reserved, None, |_, _| {}).unwrap();
    (sessions, session)
}

fn write(session: &OpenSession, name: &str, bytes: u64) {
    fs::write(session.directories().workspace.join(name), vec![1; usize::try_from(bytes).unwrap()]).unwrap();
}

fn watch(state: &Path, session: &Arc<OpenSession>) -> Arc<DiskWatch> {
    Arc::new(DiskWatch::begin(&config(), &DiskSpace::new(state, 0), session, ExecutionId::new()))
}

#[tokio::test]
async fn what_a_command_writes_before_it_is_first_looked_at_counts_against_it() {
    let dir = airlock_mounts::ScratchDir::new();
    let (_sessions, session) = session(dir.path());
    let watch = watch(dir.path(), &session);
    write(&session, "at-once", 4 * MIB);
    let cause = timeout(PATIENCE, watch.exceeded()).await.expect("the excess is detected");
    assert_eq!(cause, Cause::DiskLimit);
}

#[tokio::test]
async fn what_was_there_before_a_command_may_stay_and_no_more_may_come() {
    let dir = airlock_mounts::ScratchDir::new();
    let (_sessions, session) = session(dir.path());
    write(&session, "before", 4 * MIB);
    let watch = watch(dir.path(), &session);
    assert!(watch.count(watch.before).unwrap().is_some(), "the file can be made smaller");
    write(&session, "more", MIB);
    let cause = timeout(PATIENCE, watch.exceeded()).await.expect("the excess is detected");
    assert_eq!(cause, Cause::DiskLimit);
}
