//! Forwarding of standard input to a command. Nothing is read before the command can take it.

use tokio::{io, sync::watch};

use super::super::{failure::describe, output};
use airlock_client::{Client, ClientError};

/// The error reasons that mean that the command takes no more input. They are not reported.
const NO_MORE: [&str; 2] = ["NOT_RUNNING", "STDIN_CLOSED"];

/// Forwards all of standard input and then its end, starting when the command runs.
pub(super) async fn forward(
    client: &Client,
    mut id: watch::Receiver<Option<String>>,
    mut runs: watch::Receiver<bool>,
) {
    let Ok(id) = id.wait_for(Option::is_some).await.map(|id| id.clone().unwrap_or_default()) else {
        return;
    };
    if runs.wait_for(|runs| *runs).await.is_err() {
        return;
    }
    if let Err(error) = client.write_stdin(&id, 0, &mut io::stdin()).await
        && !takes_no_more(&error)
    {
        output::note(&format!("standard input is no longer forwarded: {}", describe(&error)));
    }
}

fn takes_no_more(error: &ClientError) -> bool {
    error.rejection().is_some_and(|rejection| NO_MORE.contains(&rejection.reason.as_str()))
}
