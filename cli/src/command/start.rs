//! `airlock start`.

use clap::Args;

use super::{Failure, connect::Connect, follow::not_started, output, spec::Spec};
use crate::render::{cause, json};
use airlock_client::v1;

/// Start a command, print its execution ID, and do not wait for it.
///
/// Use this for long commands. The command takes its turn in the session and has the same timeout as with `run`, unless
/// --background is given. A read-only command does not wait for its turn. Read the output with `airlock logs`, and wait
/// for the end with `airlock wait`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'for n in 1 2 3; do echo $n; sleep 0.1; done')\n  airlock logs --follow $id\n  airlock wait $id\n\nExit codes: 0 if the command was accepted; 125 if it did not run, with the reason on standard error; 1 if it\nis unknown whether it runs; 2 for wrong usage."
)]
pub(super) struct Start {
    #[command(flatten)]
    connect: Connect,
    /// Print the whole execution as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    spec: Spec,
}

impl Start {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let base = self.spec.base_name()?;
        start(&self.connect, self.spec.wire(base)?, self.json).await
    }
}

/// Starts a command, and prints its ID or the whole execution.
pub(super) async fn start(connect: &Connect, spec: v1::ExecutionSpec, json: bool) -> Result<u8, Failure> {
    let client = connect.client().await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
    match client.start(spec).await {
        Ok(execution) if json => output::print_json(&json::execution(&execution))?,
        Ok(execution) => output::print(&format!("{}\n", execution.execution_id))?,
        Err(error) => return Ok(not_started(&client, &error).await),
    }
    Ok(0)
}
