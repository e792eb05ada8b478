//! The tools that read a command's output and write its input.

use std::time::Duration;

use airlock_client::{
    Client, ClientError, OutputPiece, Selection,
    cause::{sentence, succeeded},
    v1::{Execution, ExecutionState, OutputStream},
};
use airlock_escape as escape;
use bytes::Bytes;
use tokio::time::{Instant, timeout};

use super::{
    arguments::{Input, Output, PART_BYTES, PART_BYTES_MAX, WAIT_SECONDS_MAX},
    commands,
};
use crate::{
    call::{Call, Left, OnCancel},
    question,
    text::{self, Reply},
    workspace::Open,
};

/// The time between two looks at an output that does not grow.
const LOOK: Duration = Duration::from_millis(500);
/// The time for a command to read its input.
const TAKE: Duration = Duration::from_secs(30);

/// A part of an output.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The offset of the first byte of `bytes`. Bytes between the requested offset and this one are no longer held.
    pub(super) from: u64,
    pub(super) bytes: Vec<u8>,
    /// The offset at which the next part begins.
    pub(super) next: u64,
    /// The number of bytes that were written so far.
    pub(super) total: u64,
}

/// Returns a part of a command's output.
pub(super) async fn output(call: &Call<'_>, output: Output) -> Reply {
    let wait = Duration::from_secs(output.wait_seconds.min(WAIT_SECONDS_MAX));
    let (open, execution) = commands::find(call, &output.id).await?;
    if execution.state() == ExecutionState::PendingApproval {
        let wait = wait.max(Duration::from_secs(1));
        match call.follow(&open, execution, wait, OnCancel::Leave).await {
            Ok(Left::Running(_)) => {}
            left => return commands::reply(call, &output.id, left).await,
        }
    }
    let offset = output.offset.unwrap_or_else(|| call.workspace.offset(&output.id));
    let length = output.length.unwrap_or(PART_BYTES).clamp(1, PART_BYTES_MAX);
    view(call, &open, &output.id, offset, length, wait).await
}

/// Writes to a command's input, and returns the output that follows.
pub(super) async fn input(call: &Call<'_>, input: Input) -> Reply {
    let (open, _) = commands::find(call, &input.id).await?;
    match timeout(TAKE, write(&open.client, &input)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(call.failed(&error).await),
        Err(_) => {
            return Err(text::note(
                "the command does not read its input; only a part of the text was written",
            ));
        }
    }
    let offset = call.workspace.offset(&input.id);
    let wait = Duration::from_secs(input.wait_seconds.min(WAIT_SECONDS_MAX));
    view(call, &open, &input.id, offset, PART_BYTES, wait).await
}

async fn write(client: &Client, input: &Input) -> Result<(), ClientError> {
    let written = client.type_into(&input.id, None, &mut input.text.as_bytes()).await?;
    if input.end {
        client.write_stdin(&input.id, written.accepted, &mut tokio::io::empty()).await?;
    }
    Ok(())
}

/// Returns a part of the output as soon as it has a byte, the command has ended, or `wait` is over.
async fn view(call: &Call<'_>, open: &Open, id: &str, offset: u64, length: u64, wait: Duration) -> Reply {
    let viewed = Box::pin(call.asking(open, id, grown(&open.client, id, offset, length, wait))).await;
    let Some(viewed) = viewed else {
        return Err(text::note("the tool call was cancelled; the command is unchanged"));
    };
    let (execution, part) = match viewed {
        Ok(viewed) => viewed,
        Err(error) => return Err(call.failed(&error).await),
    };
    call.workspace.has_read(id, part.next);
    if execution.state() == ExecutionState::Finished && part.next >= part.total {
        call.workspace.ended(id);
    }
    let mut out = shown(&execution, &part, offset);
    if execution.state() == ExecutionState::Running {
        match question::about(open, id, "").await {
            Ok(Some(approval)) => out.push_str(&text::note(&text::asked(&approval))),
            Ok(None) => {}
            Err(error) => return Err(call.failed(&error).await),
        }
    }
    Ok(out)
}

async fn grown(
    client: &Client,
    id: &str,
    offset: u64,
    length: u64,
    wait: Duration,
) -> Result<(Execution, Part), ClientError> {
    let began = Instant::now();
    loop {
        // The state is read first: after the end of a command, its output does not grow.
        let execution = client.execution(id).await?;
        let part = part(client, id, offset, length).await?;
        let rest = wait.saturating_sub(began.elapsed());
        if !part.bytes.is_empty() || execution.state() == ExecutionState::Finished || rest.is_zero() {
            return Ok((execution, part));
        }
        client.wait(id, LOOK.min(rest)).await?;
    }
}

/// Reads at most `length` bytes of the output from `offset` on.
pub(super) async fn part(client: &Client, id: &str, offset: u64, length: u64) -> Result<Part, ClientError> {
    let mut reader = client.read_output(id, OutputStream::Stdout, Selection::Range { offset, length });
    let mut part = Part { from: offset, next: offset, ..Part::default() };
    while let Some(piece) = reader.next().await? {
        match piece {
            OutputPiece::Bytes { offset, data } => take(&mut part, offset, &data),
            OutputPiece::Gap { to, .. } if part.bytes.is_empty() => (part.from, part.next) = (to, to),
            // The bytes before the gap are one part, and those after it the next.
            OutputPiece::Gap { .. } => break,
            OutputPiece::Done(done) => part.total = done.total,
            OutputPiece::Line(_) => {}
        }
    }
    part.total = part.total.max(part.next);
    let whole = text::whole_characters(&part.bytes);
    if part.next < part.total {
        part.next -= (part.bytes.len() - whole) as u64;
        part.bytes.truncate(whole);
    }
    Ok(part)
}

fn take(part: &mut Part, offset: u64, data: &Bytes) {
    part.bytes.extend_from_slice(data);
    part.next = offset + data.len() as u64;
}

fn shown(execution: &Execution, part: &Part, offset: u64) -> String {
    let mut out = text::output(&part.bytes);
    if part.from > offset {
        out.insert_str(0, &text::note(&format!("bytes {offset} to {} are no longer held", part.from)));
    }
    let Part { from, next, total, .. } = part;
    let read = format!("bytes {from} to {next} of {total}");
    if next < total {
        out.push_str(&text::note(&format!("{read}; call `output` again for the rest (offset {next})")));
        return out;
    }
    let Some(outcome) = execution.result.as_ref().filter(|_| execution.state() == ExecutionState::Finished)
    else {
        out.push_str(&text::note(&format!("{read}; the command still runs")));
        return out;
    };
    let end = if succeeded(outcome) { "exited with code 0".to_owned() } else { sentence(Some(outcome)) };
    out.push_str(&text::note(&format!("{read}; the command has ended: {end}")));
    for note in outcome.notes.iter().filter(|note| note.code != text::SHORTENED) {
        out.push_str(&text::note(&escape::line(note.text.as_bytes())));
    }
    out
}
