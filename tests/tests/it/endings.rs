//! A session that is closed, idle for too long, or on a draining runner leaves no resources. Its executions get correct
//! results. A server that stops ends no execution.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use airlock_client::{Client, ClientError, v1};
use airlock_tests::{
    footprint::Footprint,
    process::{Process, until},
    reader::{close, ended as end, exit_code, replay, run, spec_in, written},
    site::{PATIENCE, Site},
    tools::program,
};
use nix::sys::signal::Signal;
use v1::{CancelledBy, ExecutionState, SessionState, Started};

/// A command that listens, starts a process in another process group and an orphaned grandchild, and keeps
/// running.
const SERVER: &str = "setsid sleep 1000 & (sleep 1000 & sleep 1000) & \
    python3 -u -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & echo begun; tail -f /dev/null";

struct Fixture {
    client: Client,
    server: Option<Process>,
    runner: Process,
    site: Site,
}

impl Fixture {
    async fn new(server_tables: &str, runner_tables: &str) -> Self {
        let site = Site::with_tables(server_tables, runner_tables);
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        // Resources that are created once for the first session do not count.
        let first = session(&client, None).await;
        run(&client, spec_in(&first, "true")).await.unwrap();
        client.close_session(&first).await.unwrap();
        Self { client, server: Some(server), runner, site }
    }

    /// Returns the workspace on the host that contains this file.
    fn workspace_with(&self, file: &str) -> std::path::PathBuf {
        let sessions = std::fs::read_dir(self.site.path().join("runner-1/sessions")).unwrap();
        let mut workspaces = sessions.map(|session| session.unwrap().path().join("disk/workspace"));
        workspaces.find(|workspace| workspace.join(file).exists()).unwrap_or_else(|| panic!("no {file}"))
    }

    /// Waits until the resources are the same as before.
    fn until_as(&self, before: &Footprint) {
        let mut now = Footprint::of(&self.site, &self.runner);
        let deadline = std::time::Instant::now() + PATIENCE;
        while now != *before && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(50));
            now = Footprint::of(&self.site, &self.runner);
        }
        assert_eq!(now, *before, "an object remains");
    }

    /// Returns the resources once they have not changed for a while.
    fn settled(&self) -> Footprint {
        let (mut last, mut same) = (Footprint::of(&self.site, &self.runner), 0);
        while same < 5 {
            std::thread::sleep(std::time::Duration::from_millis(200));
            let now = Footprint::of(&self.site, &self.runner);
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        last
    }
}

async fn session(client: &Client, idle_seconds: Option<i64>) -> String {
    let idle_timeout = idle_seconds.map(|seconds| prost_types::Duration { seconds, nanos: 0 });
    let profile = "demo".to_owned();
    let wanted = v1::SessionServiceCreateRequest { profile, idle_timeout, ..Default::default() };
    client.create_session(wanted).await.unwrap().session_id
}

/// Starts four executions in one session: one in the background, one in the foreground, one that waits for its
/// turn, and one that waits for an approval.
async fn busy(client: &Client, session: &str) -> [String; 4] {
    let start = async |spec: v1::ExecutionSpec| client.start(spec).await.unwrap().execution_id;
    let behind = start(v1::ExecutionSpec { background: true, ..spec_in(session, SERVER) }).await;
    written(client, &behind, "begun").await;
    let front = start(spec_in(session, "touch front; echo front; tail -f /dev/null")).await;
    written(client, &front, "front").await;
    let queued = start(spec_in(session, "touch never")).await;
    let on_ask = v1::OnAsk::Wait.into();
    let asks = start(v1::ExecutionSpec { on_ask, ..spec_in(session, "make something") }).await;
    assert_eq!(client.execution(&asks).await.unwrap().state(), ExecutionState::PendingApproval);
    [behind, front, queued, asks]
}

/// Returns the origin of the cancellation, and whether the execution had started.
async fn cancelled(client: &Client, id: &str) -> (CancelledBy, Started) {
    let end = end(client, id).await;
    let result = end.result.unwrap();
    let started = result.started();
    match result.cause.unwrap().detail {
        Some(v1::cause::Detail::Cancelled(by)) => (by.by(), started),
        other => panic!("{other:?}"),
    }
}

async fn state(client: &Client, session: &str) -> SessionState {
    client.session(session).await.unwrap().state()
}

async fn update(client: &Client, session: &str, idle_seconds: i64) -> Result<v1::Session, ClientError> {
    let idle_timeout = Some(prost_types::Duration { seconds: idle_seconds, nanos: 0 });
    let session_id = session.to_owned();
    client
        .update_session(v1::SessionServiceUpdateRequest { session_id, idle_timeout, ..Default::default() })
        .await
}

/// Returns a session with an idle timeout that is raised from two seconds to an hour. If the host was too slow and
/// the session expired, another one is created.
async fn kept(client: &Client) -> String {
    loop {
        let kept = session(client, Some(2)).await;
        match update(client, &kept, 3600).await {
            Ok(_) => return kept,
            Err(error) => {
                let state = client.session(&kept).await.unwrap().state();
                assert!(state != SessionState::Open, "{error}");
            }
        }
    }
}

async fn until_closed(client: &Client, id: &str) -> v1::Session {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let session = client.session(id).await.unwrap();
        if session.state() == SessionState::Closed {
            return session;
        }
        assert!(tokio::time::Instant::now() < deadline, "{session:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_leaves_nothing_of_what_went_on_in_it() {
    let fixture = Fixture::new("", "").await;
    let before = fixture.settled();
    let session = session(&fixture.client, None).await;
    let [behind, front, queued, asks] = busy(&fixture.client, &session).await;
    until("control: six more processes and some more files", PATIENCE, || {
        let during = Footprint::of(&fixture.site, &fixture.runner);
        during.processes.len() >= before.processes.len() + 6 && during.files.len() > before.files.len()
    });
    close(&fixture.client, &session).await;
    for (id, began) in
        [(&behind, Started::Yes), (&front, Started::Yes), (&queued, Started::No), (&asks, Started::No)]
    {
        assert_eq!(cancelled(&fixture.client, id).await, (CancelledBy::Session, began), "{id}");
    }
    fixture.until_as(&before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_is_closed_a_busy_one_is_not_and_an_update_keeps_it() {
    let fixture = Fixture::new("", "").await;
    let before = fixture.settled();
    let client = &fixture.client;
    let kept = kept(client).await;
    // A background command keeps the session open far beyond its idle timeout.
    let busy = session(client, None).await;
    let spec = spec_in(&busy, "echo begun; until [ -e /workspace/go ]; do sleep 0.1; done");
    let behind = client.start(v1::ExecutionSpec { background: true, ..spec }).await.unwrap().execution_id;
    written(client, &behind, "begun").await;
    update(client, &busy, 1).await.unwrap();
    let idle = session(client, Some(3)).await;
    let closed = until_closed(client, &idle).await;
    assert!(closed.state_message.contains("idle"), "{closed:?}");
    assert_eq!(
        (state(client, &busy).await, state(client, &kept).await),
        (SessionState::Open, SessionState::Open)
    );
    assert_eq!(client.execution(&behind).await.unwrap().state(), ExecutionState::Running);
    run(client, spec_in(&busy, "touch go")).await.unwrap();
    assert_eq!(exit_code(&end(client, &behind).await), Some(0), "nothing interrupted it");
    assert!(until_closed(client, &busy).await.state_message.contains("idle"));
    assert_eq!(state(client, &kept).await, SessionState::Open, "its timeout is an hour");
    assert_eq!(run(client, spec_in(&kept, "echo on")).await.unwrap().stdout, b"on\n");
    client.close_session(&kept).await.unwrap();
    fixture.until_as(&before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_drains_says_what_it_cut_and_leaves_sessions_alone() {
    // The timeouts are long enough for a busy host to place and to end all executions that it can.
    let tables = "[drain]\ngrace = \"15s\"\nhandover = \"60s\"\n";
    let mut fixture = Fixture::new("[limits]\nqueue_wait = \"10s\"\n", tables).await;
    let client = fixture.client.clone();
    let session = session(&client, None).await;
    run(&client, spec_in(&session, "echo kept > file")).await.unwrap();
    let before = Footprint::of(&fixture.site, &fixture.runner).files;
    let [behind, front, queued, asks] = busy(&client, &session).await;
    let in_time = v1::ExecutionSpec {
        background: true,
        allow_concurrent: true,
        ..spec_in(&session, "echo begun; until [ -e drains ]; do sleep 0.05; done; echo whole")
    };
    let in_time = client.start(in_time).await.unwrap().execution_id;
    written(&client, &in_time, "begun").await;
    fixture.runner.signal(Signal::SIGTERM);
    // A client that retries only briefly.
    let mut settings = fixture.site.settings();
    settings.patience.call = std::time::Duration::from_millis(500);
    let hasty = Client::connect(settings).await.unwrap();
    let refused = loop {
        let beside = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "true") };
        match hasty.start(beside).await {
            // The request arrived before the server knew.
            Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            Err(error) if error.rejection().is_none() => eprintln!("no answer: {error}"),
            Err(error) => break error,
        }
    };
    let reason = refused.rejection().map(|rejection| rejection.reason.clone());
    assert_eq!(reason.as_deref(), Some("RUNNER_DRAINING"), "{refused}");
    std::fs::write(fixture.workspace_with("file").join("drains"), "").unwrap();
    assert_eq!(exit_code(&end(&client, &in_time).await), Some(0), "every command that can end has ended");
    for id in [&behind, &front] {
        assert_eq!(cancelled(&client, id).await, (CancelledBy::Drain, Started::Yes), "{id}");
    }
    let status = fixture.runner.wait(PATIENCE).unwrap_or_else(|| panic!("it does not end"));
    assert!(status.success());
    let held = Footprint::without_runner(&fixture.site);
    let nothing = Footprint { files: held.files.clone(), ..Footprint::default() };
    assert_eq!(held, nothing, "no process, mount, loop device, socket or cgroup");
    let waits = end(&client, &queued).await.result.unwrap();
    assert_eq!(
        (waits.cause.clone().unwrap().code(), waits.started()),
        (v1::CauseCode::QueueExpired, Started::No)
    );
    assert_eq!(
        client.execution(&asks).await.unwrap().state(),
        ExecutionState::PendingApproval,
        "it may wait"
    );
    client.cancel(&asks).await.unwrap();
    assert_eq!(cancelled(&client, &asks).await, (CancelledBy::Client, Started::No));

    // The session is unchanged when its runner is back.
    fixture.runner = fixture.site.runner(&[]);
    fixture.site.ready().await;
    assert_eq!(run(&client, spec_in(&session, "cat file; pwd")).await.unwrap().stdout, b"kept\n/workspace\n");
    assert!(before.iter().all(|path| !path.to_string_lossy().contains("sessions") || path.exists()));
    client.close_session(&session).await.unwrap();
    let sessions = fixture.site.path().join("runner-1/sessions");
    until("its directory was removed", PATIENCE, || std::fs::read_dir(&sessions).unwrap().next().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_hands_over_all_of_it_to_its_next_life() {
    let mut fixture = Fixture::new("", "").await;
    let client = fixture.client.clone();
    let session = session(&client, None).await;
    let [behind, front, queued, asks] = busy(&client, &session).await;
    let view = {
        let client = client.clone();
        let behind = behind.clone();
        // The view continues across the restart without repeating or losing a byte.
        tokio::spawn(async move { replay(&client, &behind).await })
    };
    let stopped = fixture.server.take().unwrap().terminate(PATIENCE);
    assert!(stopped.success());
    fixture.server = Some(fixture.site.server(&[]));
    let client = fixture.site.ready().await;
    let state = async |id: &str| client.execution(id).await.unwrap().state();
    for (id, wanted) in [
        (&behind, ExecutionState::Running),
        (&front, ExecutionState::Running),
        (&queued, ExecutionState::Queued),
        (&asks, ExecutionState::PendingApproval),
    ] {
        assert_eq!(state(id).await, wanted, "{id}");
    }
    client.cancel(&front).await.unwrap();
    assert_eq!(cancelled(&client, &front).await, (CancelledBy::Client, Started::Yes));
    assert_eq!(exit_code(&end(&client, &queued).await), Some(0), "its turn has come");
    client.cancel(&behind).await.unwrap();
    let story = view.await.unwrap().unwrap();
    assert_eq!((story.stdout.as_slice(), story.missing), (&b"begun\n"[..], 0));
    assert!(story.end.is_some());
    client.close_session(&session).await.unwrap();
    assert_eq!(cancelled(&client, &asks).await, (CancelledBy::Session, Started::No));
}

/// The sequence of a pod's or unit's stop hook before SIGTERM.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_to_go_down_begins_nothing_new_and_waits_for_what_runs() {
    let fixture = Fixture::new("", "").await;
    let client = fixture.client.clone();
    let session = session(&client, None).await;
    let runs = client.start(spec_in(&session, "echo begun; tail -f /dev/null")).await.unwrap().execution_id;
    written(&client, &runs, "begun").await;

    let drain = |wait: &str| {
        let mut command = std::process::Command::new(program("airlock-runner"));
        command.args(["drain", "--wait", wait, "--config"]).arg(fixture.site.path().join("runner-1.toml"));
        command
    };
    // The shortest time in which this host responds.
    let early = ["100ms", "3s", "30s"].iter().find_map(|wait| {
        let early = drain(wait).output().unwrap();
        assert_eq!(early.status.code(), Some(1), "{early:?}");
        String::from_utf8_lossy(&early.stderr).contains("commands are still running (1)").then_some(())
    });
    early.expect("it lists the running commands");
    until_draining(&client).await;
    let mut hook = Process::start(&mut drain("10m"), &fixture.site.log("drain"));
    assert_eq!(client.execution(&runs).await.unwrap().state(), ExecutionState::Running);
    assert_eq!(hook.wait(std::time::Duration::ZERO), None, "it waits");
    client.cancel(&runs).await.unwrap();
    let ended = hook.wait(PATIENCE).unwrap_or_else(|| panic!("{}", hook.output()));
    assert!(ended.success(), "{}", hook.output());
    assert_eq!(cancelled(&client, &runs).await, (CancelledBy::Client, Started::Yes));
}

async fn until_draining(client: &Client) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let runners =
            client.admin().runners(v1::AdminServiceListRunnersRequest::default()).await.unwrap().runners;
        if runners.iter().all(|runner| runner.state() == v1::RunnerState::Draining) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{runners:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
