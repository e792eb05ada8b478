//! `airlock start`.

use clap::Args;

use super::{Failure, connect::Connect, follow::not_started, output, spec::Spec};
use crate::{
    client::v1,
    render::{cause, json},
};

/// Start a command, print its execution id, and leave it alone.
///
/// It keeps the session's order and its time-out, as with `run`, unless --background is given; a read-only command takes no
/// turn and may run beside others. See its output with `airlock logs`, wait for
/// its end with `airlock wait`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'for n in 1 2 3; do echo $n; sleep 0.1; done')\n  airlock logs --follow $id\n  airlock wait $id\n\nExit codes: 0 when it was taken; 125 when it did not run, with the reason on standard error; 1 when it is\nnot known whether it runs; 2 for wrong usage."
)]
pub(super) struct Start {
    #[command(flatten)]
    connect: Connect,
    /// The whole execution as JSON.
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

/// Starts it, and prints its id or all of it.
pub(super) async fn start(connect: &Connect, spec: v1::ExecutionSpec, json: bool) -> Result<u8, Failure> {
    let client = connect.client().await.map_err(|failure| failure.with_code(cause::NOT_RUN))?;
    match client.start(spec).await {
        Ok(execution) if json => output::print_json(&json::execution(&execution))?,
        Ok(execution) => output::print(&format!("{}\n", execution.execution_id))?,
        Err(error) => return Ok(not_started(&client, &error).await),
    }
    Ok(0)
}
