//! The tools that run, start and end commands.

use std::time::Duration;

use airlock_client::v1::{CauseCode, Execution, ExecutionSpec, ExecutionState};
use airlock_escape as escape;

use super::arguments::{Command, Stop};
use crate::{
    call::{Call, Left, OnCancel, STOP},
    text::{self, Reply},
    workspace::Open,
};

/// The time that `start` waits, so that a command that fails at once is reported at once.
const FIRST_LOOK: Duration = Duration::from_millis(300);
/// The hint for a command whose time was over.
const TIMED_OUT: &str =
    "to give it more time, set `timeout_seconds`; for a command that does not end, use `start`";
/// The columns of a wrong ID in a text.
const ID_COLUMNS: usize = 60;
/// The maximum length of a description in bytes.
const DESCRIPTION_BYTES: usize = 1024;

/// Runs a command to its end.
pub(super) async fn run(call: &Call<'_>, command: Command) -> Reply {
    let open = call.open().await?;
    let execution = call.start(&open, spec(command)).await?;
    let id = execution.execution_id.clone();
    let wait = call.workspace.options().wait;
    match call.follow(&open, execution, wait, OnCancel::End).await {
        Ok(Left::Running(waiting)) => {
            // A command that waits for its turn cannot be detached; its view ends all the same.
            let _ = open.client.detach(&id).await;
            Ok(text::running(&id, waiting.as_deref()))
        }
        Ok(Left::Finished(execution)) if has_timed_out(&execution) => {
            let hint = text::note(TIMED_OUT);
            text::finished(&execution).map(|text| text + &hint)
        }
        left => reply(call, &id, left).await,
    }
}

/// Starts a command in the background.
pub(super) async fn start(call: &Call<'_>, command: Command) -> Reply {
    let open = call.open().await?;
    let spec = ExecutionSpec { background: true, stdin: true, ..spec(command) };
    let execution = call.start(&open, spec).await?;
    let id = execution.execution_id.clone();
    let limit = match execution.state() {
        ExecutionState::PendingApproval => call.workspace.options().wait,
        _ => FIRST_LOOK,
    };
    let left = call.follow(&open, execution, limit, OnCancel::End).await;
    reply(call, &id, left).await
}

/// Ends a command.
pub(super) async fn stop(call: &Call<'_>, stop: Stop) -> Reply {
    let (open, execution) = find(call, &stop.id).await?;
    let execution = match execution.state() {
        ExecutionState::Finished => execution,
        _ => match open.client.cancel(&stop.id).await {
            Ok(_) => match open.client.wait(&stop.id, STOP).await {
                Ok(execution) => execution,
                Err(error) => return Err(call.failed(&error).await),
            },
            Err(error) => return Err(call.failed(&error).await),
        },
    };
    if execution.state() != ExecutionState::Finished {
        return Err(text::note("the command is being ended, and has not ended yet; call `stop` again"));
    }
    call.workspace.ended(&stop.id);
    // A command that was ended as requested is no error.
    Ok(text::finished(&execution).unwrap_or_else(|text| text))
}

fn has_timed_out(execution: &Execution) -> bool {
    let cause = execution.result.as_ref().and_then(|outcome| outcome.cause.as_ref());
    cause.is_some_and(|cause| cause.code() == CauseCode::TimedOut)
}

/// Returns an execution of this connection's session.
pub(super) async fn find(call: &Call<'_>, id: &str) -> Result<(Open, Execution), String> {
    if !is_identifier(id) {
        let id = escape::shortened(id.as_bytes(), ID_COLUMNS);
        return Err(text::note(&format!(
            "`{id}` is not the ID of a command; use the ID in the text of `run` or `start`"
        )));
    }
    let open = call.open().await?;
    match open.client.execution(id).await {
        Ok(execution) if execution.session_id == open.session => Ok((open, execution)),
        Ok(_) => Err(text::note(&format!("execution {id} is not one of this session"))),
        Err(error) => Err(call.failed(&error).await),
    }
}

/// Returns the reply for a command that was followed.
pub(super) async fn reply(
    call: &Call<'_>,
    id: &str,
    left: Result<Left, airlock_client::ClientError>,
) -> Reply {
    match left {
        Ok(Left::Finished(execution)) => text::finished(&execution),
        Ok(Left::Pending(text)) => Err(text),
        Ok(Left::Running(waiting)) => Ok(text::running(id, waiting.as_deref())),
        Ok(Left::Cancelled) => Err(text::note("the tool call was cancelled")),
        Err(error) => Err(call.failed(&error).await),
    }
}

/// Reports whether the text has the form of an ID: a UUID with hyphens.
fn is_identifier(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn spec(command: Command) -> ExecutionSpec {
    let seconds = command.timeout_seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    ExecutionSpec {
        command: command.command,
        timeout: seconds.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
        description: shortened(command.description),
        ..Default::default()
    }
}

/// Returns the beginning of a description that is too long.
pub(super) fn shortened(mut description: String) -> String {
    description.truncate(description.floor_char_boundary(DESCRIPTION_BYTES));
    description
}
