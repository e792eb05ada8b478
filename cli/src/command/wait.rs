//! `airlock wait` and `airlock kill`.

use std::time::Duration;

use airlock_domain::limits::WAIT_MAX;
use clap::Args;
use tokio::time::Instant;

use super::{
    Failure, args,
    connect::Connect,
    follow::{dev_has_ended, end_of, is_ending, is_gone},
    output,
};
use crate::render::{cause, execution::status, text};
use airlock_client::{
    Client, ClientError,
    v1::{Execution, ExecutionState},
};

/// Wait until an execution has ended, and return its exit code.
///
/// Use this to continue when a command of `airlock start` has ended.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  id=$(airlock start -- 'sleep 0.5')\n  airlock wait --timeout 5m $id\n  airlock wait --text $id\n\nExit codes: as for `airlock run`; 1 if the timeout expires first."
)]
pub(super) struct Wait {
    #[command(flatten)]
    connect: Connect,
    /// The execution.
    #[arg(value_name = "ID")]
    id: String,
    /// Give up after this time [default: never]
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// Print the output as text, shortened if it is long, followed by Airlock's notes.
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    notes: args::Notes,
}

impl Wait {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = match (self.connect.client().await, self.connect.dev_directory()) {
            (Err(failure), Some(directory)) if failure.is_passing() && is_ending(&directory).await => {
                return Err(dev_has_ended(Some(&self.id)));
            }
            (client, _) => client?,
        };
        let execution = match until_end(&client, &self.id, self.timeout).await {
            Err(ClientError::Transport { .. }) if self.dev_is_gone(&client) => {
                return Err(dev_has_ended(Some(&self.id)));
            }
            done => done?,
        };
        if execution.state() != ExecutionState::Finished {
            return Err(Failure::new(format!(
                "execution `{}` has not ended ({}); wait again, or end it with `airlock kill {}`",
                self.id,
                status(&execution),
                self.id
            )));
        }
        let notes = self.notes.wanted();
        if let (true, Some(outcome)) = (self.text, &execution.result) {
            output::print_exact(&text::result(outcome, notes))?;
            return Ok(cause::exit_code(Some(outcome)));
        }
        Ok(end_of(&execution, notes))
    }

    fn dev_is_gone(&self, client: &Client) -> bool {
        self.connect.dev_directory().is_some_and(|directory| is_gone(&directory, client.address()))
    }
}

async fn until_end(client: &Client, id: &str, timeout: Option<Duration>) -> Result<Execution, ClientError> {
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let left = end.map_or(WAIT_MAX, |end| end.saturating_duration_since(Instant::now()));
        // A zero timeout would select the server's default, which is longer.
        let execution = client.wait(id, left.clamp(Duration::from_millis(1), WAIT_MAX)).await?;
        if execution.state() == ExecutionState::Finished || left.is_zero() {
            return Ok(execution);
        }
    }
}

/// End executions: SIGTERM to all their processes, a grace period, then SIGKILL.
///
/// An execution that waits for its turn or for an approval ends at once. Wait for the end with `airlock wait`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'sleep 100')\n  airlock kill $id\n  airlock ps --quiet | xargs -r airlock kill  # everything that has not ended"
)]
pub(super) struct Kill {
    #[command(flatten)]
    connect: Connect,
    /// The executions.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl Kill {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let mut failed = None;
        for id in &self.ids {
            match client.cancel(id).await {
                Ok(execution) => output::print(&format!("{id}: {}\n", outcome(&execution)))?,
                Err(error) => {
                    let failure = Failure::from(error);
                    output::report(&failure);
                    failed = Some(failure.code());
                }
            }
        }
        Ok(failed.unwrap_or(0))
    }
}

fn outcome(execution: &Execution) -> String {
    match execution.state() {
        ExecutionState::Finished => status(execution),
        _ => format!("cancelling; current state: {}", status(execution)),
    }
}
