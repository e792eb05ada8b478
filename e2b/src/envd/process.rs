//! The service `process.Process`.

use std::collections::HashSet;

use airlock_client::v1::{ExecutionState, Signal as AirlockSignal, TerminalSize};
use http::Response;

use super::{
    call::{Call, open},
    follow::{Of, follow},
    input, spec,
};
use crate::{
    body::{Body, RequestBody},
    connect::{self, Messages},
    process::New,
    refusal::{Kind, Refusal},
    registry::running,
    wire::{
        Empty,
        process::{
            Info, ListResponse, SelectRequest, SendSignalRequest, Signal, StartRequest, UpdateRequest,
        },
    },
};

/// Answers a call of the service.
pub(super) async fn answer(call: &Call, method: &str, body: RequestBody) -> Response<Body> {
    let headers = &call.headers;
    match method {
        "List" => connect::unary(headers, body, |Empty {}| call.watched(list(call))).await,
        "Update" => connect::unary(headers, body, |request| call.watched(update(call, request))).await,
        "SendInput" => {
            connect::unary(headers, body, |request| call.watched(Box::pin(input::send(call, request)))).await
        }
        "SendSignal" => {
            connect::unary(headers, body, |request| call.watched(Box::pin(signal(call, request)))).await
        }
        "CloseStdin" => {
            connect::unary(headers, body, |request| call.watched(Box::pin(input::close(call, request)))).await
        }
        "Start" => call.watched(started(call, body)).await.unwrap_or_else(failed),
        "Connect" => call.watched(connected(call, body)).await.unwrap_or_else(failed),
        "StreamInput" => connect::single(call.watched(streamed(call, body)).await),
        _ => connect::refused(&Refusal::unsupported("this call of the service for processes")),
    }
}

fn failed(refusal: Refusal) -> Response<Body> {
    connect::single::<Empty>(Err(refusal))
}

async fn started(call: &Call, body: RequestBody) -> Result<Response<Body>, Refusal> {
    let request: StartRequest = Messages::new(&call.headers, body)?.only().await?;
    let (stream, response) = open(call)?;
    if call.sandbox.processes.has_room().is_err() {
        refresh(call).await?;
        call.sandbox.processes.has_room()?;
    }
    let spec = spec::of(&call.sandbox, &request, connect::deadline(&call.headers)?).await?;
    let new = New {
        execution: String::new(),
        has_input: spec.stdin,
        has_terminal: spec.pty.is_some(),
        config: request.process,
        tag: request.tag,
    };
    let events = call.sandbox.client().run(spec);
    call.front.registry.tasks().spawn(Box::pin(follow(stream, events, Of::New(new))));
    Ok(response)
}

/// Follows a process from the beginning of its output, so that nothing is lost between two streams.
async fn connected(call: &Call, body: RequestBody) -> Result<Response<Body>, Refusal> {
    let request: SelectRequest = Messages::new(&call.headers, body)?.only().await?;
    let process = call.sandbox.processes.find(&request.process)?;
    let (stream, response) = open(call)?;
    let events = call.sandbox.client().attach(process.execution.as_str(), airlock_client::From::Beginning);
    call.front.registry.tasks().spawn(Box::pin(follow(stream, events, Of::Known(process))));
    Ok(response)
}

async fn streamed(call: &Call, body: RequestBody) -> Result<Empty, Refusal> {
    let _permit = call.sandbox.stream()?;
    let messages = Messages::new(&call.headers, body)?;
    let ended = call.sandbox.ended.clone();
    tokio::select! {
        result = input::stream(call, messages) => result,
        () = tokio::time::sleep(call.limit()?) => {
            Err(Refusal::new(Kind::Late, "the stream reached its time limit"))
        }
        () = ended.cancelled() => Err(Refusal::gone()),
    }
}

/// Marks the processes that no stream saw ending.
async fn refresh(call: &Call) -> Result<(), Refusal> {
    // A process that starts now is not in the list that is read before.
    let known = call.sandbox.processes.running();
    let running: HashSet<String> = running(&call.sandbox).await?.into_iter().collect();
    known.iter().filter(|process| !running.contains(&process.execution)).for_each(|process| process.end());
    Ok(())
}

async fn list(call: &Call) -> Result<ListResponse, Refusal> {
    refresh(call).await?;
    let processes = call.sandbox.processes.running().into_iter().map(|process| Info {
        config: process.config.clone(),
        pid: process.pid,
        tag: process.tag.clone(),
    });
    Ok(ListResponse { processes: processes.collect() })
}

async fn update(call: &Call, request: UpdateRequest) -> Result<Empty, Refusal> {
    let process = call.sandbox.processes.find(&request.process)?;
    let size =
        request.pty.and_then(|pty| pty.size).ok_or_else(|| Refusal::invalid("the request has no size"))?;
    let size = TerminalSize { rows: size.rows, cols: size.cols };
    call.sandbox.client().resize(&process.execution, size).await?;
    Ok(Empty {})
}

/// Sends a signal. A command that does not run yet is cancelled, and one that has ended does not exist for the SDKs.
async fn signal(call: &Call, request: SendSignalRequest) -> Result<Empty, Refusal> {
    let signal = match request.signal {
        Signal::Terminate => AirlockSignal::Term,
        Signal::Kill => AirlockSignal::Kill,
        Signal::Unknown => {
            return Err(Refusal::invalid("the signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL"));
        }
    };
    let process = call.sandbox.processes.find(&request.process)?;
    let (client, id) = (call.sandbox.client(), &process.execution);
    let ended =
        || Refusal::new(Kind::NotFound, format!("process {} not found: it has ended", request.process));
    match client.execution(id).await?.state() {
        ExecutionState::Finished => {
            process.end();
            Err(ended())
        }
        ExecutionState::Running => match client.signal(id, signal).await {
            Err(error) if error.rejection().is_some_and(|no| no.reason == "NOT_RUNNING") => Err(ended()),
            sent => Ok(sent.map(|_| Empty {})?),
        },
        _ => Ok(client.cancel(id).await.map(|_| Empty {})?),
    }
}
