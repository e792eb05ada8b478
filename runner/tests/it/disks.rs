//! Tests of sessions with disk limits that the kernel enforces, and of a full disk. Each test has private mounts.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, path::Path, time::Duration};

use airlock_domain::{Cause, ExecutionResult, JobPhase, SessionId, SessionPhase, ToRunner};
use airlock_mounts::{PrivateMounts, ScratchDir};
use airlock_runner::{Runner, config::WorkspaceBackend};

use crate::{
    fake::{FakeServer, Manners},
    fixture::{self, Fixture, GROWS, grant},
    leaks::mounts,
};

const MIB: u64 = 1 << 20;

/// Runs a test in a mount namespace that only the threads of its runtime share.
fn apart(test: impl AsyncFnOnce(&PrivateMounts)) {
    let private = PrivateMounts::enter();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(test(&private));
}

async fn with(backend: WorkspaceBackend, bytes: u64, inodes: u64) -> Fixture {
    Fixture::with(Manners::default(), |config| {
        config.workspace.backend = backend;
        config.workspace.bytes = Some(bytes);
        config.workspace.inodes = Some(inodes);
        config.workspace.watch_every = Duration::from_millis(50);
    })
    .await
}

fn of_disk(result: &ExecutionResult) -> Vec<(&str, &str)> {
    let disk = result.violations.iter().filter(|violation| violation.layer == "disk");
    disk.map(|violation| (violation.kind.as_str(), violation.detail.as_str())).collect()
}

/// Returns the files of loop devices below `state`.
fn images(state: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let backing = devices.filter_map(|one| fs::read_to_string(one.path().join("loop/backing_file")).ok());
    backing.filter(|file| file.contains(&*state.to_string_lossy())).collect()
}

/// Checks that a command continues when the kernel refuses its writes, that its result reports the full disk, and that
/// another session is not affected.
async fn full_and_on(it: &mut Fixture) -> (SessionId, SessionId) {
    let (own, other) = (it.open("").await, it.open("").await);
    for command in
        ["head -c 64M /dev/zero > big", "head -c 64M /dev/zero > ~/big", "head -c 64M /dev/zero > /tmp/big"]
    {
        let (_, result) = it.run(grant(own, &format!("{command} 2> /dev/null || exit 7"))).await;
        assert_eq!(result.cause, Cause::Exited { code: 7 }, "{command}");
        let told = of_disk(&result);
        assert!(matches!(&*told, [("full", detail)] if detail.contains("bytes are used")), "{told:?}");
        let (_, result) = it.run(grant(other, "head -c 1M /dev/zero > file; rm file")).await;
        assert_eq!((result.cause.clone(), of_disk(&result).len()), (Cause::Exited { code: 0 }, 0));
        let (_, result) = it.run(grant(own, "rm -f big ~/big /tmp/big; echo room > room")).await;
        assert_eq!(
            (result.cause.clone(), of_disk(&result).len()),
            (Cause::Exited { code: 0 }, 0),
            "{command}"
        );
    }
    let (_, result) = it.run(grant(own, "for i in {1..3000}; do : > $i || exit 7; done")).await;
    assert_eq!(result.cause, Cause::Exited { code: 7 });
    let told = of_disk(&result);
    assert!(
        matches!(&*told, [("full", detail)] if detail.contains("files and directories is reached")),
        "{told:?}"
    );
    (own, other)
}

#[test]
fn the_image_of_a_closed_session_is_removed_while_others_run() {
    apart(async |_| {
        let mut it = with(WorkspaceBackend::Loop, 16 * MIB, 1000).await;
        let (own, other) = full_and_on(&mut it).await;
        let state = it.state("");
        assert_eq!(images(&state).len(), 2);
        // This command keeps running, and its mount namespace contains all mounts.
        let id = it.offer(grant(other, "echo on; sleep 1000")).await;
        it.job(id, JobPhase::Running).await;
        it.close(own).await;
        let left = images(&state);
        assert_eq!(left.len(), 1, "{left:?}");
        it.close(other).await;
        let sessions = it.state("sessions");
        assert_eq!(fs::read_dir(&sessions).unwrap().count(), 0);
        it.shut_down().await;
        assert_eq!(images(&state), Vec::<String>::new());
        let mounts = mounts();
        assert!(!mounts.contains(sessions.to_str().unwrap()), "{mounts}");
    });
}

#[test]
fn memory_holds_its_session() {
    apart(async |_| {
        let mut it = with(WorkspaceBackend::Tmpfs, 16 * MIB, 1000).await;
        let (own, other) = full_and_on(&mut it).await;
        it.close(own).await;
        it.close(other).await;
        it.shut_down().await;
        let mounts = mounts();
        assert!(!mounts.contains(it.state("sessions").to_str().unwrap()), "{mounts}");
    });
}

#[test]
fn a_counted_disk_limit_names_the_exceeded_limit() {
    apart(async |_| {
        let mut it = with(WorkspaceBackend::Watch, 8 * MIB, 1000).await;
        let session = it.open("").await;
        let (_, result) = it.run(grant(session, &format!("head -c 64M /dev/zero > big; {GROWS}"))).await;
        assert_eq!(result.cause, Cause::DiskLimit);
        let told = of_disk(&result);
        assert!(
            matches!(&*told, [("limit", detail)] if detail.contains("`workspace.bytes` of 8388608")),
            "{told:?}"
        );
        it.shut_down().await;
    });
}

#[test]
fn a_backend_that_is_named_and_does_not_work_keeps_the_runner_down() {
    apart(async |private| {
        let dir = ScratchDir::new();
        // A file system in memory supports no project quotas on any host.
        let _mounted = private.tmpfs(dir.path(), "mode=0755");
        let server = FakeServer::start(Manners::default()).await;
        let mut config = fixture::config(dir.path(), &server);
        config.workspace.backend = WorkspaceBackend::Quota;
        config.workspace.bytes = Some(MIB);
        let said = Runner::start(config).await.unwrap_err().to_string();
        assert!(said.contains("`workspace.backend` `quota` does not work here: "), "{said}");
        assert!(said.contains("; put `state_dir` on ext4 or xfs"), "{said}");
    });
}

#[test]
fn without_room_nothing_begins_and_who_takes_the_most_of_it_is_ended() {
    apart(async |private| {
        let dir = ScratchDir::new();
        let mounted = private.tmpfs(dir.path(), "size=128m");
        let server = FakeServer::start(Manners::default()).await;
        let mut config = fixture::config(dir.path(), &server);
        config.limits.disk_reserve_bytes = 48 * MIB;
        config.workspace.watch_every = Duration::from_millis(50);
        let runner = Runner::start(config.clone()).await.unwrap();
        let mut it = Fixture::around(server, config, dir).await;
        // Dropped before the directory, which the fixture owns now.
        let _mounted = mounted;
        it.runner = Some(runner);
        let (own, other) = (it.open("").await, it.open("").await);
        let idle = it.offer(grant(other, "until [ -e end ]; do echo on >> log; sleep 0.1; done")).await;
        it.job(idle, JobPhase::Running).await;
        let slowly = "for i in {1..110}; do head -c 1M /dev/zero >> big; sleep 0.05; done; sleep 1000";
        let (_, result) = it.run(grant(own, slowly)).await;
        assert_eq!(result.cause, Cause::DiskLimit);
        let told = of_disk(&result);
        assert!(matches!(&*told, [("reserve", detail)] if detail.contains("grew most")), "{told:?}");
        // Ending a command does not free the space; its files remain until they are removed.
        assert_eq!(it.refusal(grant(own, "true")).await, "disk");
        let session_id = SessionId::new();
        it.link.send(ToRunner::OpenSession { session_id, base: String::new(), profile: None }).await;
        let SessionPhase::Failed { reason, message } = it.session(session_id).await else {
            panic!("the session is open")
        };
        assert_eq!(reason, "disk");
        assert!(message.contains("limits.disk_reserve_bytes"), "{message}");
        it.close(own).await;
        let (_, result) = it.run(grant(other, ": > end")).await;
        assert_eq!(result.cause, Cause::Exited { code: 0 });
        assert_eq!(it.job(idle, JobPhase::Ended).await.result.unwrap().cause, Cause::Exited { code: 0 });
        it.shut_down().await;
    });
}
