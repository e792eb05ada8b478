//! Tests of the control of running commands, sessions and runners, and of watches.

use std::time::Duration;

use airlock_domain::{FromRunner, Pty, Signal, TerminalSize, ToRunner};
use airlock_proto::v1::{
    self, admin_service_client::AdminServiceClient, event::Event as Kind,
    execution_service_client::ExecutionServiceClient, session_service_client::SessionServiceClient,
};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use tonic_types::StatusExt as _;

use crate::{
    PATIENCE,
    edge::{
        runner::{Link, OUTPUT, link_up},
        runs::{get, request, running},
        until,
        world::World,
    },
};

type Watch = Streaming<v1::ExecutionServiceWatchResponse>;

fn client(world: &World) -> ExecutionServiceClient<tonic::transport::Channel> {
    ExecutionServiceClient::new(world.plain())
}

fn reason(status: &Status) -> (Code, String) {
    (status.code(), status.get_details_error_info().unwrap().reason)
}

async fn signal(world: &World, token: &str, id: &str, signal: i32) -> Result<v1::Execution, Status> {
    let signal = v1::ExecutionServiceSignalRequest { execution_id: id.to_owned(), signal };
    let answer = client(world).signal(request(token, signal)).await?;
    Ok(answer.into_inner().execution.unwrap())
}

async fn detach(world: &World, token: &str, id: &str) -> Result<v1::Execution, Status> {
    let detach = v1::ExecutionServiceDetachRequest { execution_id: id.to_owned() };
    let answer = client(world).detach(request(token, detach)).await?;
    Ok(answer.into_inner().execution.unwrap())
}

async fn watch(world: &World, token: &str, session: &str, cursor: &[u8]) -> Result<Watch, Status> {
    let watch =
        v1::ExecutionServiceWatchRequest { session_id: session.to_owned(), cursor: cursor.to_vec().into() };
    Ok(client(world).watch(request(token, watch)).await?.into_inner())
}

async fn told(watch: &mut Watch) -> v1::ExecutionServiceWatchResponse {
    timeout(PATIENCE, watch.message()).await.unwrap().unwrap().unwrap()
}

/// Returns the next order that does not concern output.
async fn order(link: &mut Link) -> ToRunner {
    loop {
        match link.order().await {
            ToRunner::OpenOutput { .. } => {}
            order => return order,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_reaches_the_runner_and_bad_ones_reach_nobody() {
    let world = World::new().await;
    let (_stream, mut link, id) = running(&world, |_| {}).await;
    let int = v1::Signal::Int as i32;
    for bad in [0, 99, -1] {
        let status = signal(&world, "executor", &id, bad).await.unwrap_err();
        assert_eq!(reason(&status), (Code::InvalidArgument, "INVALID_REQUEST".to_owned()), "{bad}");
    }
    let status = signal(&world, "stranger", &id, int).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let execution = signal(&world, "executor", &id, int).await.unwrap();
    assert_eq!(execution.state(), v1::ExecutionState::Running);
    let sent = timeout(PATIENCE, order(&mut link)).await.unwrap();
    let execution_id = id.parse().unwrap();
    assert_eq!(sent, ToRunner::SignalJob { execution_id, signal: Signal::Int });
    drop(link);
    let status = loop {
        // The server may not have detected yet that the runner has disconnected.
        if let Err(status) = signal(&world, "executor", &id, int).await {
            break status;
        }
    };
    assert_eq!(reason(&status), (Code::Unavailable, "RUNNER_UNREACHABLE".to_owned()));
    assert!(status.get_details_retry_info().is_some());
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_in_the_grant_and_its_size_reaches_the_runner() {
    let world = World::new().await;
    let resize = async |token, id: &str, rows| {
        let size = Some(v1::TerminalSize { rows, cols: 132 });
        let resize = v1::ExecutionServiceResizeRequest { execution_id: id.to_owned(), size };
        client(&world)
            .resize(request(token, resize))
            .await
            .map(|answer| answer.into_inner().execution.unwrap())
    };
    let mut link = link_up(&world).await;
    let plain = crate::edge::runs::spec("pwd", |_| {});
    let (_stream, job) = link.run(&world, plain, None).await;
    assert_eq!(job.grant.command.pty, None);
    let status = resize("executor", &job.execution_id.to_string(), 50).await.unwrap_err();
    assert_eq!(reason(&status), (Code::FailedPrecondition, "NO_TERMINAL".to_owned()));
    let spec = crate::edge::runs::spec("pwd", |spec| {
        spec.pty = Some(v1::Pty { rows: 31, cols: 0, term: "vt100".to_owned() });
        spec.allow_concurrent = true;
    });
    let (_stream, job) = link.run(&world, spec, None).await;
    let size = TerminalSize { rows: 31, cols: 80 };
    assert_eq!(job.grant.command.pty, Some(Pty { size, term: "vt100".to_owned() }));
    assert_eq!(job.grant.command.env["TERM"], b"vt100");
    assert!(
        job.grant.command.stdin && job.grant.command.timeout == Duration::from_secs(30 * 60),
        "{:?}",
        job.grant.command.timeout
    );
    let id = job.execution_id.to_string();
    assert_eq!(resize("stranger", &id, 50).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(resize("auditor", &id, 50).await.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(resize("executor", &id, 0).await.unwrap_err().code(), Code::InvalidArgument);
    let execution = resize("executor", &id, 50).await.unwrap();
    assert_eq!(execution.pty, Some(v1::Pty { rows: 31, cols: 80, term: "vt100".to_owned() }));
    let sent = timeout(PATIENCE, order(&mut link)).await.unwrap();
    let size = TerminalSize { rows: 50, cols: 132 };
    assert_eq!(sent, ToRunner::ResizeJob { execution_id: job.execution_id, size });
    link.ended(&job, 0).await;
    let status = loop {
        match resize("executor", &id, 50).await {
            Err(status) => break status,
            Ok(_) => drop(timeout(PATIENCE, order(&mut link)).await.unwrap()),
        }
    };
    assert_eq!(reason(&status), (Code::FailedPrecondition, "NOT_RUNNING".to_owned()));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_sent_to_the_background_ends_its_stream_and_not_its_command() {
    let world = World::new().await;
    let mut link = link_up(&world).await;
    let spec = crate::edge::runs::spec("pwd", |spec| spec.kill_on_disconnect = true);
    let (mut stream, job) = link.run(&world, spec, None).await;
    let id = job.execution_id.to_string();
    assert_eq!(detach(&world, "stranger", &id).await.unwrap_err().code(), Code::NotFound);
    let execution = detach(&world, "executor", &id).await.unwrap();
    assert_eq!(execution.backgrounded_by(), v1::BackgroundedBy::Client);
    let closing = loop {
        let event = timeout(PATIENCE, stream.message()).await.unwrap().unwrap().unwrap().event.unwrap();
        if let Some(Kind::Backgrounded(closing)) = event.event {
            assert_eq!(closing.execution.unwrap().execution_id, id);
            break event.cursor;
        }
    };
    assert!(stream.message().await.unwrap().is_none(), "it was the last event");
    drop(stream);
    let told = timeout(PATIENCE, order(&mut link)).await.unwrap();
    let half_an_hour = airlock_domain::limits::TIMEOUT_MAX;
    assert_eq!(told, ToRunner::DetachJob { execution_id: job.execution_id, timeout: half_an_hour });

    let from = Some(v1::execution_service_attach_request::From::Cursor(closing));
    let attach = v1::ExecutionServiceAttachRequest { execution_id: id.clone(), from };
    let mut again = client(&world).attach(request("executor", attach)).await.unwrap().into_inner();
    let ended = async {
        link.ended(&job, 0).await;
        loop {
            match link.order().await {
                ToRunner::OpenOutput { execution_id, ticket } => link.push(execution_id, ticket).await,
                ToRunner::EndJob { .. } => panic!("it was ended with its stream"),
                ToRunner::ForgetJob { .. } => return,
                _ => {}
            }
        }
    };
    let events = async {
        let (mut kinds, mut output) = (Vec::new(), Vec::new());
        while let Some(response) = again.message().await.unwrap() {
            match response.event.unwrap().event.unwrap() {
                Kind::Opened(opened) => {
                    let by = opened.execution.unwrap().backgrounded_by();
                    assert_eq!(by, v1::BackgroundedBy::Client);
                }
                Kind::Output(piece) => output.extend_from_slice(&piece.data),
                other => kinds.push(other),
            }
        }
        (kinds, output)
    };
    let ((kinds, output), ()) = timeout(PATIENCE, async { tokio::join!(events, ended) }).await.unwrap();
    assert!(matches!(&kinds[..], [Kind::Finished(_)]), "{kinds:?}");
    assert_eq!(output, OUTPUT);
    let status = detach(&world, "executor", &id).await.unwrap_err();
    assert_eq!(reason(&status), (Code::FailedPrecondition, "NOT_RUNNING".to_owned()));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_updated_by_those_who_may_and_within_its_profile() {
    let world = World::new().await;
    let (_stream, _link, id) = running(&world, |_| {}).await;
    let session_id = get(&world, "executor", &id).await.unwrap().session_id;
    let update = async |token, mode: v1::Mode, seconds| {
        let update = v1::SessionServiceUpdateRequest {
            session_id: session_id.clone(),
            mode: mode.into(),
            idle_timeout: Some(prost_types::Duration { seconds, nanos: 0 }),
            ..v1::SessionServiceUpdateRequest::default()
        };
        SessionServiceClient::new(world.plain()).update(request(token, update)).await
    };
    let updated = update("executor", v1::Mode::Plan, 90).await.unwrap().into_inner().session.unwrap();
    assert_eq!((updated.mode(), updated.idle_timeout.unwrap().seconds), (v1::Mode::Plan, 90));
    let status = update("stranger", v1::Mode::Plan, 90).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let status = update("auditor", v1::Mode::Plan, 90).await.unwrap_err();
    assert_eq!(reason(&status), (Code::PermissionDenied, "FORBIDDEN".to_owned()));
    let status = update("executor", v1::Mode::Plan, 0).await.unwrap_err();
    let fields = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(fields.len(), 1);
    assert_eq!(fields[0].field, "idle_timeout");
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_tells_what_happens_and_another_goes_on_after_its_cursor() {
    let world = World::new().await;
    let mut events = watch(&world, "auditor", "", b"").await.unwrap();
    let first = told(&mut events).await;
    assert!(first.execution.is_none() && first.kind() == v1::WatchKind::Unspecified);
    let mut theirs = watch(&world, "stranger", "", b"").await.unwrap();
    told(&mut theirs).await;

    let (_stream, _link, id) = running(&world, |_| {}).await;
    let started = told(&mut events).await;
    assert_eq!(started.kind(), v1::WatchKind::Started);
    let execution = started.execution.unwrap();
    assert_eq!(execution.execution_id, id);
    assert!(execution.command.is_empty() && execution.decision.is_none(), "the basic view");
    drop(events);
    detach(&world, "executor", &id).await.unwrap();
    let mut events = watch(&world, "auditor", &execution.session_id, &started.cursor).await.unwrap();
    assert_eq!(told(&mut events).await.cursor, started.cursor);
    let next = told(&mut events).await;
    assert_eq!((next.kind(), next.execution.unwrap().execution_id), (v1::WatchKind::Backgrounded, id));

    let status = watch(&world, "stranger", &execution.session_id, b"").await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let status = watch(&world, "auditor", "", b"no cursor").await.unwrap_err();
    assert_eq!(reason(&status), (Code::InvalidArgument, "INVALID_REQUEST".to_owned()));

    let stop = tokio::spawn(world.server.shut_down());
    for events in [&mut events, &mut theirs] {
        let status = timeout(PATIENCE, events.message()).await.unwrap().unwrap_err();
        assert_eq!(
            reason(&status),
            (Code::Unavailable, "SHUTTING_DOWN".to_owned()),
            "no data of another tenant"
        );
    }
    timeout(PATIENCE, stop).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_over_the_limit_are_refused_and_one_that_ends_makes_room() {
    let world = World::with("[limits]\nwatches = 1\nwatches_per_tenant = 1\n").await;
    let mut only = watch(&world, "executor", "", b"").await.unwrap();
    told(&mut only).await;
    let status = watch(&world, "executor", "", b"").await.unwrap_err();
    assert_eq!(reason(&status), (Code::ResourceExhausted, "LIMIT_REACHED".to_owned()));
    assert_eq!(status.get_details_error_info().unwrap().metadata["limit"], "watches_per_tenant");
    drop(only);
    until("its slot is free again", async || watch(&world, "executor", "", b"").await.is_ok()).await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_is_drained_by_an_admin() {
    let world = World::new().await;
    let mut link = link_up(&world).await;
    let drain = async |token, runner: &str, undo| {
        let drain = v1::AdminServiceDrainRunnerRequest { runner_id: runner.to_owned(), undo };
        AdminServiceClient::new(world.plain()).drain_runner(request(token, drain)).await
    };
    assert_eq!(drain("executor", "runner-1", false).await.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(drain("admin", "runner-9", false).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(drain("admin", "", false).await.unwrap_err().code(), Code::InvalidArgument);
    for undo in [false, true] {
        let answer = async {
            assert_eq!(link.order().await, ToRunner::Drain { undo });
            link.tell(FromRunner::Draining { over: undo }).await;
        };
        let (drained, ()) =
            timeout(PATIENCE, async { tokio::join!(drain("admin", "runner-1", undo), answer) })
                .await
                .unwrap();
        let state = drained.unwrap().into_inner().runner.unwrap().state();
        let wanted = if undo { v1::RunnerState::Connected } else { v1::RunnerState::Draining };
        assert_eq!(state, wanted);
    }
    world.server.shut_down().await;
}
