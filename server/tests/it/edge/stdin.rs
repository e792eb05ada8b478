//! Tests of the input of commands with a simulated runner.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_domain::{ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner};
use airlock_proto::v1::{self, execution_service_client::ExecutionServiceClient};
use futures::stream;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::{
    PATIENCE,
    edge::{
        exchange::{Line, Stage, by},
        raw::Outcome,
        world::World,
    },
};

/// The number of 64 KiB chunks in the window of a stream.
const WINDOW_CHUNKS: u64 = 16;
const CLOSE: ExchangeToRunner = ExchangeToRunner::End { close: true };

type Write = v1::ExecutionServiceWriteStdinRequest;

fn write(execution_id: &str, offset: u64, data: &'static str, end: bool) -> Write {
    Write { execution_id: execution_id.to_owned(), offset, data: data.into(), end, take_over: false }
}

/// Returns a command with or without an open input.
fn spec(stage: &Stage, stdin: bool) -> v1::ExecutionSpec {
    v1::ExecutionSpec {
        command: "cat".into(),
        session_id: stage.session.clone(),
        stdin,
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_reaches_the_runner_in_order_and_its_end_too() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let spec = spec(&stage, true);
    let (_run, job) = stage.link.run(&world, spec, None).await;
    assert!(job.grant.command.stdin, "the grant opens the input");
    let id = job.execution_id.to_string();

    let (client, messages) = mpsc::channel(4);
    client.send(write(&id, 0, "one\n", false)).await.unwrap();
    let mut executions = ExecutionServiceClient::new(world.plain());
    let request = by("executor", ReceiverStream::new(messages));
    let call = tokio::spawn(async move { executions.write_stdin(request).await });
    let (mut line, order) = stage.line().await;
    assert_eq!(order, ExchangeOrder::Stdin { execution_id: job.execution_id, take_over: false });
    line.say(ExchangeFromRunner::Ready { offset: 0 }).await;
    let chunk = |offset, data: &'static str| ExchangeToRunner::Chunk { offset, data: data.into() };
    assert_eq!(line.hear().await.unwrap(), Some(chunk(0, "one\n")));
    client.send(write("", 4, "two\n", true)).await.unwrap();
    assert_eq!(line.hear().await.unwrap(), Some(chunk(4, "two\n")));
    assert_eq!(line.hear().await.unwrap(), Some(CLOSE));
    drop(client);
    line.say(ExchangeFromRunner::Written { accepted: 8, ended: true }).await;
    let answer = call.await.unwrap().unwrap().into_inner();
    assert_eq!((answer.accepted, answer.ended), (8, true));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_cut_off_does_not_end_the_input() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let spec = spec(&stage, true);
    let (_run, job) = stage.link.run(&world, spec, None).await;
    let (client, messages) = mpsc::channel(4);
    client.send(write(&job.execution_id.to_string(), 0, "one\n", false)).await.unwrap();
    let mut executions = ExecutionServiceClient::new(world.plain());
    let request = by("executor", ReceiverStream::new(messages));
    let call = tokio::spawn(async move { executions.write_stdin(request).await });
    let (mut line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Ready { offset: 0 }).await;
    assert!(matches!(line.hear().await.unwrap(), Some(ExchangeToRunner::Chunk { .. })));
    call.abort();
    assert_eq!(line.rest().await, []);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_meanwhile_ends_its_writer() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let spec = spec(&stage, true);
    let (_run, job) = stage.link.run(&world, spec, None).await;
    let messages = [write(&job.execution_id.to_string(), 0, "one\n", false)];
    let endless = futures::StreamExt::chain(stream::iter(messages), stream::pending());
    let mut executions = ExecutionServiceClient::new(world.plain());
    let call = tokio::spawn(async move { executions.write_stdin(by("executor", endless)).await });
    let (mut line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Ready { offset: 0 }).await;
    line.hear().await.unwrap();
    line.say(ExchangeFromRunner::Written { accepted: 2, ended: false }).await;
    line.say(not_running()).await;
    let status = timeout(PATIENCE, call).await.unwrap().unwrap().unwrap_err();
    let info = status.get_details_error_info().unwrap();
    assert_eq!((status.code(), info.reason.as_str()), (Code::FailedPrecondition, "NOT_RUNNING"));
    assert_eq!(info.metadata["accepted"], "2");
    world.server.shut_down().await;
}

fn not_running() -> ExchangeFromRunner {
    ExchangeFromRunner::Failed(ExchangeFailed {
        failure: ExchangeFailure::FailedPrecondition,
        reason: "NOT_RUNNING".to_owned(),
        message: "the command does not run".to_owned(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_open_when_the_command_ends_gets_a_clean_end() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let spec = spec(&stage, true);
    let (_run, job) = stage.link.run(&world, spec, None).await;
    let messages = [write(&job.execution_id.to_string(), 0, "one\n", false)];
    let endless = futures::StreamExt::chain(stream::iter(messages), stream::pending());
    let mut executions = ExecutionServiceClient::new(world.plain());
    let call = tokio::spawn(async move { executions.write_stdin(by("executor", endless)).await });
    let (mut line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Ready { offset: 0 }).await;
    line.hear().await.unwrap();
    line.say(ExchangeFromRunner::Written { accepted: 4, ended: false }).await;
    line.say(not_running()).await;
    let answer = timeout(PATIENCE, call).await.unwrap().unwrap().unwrap().into_inner();
    assert_eq!((answer.accepted, answer.ended), (4, true));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_comes_before_the_command_runs_waits_for_it() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let mut executions = ExecutionServiceClient::new(world.plain());
    let start = v1::ExecutionServiceStartRequest { spec: Some(spec(&stage, true)) };
    let started = executions.start(by("executor", start)).await.unwrap().into_inner();
    let id = started.execution.unwrap().execution_id;
    let messages = [write(&id, 0, "one\n", true)];
    let call =
        tokio::spawn(async move { executions.write_stdin(by("executor", stream::iter(messages))).await });
    stage.link.run_next().await;
    let (mut line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Ready { offset: 0 }).await;
    assert!(matches!(line.hear().await.unwrap(), Some(ExchangeToRunner::Chunk { offset: 0, .. })));
    assert_eq!(line.hear().await.unwrap(), Some(CLOSE));
    line.say(ExchangeFromRunner::Written { accepted: 4, ended: true }).await;
    let answer = timeout(PATIENCE, call).await.unwrap().unwrap().unwrap().into_inner();
    assert_eq!((answer.accepted, answer.ended), (4, true));
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_for_what_has_none_is_refused() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let closed = spec(&stage, false);
    let (_run, job) = stage.link.run(&world, closed, None).await;
    let id = job.execution_id.to_string();
    let nobodys = airlock_domain::ExecutionId::new().to_string();
    let table = [
        ("executor", vec![write(&id, 0, "x", false)], Code::FailedPrecondition, "STDIN_CLOSED"),
        ("stranger", vec![write(&id, 0, "x", false)], Code::NotFound, "NOT_FOUND"),
        ("executor", vec![write(&nobodys, 0, "x", false)], Code::NotFound, "NOT_FOUND"),
        ("executor", vec![write("", 0, "x", false)], Code::InvalidArgument, "INVALID_REQUEST"),
        ("executor", vec![], Code::InvalidArgument, "INVALID_REQUEST"),
        ("auditor", vec![write(&id, 0, "x", false)], Code::PermissionDenied, "FORBIDDEN"),
    ];
    for (token, messages, code, reason) in table {
        let mut executions = ExecutionServiceClient::new(world.plain());
        let outcome: Outcome =
            executions.write_stdin(by(token, stream::iter(messages))).await.unwrap_err().into();
        assert!(outcome.is(code, reason), "{token}: {outcome:?}");
    }
    stage.link.ended(&job, 0).await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_nobody_reads_stop_nothing_else_of_their_client() {
    let world = World::new().await;
    let mut stage = Stage::set(&world).await;
    let spec = spec(&stage, true);
    let (_run, job) = stage.link.run(&world, spec, None).await;
    let id = job.execution_id.to_string();
    let channel = world.plain();
    let mut stuck = Vec::new();
    for _ in 0..8 {
        let (id, sent) = (id.clone(), Arc::new(AtomicU64::new(0)));
        let count = sent.clone();
        let endless = futures::StreamExt::map(stream::iter(0u64..), move |index| {
            count.fetch_add(1, Ordering::Relaxed);
            let execution_id = if index == 0 { id.clone() } else { String::new() };
            Write { execution_id, offset: index * 65_536, data: vec![0; 65_536].into(), ..Write::default() }
        });
        let mut executions = ExecutionServiceClient::new(channel.clone());
        let call = tokio::spawn(async move { executions.write_stdin(by("executor", endless)).await });
        // A separate connection for each exchange, as real runners use.
        let ticket = stage.ticket().await;
        let line = Line::open(world.certified("runner-1"), "runner-1", ticket).await.unwrap();
        line.say(ExchangeFromRunner::Ready { offset: 0 }).await;
        // Waits until the buffers are full: at least the window of the stream.
        let mut before = u64::MAX;
        while before != sent.load(Ordering::Relaxed) || before < WINDOW_CHUNKS {
            before = sent.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        stuck.push((line, call));
    }
    let request = v1::ExecutionServiceCancelRequest { execution_id: id };
    let mut executions = ExecutionServiceClient::new(channel);
    let cancel = executions.cancel(by("executor", request));
    timeout(PATIENCE, cancel).await.expect("a command ends independently of its input").unwrap();
    for (_, call) in stuck {
        call.abort();
    }
    world.server.shut_down().await;
}
