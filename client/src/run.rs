//! Commands that are run or waited for to their end: the result, or one error that says why there is none.

use std::time::Duration;

use bytes::Bytes;
use tokio::{task::JoinSet, time::timeout};

use super::{
    Client, ClientError, Denial, Events,
    client::with_request_id,
    denial::is_denied,
    kind::{APPROVAL_REQUIRED, DENIED},
    v1::{Event, Execution, ExecutionSpec, event::Event as Kind},
};

/// The time limit of one wait.
const WAIT: Duration = Duration::from_secs(30);
/// The time limit for the end of a command whose caller stops waiting.
const KILL: Duration = Duration::from_secs(5);

/// The options of [`run_to_end`].
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The input of the command, which ends with it.
    pub input: Option<Bytes>,
    /// The time after which the call fails with [`ClientError::Deadline`], and cancels the command.
    pub deadline: Option<Duration>,
    /// Lets the command continue after the deadline.
    pub keep_after_deadline: bool,
}

/// Runs a command to its end, or until it continues in the background, and returns the execution as it was then.
/// `on_event` receives each event once. Dropping the call ends the view, not the command.
///
/// # Errors
/// [`ClientError::Denied`] if policy or a person denies the command, [`ClientError::Deadline`] after the deadline,
/// and those of [`Events::next`].
pub async fn run_to_end(
    client: &Client,
    mut spec: ExecutionSpec,
    options: RunOptions,
    mut on_event: impl FnMut(&Event) + Send,
) -> Result<Execution, ClientError> {
    spec.stdin |= options.input.is_some();
    let spec = with_request_id(spec);
    let mut events = client.run(spec.clone());
    let following = follow(client, &mut events, options.input, &mut on_event);
    let followed = match options.deadline {
        Some(limit) => timeout(limit, following).await,
        None => Ok(following.await),
    };
    let Ok(followed) = followed else {
        let what = if options.keep_after_deadline { "it continues" } else { "it was ended" };
        let message = format!("the command has not ended before the deadline; {what}");
        if !options.keep_after_deadline && events.may_have_started() {
            // Without an answer, the error still names the execution.
            let _ = timeout(KILL, end(client, &events, spec)).await;
        }
        return Err(ClientError::Deadline {
            message,
            execution_id: events.execution_id().map(str::to_owned),
        });
    };
    match followed {
        Ok(execution) if is_denied(&execution) => {
            // Closing events do not have the decision.
            checked(client.execution(&execution.execution_id).await.unwrap_or(execution))
        }
        Ok(execution) => Ok(execution),
        Err(error) => Err(explained(client, error).await),
    }
}

/// Waits for the end of an execution, also in the background, and returns it.
///
/// # Errors
/// [`ClientError::Denied`] if it was denied, [`ClientError::Deadline`] after the deadline; the command continues.
pub async fn wait_to_end(
    client: &Client,
    execution_id: &str,
    deadline: Option<Duration>,
) -> Result<Execution, ClientError> {
    let waiting = async {
        loop {
            let execution = client.wait(execution_id, WAIT).await?;
            if execution.result.is_some() {
                return checked(execution);
            }
        }
    };
    let Some(limit) = deadline else { return waiting.await };
    timeout(limit, waiting).await.unwrap_or_else(|_| {
        Err(ClientError::Deadline {
            message: format!("the execution {execution_id} has not ended before the deadline; it continues"),
            execution_id: Some(execution_id.to_owned()),
        })
    })
}

async fn follow(
    client: &Client,
    events: &mut Events,
    mut input: Option<Bytes>,
    on_event: &mut (impl FnMut(&Event) + Send),
) -> Result<Execution, ClientError> {
    // The task ends with this call.
    let mut writer = JoinSet::new();
    while let Some(event) = events.next().await? {
        on_event(&event);
        match event.event {
            Some(Kind::Opened(opened)) => {
                if let (Some(execution), Some(data)) = (opened.execution, input.take()) {
                    let client = client.clone();
                    // A command may end without reading its input. Its result shows how it ended.
                    writer.spawn(async move {
                        client.write_stdin(&execution.execution_id, 0, &mut data.as_ref()).await
                    });
                }
            }
            Some(Kind::Finished(last)) => return client.connection.present(last.execution, "execution"),
            Some(Kind::Backgrounded(last)) => {
                return client.connection.present(last.execution, "execution");
            }
            _ => {}
        }
    }
    Err(client.connection.contract("the events ended without a closing event"))
}

/// Cancels a command whose start may not have been answered. With the same request ID, a start returns it.
async fn end(client: &Client, events: &Events, spec: ExecutionSpec) -> Result<(), ClientError> {
    let id = match events.execution_id() {
        Some(id) => id.to_owned(),
        None => client.start(spec).await?.execution_id,
    };
    client.cancel(&id).await.map(drop)
}

/// Adds to the refusal of a command the execution that it names.
async fn explained(client: &Client, error: ClientError) -> ClientError {
    let rejection = error.rejection().filter(|no| [DENIED, APPROVAL_REQUIRED].contains(&no.reason.as_str()));
    let Some(id) = rejection.and_then(|no| no.execution_id.clone()) else { return error };
    match client.execution(&id).await {
        Ok(execution) if is_denied(&execution) => ClientError::Denied(Box::new(Denial { execution })),
        _ => error,
    }
}

/// Returns the execution, or an error if it was denied.
fn checked(execution: Execution) -> Result<Execution, ClientError> {
    if is_denied(&execution) {
        return Err(ClientError::Denied(Box::new(Denial { execution })));
    }
    Ok(execution)
}
