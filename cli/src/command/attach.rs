//! `airlock attach` and `airlock watch`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::Args;

use super::{
    Failure, args,
    connect::Connect,
    follow::{ViewOptions, follow},
    output,
    terminal::TerminalOptions,
};
use crate::render::{cause, json, names};
use airlock_client::{
    Client, From, OutputPiece, Selection,
    v1::{self, Execution, WatchKind},
};
use bytes::Bytes;

/// Show the output of an execution, from its beginning or from a given position, until it ends.
///
/// Ctrl-C ends the view, not the command. With -it, this terminal becomes the terminal of a command that was started
/// with one: it provides the keys and the size. Another client that was attached with -it is disconnected with a
/// message.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'seq 1 200000')\n  airlock attach $id | tail -n 1\n  airlock attach --from-offset 1048576 $id | head -n 1\n  cursor=$(airlock attach --json $id | jq -rs '.[1].cursor')\n  airlock attach --json --cursor $cursor $id | tail -n 1\n\nExit codes: as for `airlock run`; 130 if Ctrl-C ended the view or another client took the terminal."
)]
pub(super) struct Attach {
    #[command(flatten)]
    connect: Connect,
    /// The execution.
    #[arg(value_name = "ID")]
    id: String,
    /// Continue after the event with this cursor, as --json prints it (base64).
    #[arg(long, value_name = "CURSOR", value_parser = cursor, conflicts_with = "from_offset")]
    cursor: Option<Bytes>,
    /// The offset of the first byte of output to show.
    #[arg(long, value_name = "BYTES", value_parser = args::number)]
    from_offset: Option<u64>,
    /// Print events as JSON lines instead of the output.
    #[arg(long)]
    json: bool,
    /// Accepted together with --tty, which implies it.
    #[arg(short, long, requires = "tty")]
    interactive: bool,
    #[command(flatten)]
    notes: args::Notes,
    #[command(flatten)]
    terminal: TerminalOptions,
}

/// The number of bytes of earlier output that an attached terminal shows.
const SHOWN: u64 = 4096;

impl Attach {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let terminal = self.terminal.terminal(true)?;
        let on_terminal = terminal.is_some();
        let client = self.connect.client().await?;
        let from = match (self.cursor, self.from_offset) {
            (Some(cursor), _) => From::Cursor(cursor),
            // A separate standard error is always shown from its beginning.
            (None, Some(stdout)) => From::Offsets { stdout, stderr: 0 },
            (None, None) if on_terminal => last_lines(&client, &self.id).await?,
            (None, None) => From::Beginning,
        };
        let (dev, notes) = (self.connect.dev_directory(), self.notes.wanted());
        let options = ViewOptions { json: self.json, dev, terminal, notes, ..ViewOptions::default() };
        follow(&client, client.attach(self.id, from), options).await
    }
}

/// Returns the position of the last [`SHOWN`] bytes of the output of a command with a terminal.
async fn last_lines(client: &Client, id: &str) -> Result<From, Failure> {
    if client.execution(id).await?.pty.is_none() {
        return Err(Failure::new(format!("execution `{id}` has no terminal; attach to it without --tty")));
    }
    let any = Selection::Range { offset: 0, length: 1 };
    let mut reader = client.read_output(id, v1::OutputStream::Stdout, any);
    let mut stdout = 0;
    while let Some(piece) = reader.next().await? {
        if let OutputPiece::Done(done) = piece {
            stdout = done.total.saturating_sub(SHOWN);
        }
    }
    Ok(From::Offsets { stdout, stderr: 0 })
}

pub(super) fn cursor(text: &str) -> Result<Bytes, String> {
    let bytes = STANDARD.decode(text).map_err(|_| "expected a cursor in base64, as --json prints it")?;
    if bytes.is_empty() {
        return Err("the cursor is empty".to_owned());
    }
    Ok(bytes.into())
}

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
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
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
                output::print(&format!("{}\n", event_line(event.kind(), execution)))?;
            }
        }
        Ok(0)
    }
}

fn event_line(kind: WatchKind, execution: &Execution) -> String {
    let name = names::lower::<WatchKind>(kind.into());
    let end = match (kind, execution.result.as_ref()) {
        (WatchKind::Finished, result @ Some(_)) => format!("   {}", cause::short(result)),
        _ => String::new(),
    };
    format!("{name:<12}   {}   {}{end}", execution.execution_id, execution.session_id)
}
