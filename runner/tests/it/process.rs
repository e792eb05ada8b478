//! Tests of the runner as a separate process: killed, restarted, and stopped in an orderly way.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use airlock_domain::{Cause, FromRunner, JobPhase, OutputStream, SessionId, SessionPhase, Started, ToRunner};

use crate::{
    fake::{FakeServer, Manners},
    fixture::{Fixture, grant, offer, reason, uids, until},
};

/// The program under test. It is killed on drop.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(config: &Path) -> Self {
        let program = env!("CARGO_BIN_EXE_airlock-runner");
        let child = Command::new(program).arg("--config").arg(config).stdin(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn write_config(dir: &Path, server: &FakeServer) -> std::path::PathBuf {
    let path = dir.join("runner.toml");
    let text = format!(
        "runner_id = \"r1\"\nstate_dir = \"{}\"\n[[server]]\nendpoint = \"http://{}\"\n\
         insecure_loopback = true\n[uids]\nfirst = {}\ncount = {}\n\
         [limits]\ndisk_reserve_bytes = 0\nstart_timeout = \"120s\"\ndial_timeout = \"120s\"\n\
         [drain]\ngrace = \"100ms\"\nhandover = \"100ms\"\n[telemetry]\nlog = \"warn\"\n",
        dir.join("state").display(),
        server.address,
        uids().first,
        uids().count,
    );
    fs::write(&path, text).unwrap();
    path
}

/// Counts the processes with uids of this test.
pub(crate) fn strays() -> usize {
    let range = uids().first..uids().first + uids().count;
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("status")).ok())
        .filter(|status| !status.contains("State:\tZ"))
        .filter_map(|status| {
            let line = status.lines().find(|line| line.starts_with("Uid:"))?.to_owned();
            line.split_whitespace().nth(1)?.parse::<u32>().ok()
        })
        .filter(|uid| range.contains(uid))
        .count()
}

pub(crate) async fn fixture(server: FakeServer, dir: airlock_mounts::ScratchDir) -> Fixture {
    let config = crate::fixture::config(dir.path(), &server);
    Fixture::around(server, config, dir).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_runner_loses_its_commands_and_not_their_output() {
    let dir = airlock_mounts::ScratchDir::new();
    // When the server sends a heartbeat after this interval, it has read everything that the runner sent before.
    let manners = Manners { heartbeat_interval: Duration::from_secs(2), ..Manners::default() };
    let server = FakeServer::start(manners).await;
    let path = write_config(dir.path(), &server);
    let mut first = Process::start(&path);
    let mut it = fixture(server, dir).await;
    assert!(!it.link.hello.capabilities.iter().any(|c| c.name == "journal_intact" && c.enforced));
    let session = it.open("").await;
    let (done, _) = it.run(grant(session, "cd /workspace; echo line >> lines; echo done")).await;
    let journal = it.state("journal");
    let is_told = || fs::read(&journal).unwrap().windows(6).any(|part| part == b"\"told\"");
    until("the server has the report", is_told).await;
    let endless = "echo line >> lines; i=0; while :; do echo $((i++)); done";
    let running = it.offer(grant(session, endless)).await;
    let quiet = it.offer(grant(session, "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & sleep 1000")).await;
    it.job(running, JobPhase::Running).await;
    it.job(quiet, JobPhase::Running).await;
    until("the command has written much output", || it.spooled(running) > 20_000).await;
    assert!(strays() > 0);
    let killed_epoch = it.link.hello.epoch;
    first.0.kill().unwrap();
    first.0.wait().unwrap();

    let second = Process::start(&path);
    it.next_link().await;
    assert_ne!(it.link.hello.epoch, killed_epoch);
    assert!(it.link.hello.capabilities.iter().any(|c| c.name == "journal_intact" && c.enforced));
    assert!(matches!(it.session(session).await, SessionPhase::Open { .. }));
    assert_eq!(it.job(done, JobPhase::Ended).await.epoch, killed_epoch);
    let lost = it.job(running, JobPhase::Lost).await;
    it.job(quiet, JobPhase::Lost).await;
    it.reconciled().await;
    assert_eq!(strays(), 0, "its commands have ended");
    let result = lost.result.unwrap();
    assert_eq!((result.cause, result.started), (Cause::RunnerLost, Started::Yes));
    let text = it.text(running, OutputStream::Stdout).await;
    assert_eq!(text.len() as u64, result.stdout_bytes);
    assert!(text.starts_with("0\n1\n2\n") && text.len() > 10_000, "{} bytes", text.len());
    assert_eq!(it.text(done, OutputStream::Stdout).await, "done\n");
    // An accepted job is never accepted again.
    let mut repeated = offer(it.link.hello.epoch, grant(session, "echo line >> lines"));
    repeated.execution_id = running;
    repeated.attempt = 2;
    it.link.send(ToRunner::StartJob(Box::new(repeated))).await;
    assert_eq!(reason(&it.job(running, JobPhase::Refused).await), "already_accepted");
    assert_eq!(it.said(grant(session, "cat lines")).await, "line\nline\n");
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_runner_leaves_no_process_and_no_file_but_its_state() {
    let dir = airlock_mounts::ScratchDir::new();
    let server = FakeServer::start(Manners::default()).await;
    let path = write_config(dir.path(), &server);
    // As long as the server needs.
    let text = fs::read_to_string(&path).unwrap().replace("handover = \"100ms\"", "handover = \"120s\"");
    fs::write(&path, text).unwrap();
    let mut process = Process::start(&path);
    let mut it = fixture(server, dir).await;
    let session = it.open("").await;
    let running = it.offer(grant(session, "trap '' TERM; sleep 1000 & sleep 1000")).await;
    it.job(running, JobPhase::Running).await;
    let pid = rustix::process::Pid::from_child(&process.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    it.report(|message| matches!(message, FromRunner::Draining { .. }).then_some(())).await;
    it.job(running, JobPhase::Ended).await;
    it.link.send(ToRunner::ForgetJob { execution_id: running }).await;
    let mut status = None;
    until("the runner has ended", || {
        status = process.0.try_wait().unwrap();
        status.is_some()
    })
    .await;
    assert!(status.unwrap().success());
    assert_eq!(strays(), 0);
    assert_eq!(fs::read_dir(it.state("launcher")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(it.state("trash")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_comes_before_its_configuration_was_read_stops_it() {
    use std::os::unix::fs::OpenOptionsExt as _;

    let dir = airlock_mounts::ScratchDir::new();
    let pipe = dir.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut process = Process::start(&pipe);
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut unwritten = None;
    until("it reads its configuration", || {
        // The pipe cannot be opened for writing until it has a reader.
        unwritten = fs::OpenOptions::new().write(true).custom_flags(nonblock).open(&pipe).ok();
        unwritten.is_some()
    })
    .await;
    let pid = rustix::process::Pid::from_child(&process.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut status = None;
    until("it has ended", || {
        status = process.0.try_wait().unwrap();
        status.is_some()
    })
    .await;
    assert_eq!(status.unwrap().code(), Some(0), "it ends normally, not by the signal");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_while_a_session_is_made_or_closed_leaves_it_whole_or_gone() {
    let dir = airlock_mounts::ScratchDir::new();
    let base = dir.path().join("base");
    for directory in 0..6 {
        let directory = base.join(directory.to_string());
        fs::create_dir_all(&directory).unwrap();
        (0..50).for_each(|file| fs::write(directory.join(file.to_string()), "x").unwrap());
    }
    let server = FakeServer::start(Manners::default()).await;
    let path = write_config(dir.path(), &server);
    let text = format!("{}[bases]\nmany = \"{}\"\n", fs::read_to_string(&path).unwrap(), base.display());
    fs::write(&path, text).unwrap();
    let mut process = Process::start(&path);
    let mut it = fixture(server, dir).await;
    let (mut whole, mut gone) = (0, 0);
    // Immediately, during the creation, and after it.
    for delay in [Some(0), Some(30), None] {
        for close in [false, true] {
            let session_id = SessionId::new();
            let open = ToRunner::OpenSession { session_id, base: "many".to_owned(), profile: None };
            it.link.send(open.clone()).await;
            if close {
                assert!(matches!(it.session(session_id).await, SessionPhase::Open { .. }));
                it.link.send(ToRunner::CloseSession { session_id }).await;
            }
            match delay {
                Some(delay) => tokio::time::sleep(Duration::from_millis(delay)).await,
                None if close => assert_eq!(it.session(session_id).await, SessionPhase::Closed),
                None => assert!(matches!(it.session(session_id).await, SessionPhase::Open { .. })),
            }
            process.0.kill().unwrap();
            process.0.wait().unwrap();
            process = Process::start(&path);
            it.next_link().await;
            it.reconciled().await;
            let sessions = fs::read_dir(it.state("sessions")).unwrap().count();
            assert_eq!(fs::read_dir(it.state("trash")).unwrap().count(), 0);
            *(if sessions == 0 { &mut gone } else { &mut whole }) += 1;
            // When it is opened again, the session is complete, even after an interrupted creation.
            it.link.send(open).await;
            while !matches!(it.session(session_id).await, SessionPhase::Open { .. }) {}
            assert_eq!(it.said(grant(session_id, "find . -type f | wc -l")).await, "300\n");
            it.link.send(ToRunner::CloseSession { session_id }).await;
            while it.session(session_id).await != SessionPhase::Closed {}
            assert_eq!(fs::read_dir(it.state("sessions")).unwrap().count(), 0);
        }
    }
    assert!(whole > 0 && gone > 0, "{whole} whole, {gone} missing: no run was interrupted in between");
}

#[test]
fn the_program_says_what_is_wrong_with_its_configuration() {
    let dir = airlock_mounts::ScratchDir::new();
    let path = dir.path().join("runner.toml");
    fs::write(&path, "runner_id = \"r\"\nstate_dir = \"/x\"\nslots = 0\n[[server]]\nendpoint = \"http://127.0.0.1:1\"\ninsecure_loopback = true\n").unwrap();
    let check = || {
        let program = env!("CARGO_BIN_EXE_airlock-runner");
        Command::new(program).args(["check-config", "--config"]).arg(&path).output().unwrap()
    };
    let bad = check();
    assert!(!bad.status.success());
    let said = String::from_utf8(bad.stderr).unwrap();
    assert!(
        said.contains(
            "runner.toml:3:9: `slots`: it is the whole number 0; write a whole number from 1 to 128"
        ),
        "{said}"
    );
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("slots = 0", "slots = 1")).unwrap();
    assert!(check().status.success());
    let with_environment = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airlock-runner"));
        command.args(["check-config", "--effective", "--config"]).arg(&path).args(flags);
        command.env("AIRLOCK_RUNNER__FLOOR__MAX_TIMEOUT", "2h").output().unwrap()
    };
    let refused = with_environment(&[]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("--env-may-widen floor.max_timeout"), "{said}");
    let permitted = with_environment(&["--env-may-widen", "floor.max_timeout"]);
    let said = String::from_utf8(permitted.stdout).unwrap();
    let line = "floor.max_timeout = \"2h\"  # AIRLOCK_RUNNER__FLOOR__MAX_TIMEOUT";
    assert!(permitted.status.success() && said.contains(line), "{said}");
    let text = fs::read_to_string(&path).unwrap() + "[bases]\ngone = \"/no/such/base\"\n";
    fs::write(&path, text).unwrap();
    let bad = check();
    assert_eq!(bad.status.code(), Some(2));
    let said = String::from_utf8(bad.stderr).unwrap();
    assert!(said.contains("`bases.gone`: `/no/such/base` cannot be read"), "{said}");
}
