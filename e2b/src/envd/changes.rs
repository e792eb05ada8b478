//! Changes of files that Airlock has no call for: a command makes them, so policy, sandbox and audit apply.

use std::time::Duration;

use airlock_client::{
    RunOptions, cause, run_to_end,
    v1::{Execution, ExecutionSpec, OnAsk, Started},
};

use super::spec::quoted;
use crate::{
    entries,
    refusal::{Kind, Refusal},
    sandbox::Sandbox,
};

/// The time limit of such a command.
const LIMIT: Duration = Duration::from_secs(60);

/// Creates a directory, and the directories above it.
pub(super) async fn make_directory(sandbox: &Sandbox, path: &str) -> Result<(), Refusal> {
    run(sandbox, format!("mkdir -p -- {}", quoted(path)), "Create a directory").await
}

/// Moves a file or a directory. The directories above the destination are created.
pub(super) async fn move_file(sandbox: &Sandbox, from: &str, to: &str) -> Result<(), Refusal> {
    let (parent, from, to) = (quoted(entries::parent(to)), quoted(from), quoted(to));
    run(sandbox, format!("mkdir -p -- {parent} && mv -T -- {from} {to}"), "Move a file").await
}

/// Removes a file, or a directory with everything in it.
pub(super) async fn remove(sandbox: &Sandbox, path: &str) -> Result<(), Refusal> {
    run(sandbox, format!("rm -rf -- {}", quoted(path)), "Remove a file").await
}

async fn run(sandbox: &Sandbox, command: String, description: &str) -> Result<(), Refusal> {
    let spec = ExecutionSpec {
        command,
        session_id: sandbox.session.clone(),
        description: description.to_owned(),
        timeout: prost_types::Duration::try_from(LIMIT.min(sandbox.command_max)).ok(),
        on_ask: OnAsk::Fail.into(),
        separate_stderr: true,
        allow_concurrent: true,
        ..Default::default()
    };
    // The start and the queue take time, too.
    let options = RunOptions { deadline: Some(LIMIT), ..RunOptions::default() };
    let ended = Box::pin(run_to_end(sandbox.client(), spec, options, |_| {})).await?;
    match ended.result.as_ref().is_some_and(cause::succeeded) {
        true => Ok(()),
        false => Err(failed(&ended)),
    }
}

fn failed(execution: &Execution) -> Refusal {
    let result = execution.result.as_ref();
    let errors = result.and_then(|result| result.inline.as_ref()?.stderr.as_ref());
    let text = errors.map(|errors| errors.text.trim()).filter(|text| !text.is_empty());
    match (result.map(|result| result.started()), text) {
        (Some(Started::Yes), Some(text)) => Refusal::new(Kind::State, text),
        _ => Refusal::internal(cause::sentence(result)),
    }
}
