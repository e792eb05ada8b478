//! Tests of a runner on a host below the floor. It is never ready, and accepts no session and no job.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use airlock_domain::{SessionId, SessionPhase, ToRunner};
use airlock_runner::{RunnerConfig, config::CgroupMode, ready};

use crate::{
    fake::Manners,
    fixture::{Fixture, PATIENCE, grant},
};

/// Replaces bubblewrap by a script that omits a namespace.
fn careless(config: &mut RunnerConfig) {
    let path = config.state_dir.parent().unwrap_or(Path::new("/")).join("bwrap");
    let script = "#!/bin/bash\ncase $1 in --help|--version) exec /usr/bin/bwrap $1;; esac\n\
        fd=$6; mapfile -d '' -t args <&$fd; exec {fd}<&-\n\
        for i in \"${!args[@]}\"; do [[ ${args[i]} == --unshare-ipc ]] && unset \"args[i]\"; done\n\
        exec /usr/bin/bwrap $1 $2 $3 $4 \"${args[@]}\" \"${@:7}\"\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    config.bwrap = path;
}

/// Checks the answer to a readiness probe, the report to a server, and the refusal of work.
async fn takes_nothing(change: impl FnOnce(&mut RunnerConfig), layer: &str) {
    let mut it = Fixture::with(Manners::default(), change).await;
    let floor = it.link.hello.capabilities.iter().find(|found| found.name == "floor").cloned().unwrap();
    assert!(!floor.enforced && floor.detail.contains(layer), "{floor:?}");
    it.reconciled().await;
    let said = ready::ask(&it.config.state_dir, PATIENCE).await.unwrap_err().to_string();
    assert!(said.contains("below the floor") && said.contains(layer), "{said}");

    let session_id = SessionId::new();
    it.link.send(ToRunner::OpenSession { session_id, base: String::new(), profile: None }).await;
    let SessionPhase::Failed { reason, message } = it.session(session_id).await else {
        panic!("the session was opened")
    };
    assert!(reason == "floor" && message.contains(layer), "{reason}: {message}");
    assert_eq!(it.refusal(grant(session_id, "true")).await, "floor");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_without_a_required_layer_accepts_no_command() {
    takes_nothing(careless, "namespaces").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_layer_that_its_configuration_asks_for_a_runner_takes_nothing() {
    // Without cgroups none of their limits is enforced.
    let change = |config: &mut RunnerConfig| {
        config.cgroup.mode = CgroupMode::Off;
        config.floor.require = vec!["memory".to_owned()];
    };
    takes_nothing(change, "memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_host_that_holds_the_floor_it_takes_work() {
    let mut it = Fixture::with(Manners::default(), |config| {
        config.floor.require = vec!["uid_isolation".to_owned(), "seccomp".to_owned()];
    })
    .await;
    it.reconciled().await;
    ready::ask(&it.config.state_dir, PATIENCE).await.unwrap();
    it.open("").await;
    it.shut_down().await;
}
