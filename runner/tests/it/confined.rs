//! Tests of the paths that a session's commands may read and write, of their disk limits, and of the runner's permission to
//! run commands outside the sandbox.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use airlock_domain::{Cause, Grant, JobPhase, SessionId};

use crate::{
    fake::{FakeServer, Manners},
    fixture::{Fixture, GROWS, grant},
    process::{Process, fixture, write_config},
};

const SMALL: u64 = 8 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn path_rules_of_a_profile_hold() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, "mkdir -p a/b out; echo secret > a/b/.env; ln -s .env a/b/link")).await;
    let mut ruled = grant(session, "cat a/b/.env || cat a/b/link || echo x > a/new || echo x > out/new");
    ruled.profile.paths.deny_read = vec![".env".to_owned()];
    ruled.profile.paths.allow_write = Some(vec!["out".to_owned()]);
    let (_, result) = it.run(ruled.clone()).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    let (_, result) = it.run(grant(session, "[ -e out/new ] && ! [ -e a/new ] && cat a/b/.env")).await;
    assert_eq!((result.cause, result.stdout_bytes), (Cause::Exited { code: 0 }, 7), "the control");

    it.run(grant(session, "ln -s round circle; ln -s circle round")).await;
    ruled.profile.paths.deny_read = vec!["round".to_owned()];
    let (_, result) = it.run(ruled).await;
    let Cause::SandboxFailed { step, message, hint } = result.cause else { panic!("{result:?}") };
    assert_eq!(step, "path_rules");
    assert_eq!(message, "path rules: resolving `/workspace/round` follows more than 40 links");
    assert!(!hint.is_empty());
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_were_found_for_a_command_before_cover_what_came_since() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let ruled = |command: &str| {
        let mut ruled = grant(session, command);
        ruled.profile.paths.deny_read =
            vec![".env".to_owned(), "~/**/.env".to_owned(), "//tmp/**/.env".to_owned()];
        ruled
    };
    for round in 0..3 {
        for directory in ["/workspace", "/home/agent", "/tmp"] {
            // The next command starts with the result of the scan after this one.
            it.run(ruled("true")).await;
            let made = format!("mkdir {directory}/{round} && echo secret > {directory}/{round}/.env");
            assert_eq!(it.run(ruled(&made)).await.1.cause, Cause::Exited { code: 0 });
            let read = format!("cat {directory}/{round}/.env");
            assert_eq!(it.run(ruled(&read)).await.1.cause, Cause::Exited { code: 1 }, "{read}");
            assert_eq!(it.said(grant(session, &read)).await, "secret\n", "the control");
        }
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_exceeds_the_disk_limit_is_ended() {
    for command in [
        "head -c 64M /dev/zero > file",
        "for i in {1..9}; do head -c 1M /dev/zero > ~/$i; head -c 1M /dev/zero > /tmp/$i; done",
        "for i in {1..300}; do : > $i; done",
        "mkdir d; head -c 64M /dev/zero > d/file; chmod 0 d",
    ] {
        let mut it = limited(Some(200)).await;
        let session = it.open("").await;
        let (_, result) = it.run(grant(session, &format!("{command}; {GROWS}"))).await;
        assert_eq!(result.cause, Cause::DiskLimit, "{command}");
        // A later command can delete files and continue.
        let again = "chmod -R 700 .; rm -rf ./* ~/* /tmp/*; sleep 1; echo x > file";
        let (_, result) = it.run(grant(session, again)).await;
        assert_eq!(result.cause, Cause::Exited { code: 0 }, "{command}");
        it.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_within_the_disk_limit_continues() {
    let within = "head -c 4M /dev/zero > file; for i in {1..100}; do : > $i; done; sleep 1";
    let mut it = limited(Some(200)).await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, within)).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    it.shut_down().await;
    // Without a limit the command is not ended.
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, "head -c 64M /dev/zero > file; sleep 1")).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    it.shut_down().await;
}

async fn limited(inodes: Option<u64>) -> Fixture {
    Fixture::with(Manners::default(), |config| {
        config.workspace.bytes = Some(SMALL);
        config.workspace.inodes = inodes;
        config.workspace.watch_every = Duration::from_millis(50);
    })
    .await
}

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
