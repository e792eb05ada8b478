//! Tests of four independent timeouts: of the queue, of the command, of its silence, and of the
//! caller.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use airlock_client::{Client, v1};
use airlock_tests::{
    desk::Airlock,
    reader::{cause, ended, exit_code, read, replay, run, spec_in, written},
    site::{Extras, PATIENCE, Site},
};
use v1::{BackgroundedBy, CauseCode, ExecutionState, TimeoutKind};

fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

/// A timeout that never expires in a test.
const LONG: Option<prost_types::Duration> = Some(prost_types::Duration { seconds: 600, nanos: 0 });

/// A profile that asks about `make`, and permits self-approval.
const OWN: &str = "name = \"own\"\nextends = \"demo\"\n[approvals]\nself_approval = true\n";

async fn session(client: &Client, profile: &str) -> String {
    let wanted = v1::SessionServiceCreateRequest { profile: profile.to_owned(), ..Default::default() };
    client.create_session(wanted).await.unwrap().session_id
}

/// Waits until the server knows that its runner is disconnected. Otherwise it would offer it the
/// next execution.
async fn until_alone(client: &Client) {
    let connected = |page: v1::AdminServiceListRunnersResponse| {
        page.runners.iter().any(|runner| runner.state() == v1::RunnerState::Connected)
    };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while connected(client.admin().runners(Default::default()).await.unwrap()) {
        assert!(tokio::time::Instant::now() < deadline, "the runner still exists");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn kind(execution: &v1::Execution) -> Option<TimeoutKind> {
    match execution.result.as_ref()?.cause.as_ref()?.detail.as_ref()? {
        v1::cause::Detail::TimedOut(out) => Some(out.kind()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_does_not_count_toward_the_timeout() {
    // The timeout is shorter than all waiting times here, and much longer than the command needs on
    // a busy host.
    let site = Site::with(Extras {
        server_tables: "[limits]\nqueue_wait = \"15s\"\n".to_owned(),
        profiles: vec![("own".to_owned(), OWN.to_owned())],
        ..Extras::default()
    });
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let session = session(&client, "own").await;
    let front = client.start(spec_in(&session, "echo front; sleep 16")).await.unwrap().execution_id;
    let clocks = v1::ExecutionSpec {
        timeout: seconds(15),
        idle_timeout: seconds(15),
        yield_after: seconds(15),
        ..spec_in(&session, "echo behind > file; cat file")
    };
    let behind = client.start(clocks.clone()).await.unwrap().execution_id;
    let asks = v1::ExecutionSpec {
        on_ask: v1::OnAsk::Wait.into(),
        allow_concurrent: true,
        command: "make --version > made; cat file made | head -n 1".into(),
        ..clocks
    };
    let asks = client.start(asks).await.unwrap();
    assert_eq!(asks.state(), ExecutionState::PendingApproval);
    assert_eq!(exit_code(&ended(&client, &front).await), Some(0));
    let behind = ended(&client, &behind).await;
    assert_eq!((exit_code(&behind), behind.backgrounded_by()), (Some(0), BackgroundedBy::Unspecified));
    drop(Airlock::at(&site).bytes(&["approve", "--yes", &asks.approval_id]));
    let asked = ended(&client, &asks.execution_id).await;
    assert_eq!((exit_code(&asked), asked.backgrounded_by()), (Some(0), BackgroundedBy::Unspecified));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_clock_ends_what_it_is_for() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let session = session(&client, "demo").await;
    let quiet = || spec_in(&session, "echo begun; tail -f /dev/null");
    let wall = run(&client, v1::ExecutionSpec { timeout: seconds(1), idle_timeout: LONG, ..quiet() });
    assert_eq!(kind(&wall.await.unwrap().end.unwrap()), Some(TimeoutKind::Wall));
    let silence = run(&client, v1::ExecutionSpec { timeout: LONG, idle_timeout: seconds(1), ..quiet() });
    assert_eq!(kind(&silence.await.unwrap().end.unwrap()), Some(TimeoutKind::Idle));

    // The caller's timeout only ends the caller's view.
    let patient = "echo begun; until [ -e go ]; do sleep 0.1; done; echo end";
    let started = client.start(spec_in(&session, patient)).await.unwrap().execution_id;
    written(&client, &started, "begun").await;
    let view = read(client.attach(&started, airlock_client::From::Beginning));
    assert!(tokio::time::timeout(Duration::from_secs(1), view).await.is_err());
    let waited = client.wait(&started, Duration::from_millis(100)).await.unwrap();
    assert_eq!(waited.state(), ExecutionState::Running, "an expired wait returns the current state");
    let go = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "touch go") };
    run(&client, go).await.unwrap();
    assert_eq!(exit_code(&ended(&client, &started).await), Some(0));
}

/// The runner is not yet declared lost.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_runner_nothing_but_the_queues_clock_runs_and_then_that_is_said() {
    let site = Site::with_tables("[limits]\nqueue_wait = \"2s\"\n", "");
    let _server = site.server(&[]);
    let runner = site.runner(&[]);
    let client = site.ready().await;
    let (one, two) = (session(&client, "demo").await, session(&client, "demo").await);
    runner.kill();
    until_alone(&client).await;
    let plain = client.start(spec_in(&one, "echo never")).await.unwrap().execution_id;
    let clocks = v1::ExecutionSpec {
        timeout: seconds(1),
        idle_timeout: seconds(1),
        ..spec_in(&two, "echo begun; tail -f /dev/null")
    };
    let clocks = client.start(clocks).await.unwrap().execution_id;
    for id in [plain, clocks] {
        let end = ended(&client, &id).await;
        assert_eq!(cause(&end), CauseCode::QueueExpired, "{end:?}");
        assert_eq!(end.result.unwrap().started(), v1::Started::No);
        let story = tokio::time::timeout(PATIENCE, replay(&client, &id)).await.unwrap().unwrap();
        assert!(story.stdout.is_empty() && story.end.is_some());
    }
}
