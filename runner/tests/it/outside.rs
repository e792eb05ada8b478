//! Tests of the runner's permission to run commands outside the sandbox. They run as a session's user, and a runner
//! without separate users does not permit it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use airlock_domain::{Cause, Grant, JobPhase, SessionId};

use crate::{
    fake::{FakeServer, Manners},
    fixture::{Fixture, grant},
    process::{Process, fixture, write_config},
};

fn outside(session: SessionId, command: &str) -> Grant {
    Grant { unsandboxed: true, ..grant(session, command) }
}

/// Returns the detail of the capability, and whether it is enforced.
fn key(it: &Fixture) -> (String, bool) {
    let found = it.link.hello.capabilities.iter().find(|found| found.name == "unsandboxed").unwrap();
    (found.detail.clone(), found.enforced)
}

/// Copies the program to a path where every user can execute it.
fn program(directory: &Path) -> PathBuf {
    let copy = directory.join("airlock-runner");
    fs::copy(env!("CARGO_BIN_EXE_airlock-runner"), &copy).unwrap();
    for path in [directory, &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}

/// Creates a configuration that permits commands outside, in a directory that belongs to the unprivileged user.
fn permitted(directory: &Path, server: &FakeServer, uid: u32) -> PathBuf {
    let path = write_config(directory, server);
    let text = format!("{}[floor]\nunsandboxed = true\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, text).unwrap();
    fs::create_dir(directory.join("state")).unwrap();
    chown(directory.join("state"), Some(uid), Some(uid)).unwrap();
    path
}

fn as_user(uid: u32, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &uid.to_string(), "--regid", &uid.to_string(), "--clear-groups", "--"]);
    command.arg(program).stdin(Stdio::null());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_of_an_ordinary_user_runs_nothing_outside_whatever_its_configuration_says() {
    let uid = 2_100_000_000 + std::process::id();
    let directory = airlock_mounts::ScratchDir::new();
    let program = program(directory.path());
    let server = FakeServer::start(Manners::default()).await;
    let config = permitted(directory.path(), &server, uid);
    let found = as_user(uid, &program).arg("doctor").arg("--config").arg(&config).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(
        found.contains("degraded floor.unsandboxed") && found.contains("the runner's own user"),
        "{found}"
    );

    let child = as_user(uid, &program).arg("--config").arg(&config).spawn().unwrap();
    let process = Process(child);
    let mut it = fixture(server, directory).await;
    let (detail, turned) = key(&it);
    assert!(!turned && detail.contains("the runner's own user"), "{detail}");
    let session = it.open("").await;
    let id = it.offer(outside(session, "touch ran; id -u")).await;
    let Cause::Refused { reason, message, .. } = it.job(id, JobPhase::Refused).await.result.unwrap().cause
    else {
        unreachable!()
    };
    assert_eq!(reason, "floor");
    assert!(message.contains("the runner's own user"), "{message}");
    assert_eq!(it.said(grant(session, "id -u; ls")).await, "1000\n", "control: inside the sandbox, it runs");
    drop(process);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_has_users_to_give_turns_its_key_as_its_configuration_says() {
    for permits in [false, true] {
        let mut it = Fixture::with(Manners::default(), |config| config.floor.unsandboxed = permits).await;
        assert_eq!(key(&it).1, permits);
        let session = it.open("").await;
        if permits {
            let uids = it.config.uids;
            let said = it.said(outside(session, "id -u")).await;
            let uid: u32 = said.trim().parse().unwrap();
            assert!((uids.first..uids.first + uids.count).contains(&uid), "{uid}");
            let reads = Grant { read_only: true, ..outside(session, "true") };
            assert_eq!(it.refusal(reads).await, "read_only_mount");
        } else {
            assert_eq!(it.refusal(outside(session, "id -u")).await, "floor");
        }
        it.shut_down().await;
    }
}
