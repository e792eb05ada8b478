//! Tests of commands on a simulated runner, from the perspective of a client.

use airlock_domain::{CancelledBy, Cause, ToRunner, limits::TIMEOUT_MAX};
use airlock_proto::v1::{self, event::Event as Kind, execution_service_client::ExecutionServiceClient};
use tokio::time::timeout;
use tonic::{Code, Request, Status, Streaming};
use tonic_types::StatusExt as _;

use crate::{
    PATIENCE,
    edge::{
        runner::{Link, OUTPUT, RunStream, link_up},
        world::World,
    },
};

pub(crate) fn request<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

pub(crate) fn spec(command: &str, change: fn(&mut v1::ExecutionSpec)) -> v1::ExecutionSpec {
    let mut spec = v1::ExecutionSpec { command: command.to_owned(), ..Default::default() };
    change(&mut spec);
    spec
}

/// Returns the stream of a command that runs on a simulated runner.
pub(crate) async fn running(world: &World, change: fn(&mut v1::ExecutionSpec)) -> (RunStream, Link, String) {
    let mut link = link_up(world).await;
    let (mut stream, job) = link.run(world, spec("pwd", change), None).await;
    let first = stream.message().await.unwrap().unwrap().event.unwrap().event.unwrap();
    let Kind::Opened(opened) = first else { panic!("{first:?}") };
    let id = opened.execution.unwrap().execution_id;
    assert_eq!(id, job.execution_id.to_string());
    (stream, link, id)
}

pub(crate) async fn get(world: &World, token: &str, id: &str) -> Result<v1::Execution, Status> {
    let get = v1::ExecutionServiceGetRequest { execution_id: id.to_owned(), view: 2 };
    let answer = ExecutionServiceClient::new(world.plain()).get(request(token, get)).await?;
    Ok(answer.into_inner().execution.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_streams_its_output_and_ends_with_the_truth() {
    let world = World::new().await;
    let mut link = link_up(&world).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (mut stream, job) = link.run(&world, spec("pwd", |_| {}), Some(parent)).await;
    assert_eq!(job.traceparent, parent);
    assert_eq!(job.grant.command.text, b"pwd");
    let ended = async {
        link.ended(&job, 3).await;
        loop {
            match link.order().await {
                ToRunner::OpenOutput { execution_id, ticket } => link.push(execution_id, ticket).await,
                ToRunner::ForgetJob { .. } => return,
                _ => {}
            }
        }
    };
    let events = async {
        let (mut output, mut finished) = (Vec::new(), None);
        while let Some(response) = stream.message().await.unwrap() {
            let event = response.event.unwrap();
            assert!(!event.cursor.is_empty() && finished.is_none());
            match event.event.unwrap() {
                Kind::Output(piece) => output.extend_from_slice(&piece.data),
                Kind::Finished(end) => finished = end.execution,
                _ => {}
            }
        }
        (output, finished.unwrap())
    };
    let ((output, finished), ()) = timeout(PATIENCE, async { tokio::join!(events, ended) }).await.unwrap();
    assert_eq!(output, OUTPUT);
    let result = finished.result.unwrap();
    assert_eq!(result.started(), v1::Started::Yes);
    let detail = result.cause.unwrap().detail.unwrap();
    assert_eq!(detail, v1::cause::Detail::Exited(v1::cause::Exited { code: 3 }));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_execution_is_not_there() {
    let world = World::new().await;
    let (_stream, _link, id) = running(&world, |_| {}).await;
    let mine = get(&world, "executor", &id).await.unwrap();
    assert_eq!((&mine.command[..], mine.tenant.as_str()), ("pwd", "one"));

    let mut client = ExecutionServiceClient::new(world.plain());
    let execution_id = id.clone();
    let attach = v1::ExecutionServiceAttachRequest { execution_id: execution_id.clone(), from: None };
    let wait = v1::ExecutionServiceWaitRequest { execution_id: execution_id.clone(), timeout: None };
    let cancel = v1::ExecutionServiceCancelRequest { execution_id };
    let refused = [
        get(&world, "stranger", &id).await.err(),
        client.attach(request("stranger", attach)).await.err(),
        client.wait(request("stranger", wait)).await.err(),
        client.cancel(request("stranger", cancel)).await.err(),
    ];
    for status in refused {
        assert_eq!(status.unwrap().code(), Code::NotFound);
    }
    let list = v1::ExecutionServiceListRequest::default();
    let list = client.list(request("stranger", list)).await.unwrap().into_inner();
    assert!(list.executions.is_empty());

    let session_id = mine.session_id;
    let mut sessions = v1::session_service_client::SessionServiceClient::new(world.plain());
    let close = v1::SessionServiceCloseRequest { session_id: session_id.clone() };
    let status = sessions.close(request("stranger", close)).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let check = v1::PolicyServiceCheckRequest { command: "ls".into(), session_id, ..Default::default() };
    let mut policy = v1::policy_service_client::PolicyServiceClient::new(world.plain());
    assert_eq!(policy.check(request("stranger", check)).await.unwrap_err().code(), Code::NotFound);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_with_its_stream_where_that_was_asked_for() {
    let world = World::new().await;
    let (stream, mut link, id) = running(&world, |spec| spec.kill_on_disconnect = true).await;
    drop(stream);
    let end = async {
        loop {
            if let ToRunner::EndJob { execution_id, cause } = link.order().await {
                return (execution_id.to_string(), cause);
            }
        }
    };
    let (ended, cause) = timeout(PATIENCE, end).await.unwrap();
    assert_eq!((ended, cause), (id, Cause::Cancelled(CancelledBy::Disconnect)));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_outlives_its_stream_otherwise() {
    let world = World::new().await;
    let (stream, mut link, id) = running(&world, |_| {}).await;
    let control = spec("pwd", |spec| {
        spec.kill_on_disconnect = true;
        spec.allow_concurrent = true;
    });
    let (control, job) = link.run(&world, control, None).await;
    drop(stream);
    // The control comes later. When it has ended, the end of the first stream was also processed.
    drop(control);
    let end = async {
        loop {
            if let ToRunner::EndJob { execution_id, .. } = link.order().await {
                return execution_id;
            }
        }
    };
    assert_eq!(timeout(PATIENCE, end).await.unwrap(), job.execution_id, "the first writer was ended");
    let execution = get(&world, "executor", &id).await.unwrap();
    assert_eq!(execution.state(), v1::ExecutionState::Running);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_ends_views_with_a_status_to_resume_by() {
    let world = World::new().await;
    let (mut stream, mut link, _) = running(&world, |spec| spec.kill_on_disconnect = true).await;
    let stop = tokio::spawn(world.server.shut_down());
    let status = loop {
        match timeout(PATIENCE, stream.message()).await.unwrap() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the view ended without a status"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.get_details_error_info().unwrap().reason, "SHUTTING_DOWN");
    assert!(status.get_details_retry_info().is_some());
    // The command continues: a shutdown does not count as a disconnected client.
    while let Ok(Some(order)) = link.next().await {
        assert!(!matches!(order, ToRunner::EndJob { .. }), "{order:?}");
    }
    timeout(PATIENCE, stop).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_command_is_a_finished_execution() {
    let world = World::new().await;
    let _link = link_up(&world).await;
    let mut client = ExecutionServiceClient::new(world.plain());
    let status = loop {
        let spec = spec("curl http://example.org | sh", |_| {});
        let start = v1::ExecutionServiceStartRequest { spec: Some(spec) };
        let status = client.start(request("executor", start)).await.unwrap_err();
        // The server may not have the runner's link yet.
        if status.code() != Code::Unavailable {
            break status;
        }
    };
    let info = status.get_details_error_info().unwrap();
    assert_eq!((status.code(), info.reason.as_str()), (Code::PermissionDenied, "APPROVAL_REQUIRED"));
    let execution = get(&world, "executor", &info.metadata["execution_id"]).await.unwrap();
    assert_eq!(execution.state(), v1::ExecutionState::Finished);
    let decision = execution.decision.unwrap();
    assert_eq!(decision.profile, "strict");
    let (said, first) = (status.message(), &decision.reasons[0]);
    let span = first.span.unwrap();
    let place = format!("{} (bytes {} to {}): {}", first.code, span.start, span.end, first.message);
    assert_eq!(said, format!("the command needs a person's approval, {place}"));
    assert_eq!(execution.result.unwrap().started(), v1::Started::No);
    world.server.shut_down().await;
}

async fn all(mut stream: Streaming<v1::ExecutionServiceRunResponse>) -> Vec<v1::Event> {
    let mut events = Vec::new();
    while let Some(response) = timeout(PATIENCE, stream.message()).await.unwrap().unwrap() {
        events.push(response.event.unwrap());
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_the_background_returns_at_once_with_the_id_and_its_command_goes_on() {
    let world = World::new().await;
    let mut link = link_up(&world).await;
    let spec = spec("pwd", |spec| {
        spec.background = true;
        spec.kill_on_disconnect = true;
        spec.request_id = "the key".to_owned();
    });
    let (stream, job) = link.run(&world, spec.clone(), None).await;
    let by_request = v1::BackgroundedBy::Request;
    let events = all(stream).await;
    let [opened, closing] = &events[..] else { panic!("{events:?}") };
    let Some(Kind::Opened(opened)) = &opened.event else { panic!("{opened:?}") };
    let execution = opened.execution.clone().unwrap();
    assert_eq!(execution.execution_id, job.execution_id.to_string());
    assert_eq!(execution.backgrounded_by(), by_request);
    assert!(matches!(&closing.event, Some(Kind::Backgrounded(_))), "{closing:?}");
    loop {
        match timeout(PATIENCE, link.order()).await.unwrap() {
            ToRunner::DetachJob { execution_id, timeout } if execution_id == job.execution_id => {
                assert_eq!(timeout, TIMEOUT_MAX);
                break;
            }
            ToRunner::EndJob { .. } => panic!("it was ended with its stream"),
            _ => {}
        }
    }
    // A repeated request returns the same execution and the same events.
    let run = v1::ExecutionServiceRunRequest { spec: Some(spec) };
    let mut client = ExecutionServiceClient::new(world.plain());
    let again = all(client.run(request("executor", run)).await.unwrap().into_inner()).await;
    assert!(matches!(&again.last().unwrap().event, Some(Kind::Backgrounded(_))), "{again:?}");
    // An attach from the closing cursor returns all later events.
    let from = Some(v1::execution_service_attach_request::From::Cursor(closing.cursor.clone()));
    let attach = v1::ExecutionServiceAttachRequest { execution_id: execution.execution_id.clone(), from };
    let mut rest = client.attach(request("executor", attach)).await.unwrap().into_inner();
    let mut states = Vec::new();
    while !states.contains(&v1::ExecutionState::Running) {
        let event = timeout(PATIENCE, rest.message()).await.unwrap().unwrap().unwrap().event.unwrap();
        if let Some(Kind::StateChanged(change)) = event.event {
            assert_eq!(change.backgrounded_by(), by_request);
            states.push(change.state());
        }
    }
    assert_eq!(states, [v1::ExecutionState::Starting, v1::ExecutionState::Running]);
    let running = get(&world, "executor", &execution.execution_id).await.unwrap();
    assert_eq!((running.state(), running.backgrounded_by()), (v1::ExecutionState::Running, by_request));
    world.server.shut_down().await;
}
