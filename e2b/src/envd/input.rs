//! The input of processes. Each process has one writer at a time, in the order of the calls.

use airlock_client::ClientError;

use super::call::Call;
use crate::{
    connect::Messages,
    process::Process,
    refusal::{Kind, Refusal},
    wire::{
        Empty,
        process::{Input, SelectRequest, Selector, SendInputRequest, StreamInputRequest},
    },
};

/// Writes to the input of a process.
pub(super) async fn send(call: &Call, request: SendInputRequest) -> Result<Empty, Refusal> {
    let process = running(call, &request.process)?;
    write(call, &process, request.input).await?;
    Ok(Empty {})
}

/// Writes all messages of a request to the input of the process that the first one names.
pub(super) async fn stream(call: &Call, mut messages: Messages) -> Result<Empty, Refusal> {
    let mut process = None;
    while let Some(message) = messages.next::<StreamInputRequest>().await? {
        if let Some(start) = message.start {
            process = Some(running(call, &start.process)?);
        }
        if let Some(data) = message.data {
            let process =
                process.as_ref().ok_or_else(|| Refusal::invalid("the first message names no process"))?;
            write(call, process, data.input).await?;
        }
    }
    Ok(Empty {})
}

/// Closes the input of a process.
pub(super) async fn close(call: &Call, request: SelectRequest) -> Result<Empty, Refusal> {
    let process = running(call, &request.process)?;
    let mut input = process.input.lock().await;
    if input.is_closed {
        return Err(closed(&process));
    }
    let (client, id) = (call.sandbox.client(), &process.execution);
    let offset = match input.offset.take() {
        Some(offset) => offset,
        None => client.type_into(id, None, &mut tokio::io::empty()).await.map_err(of)?.accepted,
    };
    client.write_stdin(id, offset, &mut tokio::io::empty()).await.map_err(of)?;
    input.is_closed = true;
    Ok(Empty {})
}

fn running(call: &Call, selector: &Selector) -> Result<std::sync::Arc<Process>, Refusal> {
    let process = call.sandbox.processes.find(selector)?;
    match process.has_ended() {
        true => Err(Refusal::new(Kind::NotFound, format!("process {selector} not found: it has ended"))),
        false => Ok(process),
    }
}

fn closed(process: &Process) -> Refusal {
    Refusal::new(
        Kind::State,
        format!("the process {} has no open input; start it with stdin enabled", process.pid),
    )
}

async fn write(call: &Call, process: &Process, given: Input) -> Result<(), Refusal> {
    let data = match given {
        Input { stdin: Some(_), pty: None } if process.has_terminal => {
            return Err(Refusal::invalid("the process has a terminal; send `pty` instead of `stdin`"));
        }
        Input { stdin: None, pty: Some(_) } if !process.has_terminal => {
            return Err(Refusal::invalid("the process has no terminal; send `stdin` instead of `pty`"));
        }
        Input { stdin: Some(data), .. } | Input { pty: Some(data), .. } => data.0,
        Input { stdin: None, pty: None } => return Ok(()),
    };
    let mut input = process.input.lock().await;
    if input.is_closed {
        return Err(closed(process));
    }
    // If this call is cancelled, the position is unknown.
    let offset = input.offset.take();
    let mut source: &[u8] = &data;
    let written =
        call.sandbox.client().type_into(&process.execution, offset, &mut source).await.map_err(of)?;
    input.offset = Some(written.accepted);
    Ok(())
}

/// Returns the error of a write. A process that has ended does not exist for the SDKs.
fn of(error: ClientError) -> Refusal {
    match error.rejection().is_some_and(|rejection| rejection.reason == "NOT_RUNNING") {
        true => Refusal::new(Kind::NotFound, "the process has ended"),
        false => error.into(),
    }
}
