//! `airlock watch`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use clap::Args;

use super::{Failure, args, attach, connect::Connect, output};
use crate::render::{cause, json, names};
use airlock_client::v1::{Execution, WatchKind};

/// Show the starts and ends of executions as they happen, for one session or for all.
///
/// Use this to react to executions without polling.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock watch --json --count 2 > events &     # stops after two events: a start and an end\n  sleep 1; airlock run -- true\n  wait; cat events"
)]
pub(super) struct Watch {
    #[command(flatten)]
    connect: Connect,
    /// Only executions of this session.
    #[arg(short, long, value_name = "ID", value_parser = args::session)]
    session: Option<String>,
    /// Continue after the event with this cursor, as --json prints it (base64) [default: from now
    /// on]
    #[arg(long, value_name = "CURSOR", value_parser = attach::cursor)]
    cursor: Option<Bytes>,
    /// Stop after this number of events.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = args::count::<u64>)]
    count: Option<u64>,
    /// Print one JSON object per line; the first one, `watching`, confirms that the watch is
    /// active.
    #[arg(long)]
    json: bool,
}

impl Watch {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let mut watch = client.watch(self.session.unwrap_or_default(), self.cursor.unwrap_or_default());
        let mut left = self.count;
        while left != Some(0) {
            let event = watch.next().await?;
            let shown = event.execution.as_ref();
            if shown.is_some() {
                left = left.map(|left| left - 1);
            }
            if self.json {
                let kind = match shown {
                    Some(_) => names::lower::<WatchKind>(event.kind),
                    None => "watching".to_owned(),
                };
                output::print_json(&serde_json::json!({
                    "event": kind,
                    "cursor": STANDARD.encode(&event.cursor),
                    "execution": shown.map(json::execution),
                }))?;
            } else if let Some(execution) = shown {
                output::print(&format!("{}\n", line(event.kind(), execution)))?;
            }
        }
        Ok(0)
    }
}

fn line(kind: WatchKind, execution: &Execution) -> String {
    let name = names::lower::<WatchKind>(kind.into());
    let end = match (kind, execution.result.as_ref()) {
        (WatchKind::Finished, result @ Some(_)) => format!("   {}", cause::short(result)),
        _ => String::new(),
    };
    format!("{name:<12}   {}   {}{end}", execution.execution_id, execution.session_id)
}
