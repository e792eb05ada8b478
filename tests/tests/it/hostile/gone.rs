//! A closed session and a lost one: every method with its ID, or with the ID of one of its executions, reports the
//! state or returns the remaining data. Methods and fields come from the contract, so a new one without a case fails
//! the test.

use airlock_client::Client;
use airlock_proto::v1;
use airlock_tests::{
    process::Process,
    raw::{Answer, Connection},
    reader::{close, ended, run, spec_in, written},
    schema::Schema,
    site::PATIENCE,
};
use tonic::Code;

use crate::hostile::{
    fixture::{Fixture, call},
    tenants::{Ids, request},
};

/// A configuration in which a runner is lost after seconds. A server has it only while the runner should be lost,
/// because on a busy host these timeouts can expire without a fault.
const SHORT: &str = "[link]\nheartbeat_interval = \"500ms\"\nheartbeat_timeout = \"1s\"\nlink_grace = \"1s\"\n\
    ending_grace = \"6s\"\nlost_after = \"9s\"\n";

/// The expected response about a session that no longer exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The remaining data.
    Told,
    /// The state of the session and its reason.
    Refused,
    /// The command does not run, with its result.
    NotRunning,
    /// The approval can no longer be answered.
    Withdrawn,
}

fn expected(path: &str, field: &str) -> Expected {
    match (path.rsplit('.').next().unwrap(), field) {
        ("SessionService/Get" | "SessionService/Close", "session_id")
        | (
            "ExecutionService/List" | "ApprovalService/List" | "ApprovalService/ListRules",
            "filter.session_id",
        )
        | ("ExecutionService/Get" | "ExecutionService/Wait" | "ExecutionService/Cancel", "execution_id")
        | ("ExecutionService/Attach" | "ExecutionService/ReadOutput", "execution_id") => Expected::Told,
        ("SessionService/Update" | "PolicyService/Check", "session_id")
        | ("ExecutionService/Run" | "ExecutionService/Start", "spec.session_id")
        | ("SessionService/Forward", "open.session_id")
        | ("FileService/Upload", "header.session_id") => Expected::Refused,
        (file, "session_id" | "quarantine_id") if file.starts_with("FileService/") => Expected::Refused,
        ("ExecutionService/Signal" | "ExecutionService/Detach", "execution_id")
        | ("ExecutionService/WriteStdin" | "ExecutionService/Resize", "execution_id") => Expected::NotRunning,
        ("ApprovalService/Decide", "approval_id") => Expected::Withdrawn,
        _ => panic!("{path} takes an id in `{field}`, and nothing is expected of it"),
    }
}

/// Creates a session with three commands: one in the background, one that waits for its turn, one that waits for an
/// approval.
async fn busy(fixture: &Fixture) -> (Ids, [String; 3]) {
    let wanted = v1::SessionServiceCreateRequest { profile: "demo".to_owned(), ..Default::default() };
    let session = fixture.client.create_session(wanted).await.unwrap().session_id;
    let start = async |spec: v1::ExecutionSpec| fixture.client.start(spec).await.unwrap();
    let runs = v1::ExecutionSpec { background: true, ..spec_in(&session, "echo begun; tail -f /dev/null") };
    let runs = start(runs).await.execution_id;
    written(&fixture.client, &runs, "begun\n").await;
    start(spec_in(&session, "touch first; tail -f /dev/null")).await;
    let queued = start(spec_in(&session, "touch second")).await.execution_id;
    let on_ask = v1::OnAsk::Wait.into();
    let asks = start(v1::ExecutionSpec { on_ask, ..spec_in(&session, "make something") }).await;
    assert_eq!(asks.state(), v1::ExecutionState::PendingApproval);
    let filter = v1::ApprovalFilter { session_id: session.clone(), states: vec![] };
    let list = v1::ApprovalServiceListRequest { filter: Some(filter), page: None };
    let binding = fixture.client.approvals(list).await.unwrap().approvals[0].binding.to_vec();
    let approval = asks.approval_id.clone();
    let ids = Ids { session, execution: runs.clone(), approval, rule: String::new(), binding };
    (ids, [runs, queued, asks.execution_id])
}

async fn end_of(client: &Client, id: &str) -> v1::Cause {
    ended(client, id).await.result.unwrap().cause.unwrap()
}

fn code_of(answer: &Answer) -> (Code, String) {
    (answer.status.code(), answer.reason())
}

/// Calls every method that takes the session.
async fn assert_told(fixture: &Fixture, connection: &Connection, ids: &Ids, reason: &str, words: &str) {
    let mut count = 0;
    let schema = Schema::of_the_contract();
    for method in schema.public() {
        for field in schema.fields(&method.request) {
            let name = field.path.rsplit('.').next().unwrap();
            if !name.ends_with("_id") || ["request_id", "transfer_id", "runner_id", "rule_id"].contains(&name)
            {
                continue;
            }
            // A watch continues until its client ends it.
            if method.path.ends_with("ExecutionService/Watch") {
                continue;
            }
            let place = format!("{} {}", method.path, field.path);
            let (agent, request) = (fixture.agent(), request(&method.path, &field.path, ids));
            let answer = call(connection, &method.path, &agent, &request);
            let answer =
                tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| panic!("{place} hangs"));
            let said = answer.status.message();
            match expected(&method.path, &field.path) {
                Expected::Told => assert_eq!(answer.status.code(), Code::Ok, "{place}: {said}"),
                Expected::Refused => {
                    assert_eq!(
                        code_of(&answer),
                        (Code::FailedPrecondition, reason.to_owned()),
                        "{place}: {said}"
                    );
                    assert!(
                        said.contains(words) && said.contains("create another session"),
                        "{place}: {said}"
                    );
                }
                Expected::NotRunning => {
                    let not_running = (Code::FailedPrecondition, "NOT_RUNNING".to_owned());
                    assert_eq!(code_of(&answer), not_running, "{place}: {said}");
                    assert!(said.contains("it has ended ("), "{place}: {said}");
                }
                Expected::Withdrawn => {
                    let not_open = (Code::FailedPrecondition, "APPROVAL_NOT_OPEN".to_owned());
                    assert_eq!(code_of(&answer), not_open, "{place}: {said}");
                }
            }
            count += 1;
        }
    }
    assert!(count >= 22, "{count} cases");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_and_a_lost_one_say_what_they_are_wherever_they_are_named() {
    let fixture = Fixture::new().await;
    let connection = fixture.connect().await;
    let (closed, ends) = busy(&fixture).await;
    close(&fixture.client, &closed.session).await;
    for id in &ends {
        let cause = end_of(&fixture.client, id).await;
        let Some(v1::cause::Detail::Cancelled(by)) = &cause.detail else { panic!("{cause:?}") };
        assert_eq!(by.by(), v1::CancelledBy::Session, "{cause:?}");
    }
    assert_told(&fixture, &connection, &closed, "SESSION_CLOSED", "it was closed (on request)").await;

    // Its runner is away for too long. The runner's outputs are readable when it is back.
    let (lost, ends) = busy(&fixture).await;
    let Fixture { server, runner, site, .. } = fixture;
    runner.kill();
    let (patient, short) = (site.path().join("server.toml"), site.path().join("short.toml"));
    std::fs::write(&short, std::fs::read_to_string(&patient).unwrap() + SHORT).unwrap();
    server.kill();
    let server = Process::start(&mut site.command("airlock-server", "short"), &site.log("server"));
    let client = site.client().await;
    for id in &ends {
        let code = end_of(&client, id).await.code();
        assert_eq!(code, v1::CauseCode::RunnerLost, "{id}");
    }
    let state = client.session(&lost.session).await.unwrap().state();
    assert_eq!(state, v1::SessionState::Lost);
    server.kill();
    let (server, runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let fixture = Fixture { client, server, runner, site };
    let connection = fixture.connect().await;
    assert_told(
        &fixture,
        &connection,
        &lost,
        "SESSION_LOST",
        "it was lost (its runner did not return in time)",
    )
    .await;
    // The control: an open session.
    let open =
        fixture.client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
    assert_eq!(run(&fixture.client, spec_in(&open, "echo open")).await.unwrap().stdout, b"open\n");
    fixture.runs_on().await;
}
