//! `airlock attach`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::Args;

use super::{
    Failure, args,
    connect::Connect,
    follow::{How, follow},
};
use crate::client::From;

/// Show an execution's output from its beginning or from where you were, until it ends.
///
/// Ctrl-C ends the view and not the command.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'seq 1 200000')\n  airlock attach $id | tail -n 1\n  airlock attach --from-offset 1048576 $id | head -n 1\n  cursor=$(airlock attach --json $id | jq -rs '.[1].cursor')\n  airlock attach --json --cursor $cursor $id | tail -n 1\n\nExit codes: as of `airlock run`; 130 when left by Ctrl-C."
)]
pub(super) struct Attach {
    #[command(flatten)]
    connect: Connect,
    /// The execution.
    #[arg(value_name = "ID")]
    id: String,
    /// The cursor of the last event that was seen, as --json shows it (base64).
    #[arg(long, value_name = "CURSOR", value_parser = cursor, conflicts_with = "from_offset")]
    cursor: Option<bytes::Bytes>,
    /// The offset of the first byte of output to show.
    #[arg(long, value_name = "BYTES", value_parser = args::number)]
    from_offset: Option<u64>,
    /// Print events as JSON lines instead of the output.
    #[arg(long)]
    json: bool,
}

impl Attach {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let from = match (self.cursor, self.from_offset) {
            (Some(cursor), _) => From::Cursor(cursor),
            // Of standard error, where that is apart, everything is shown.
            (None, Some(stdout)) => From::Offsets { stdout, stderr: 0 },
            (None, None) => From::Beginning,
        };
        let how = How { json: self.json, dev: self.connect.dev_folder(), ..How::default() };
        let client = self.connect.client().await?;
        follow(&client, client.attach(self.id, from), how).await
    }
}

pub(super) fn cursor(text: &str) -> Result<bytes::Bytes, String> {
    let bytes = STANDARD.decode(text).map_err(|_| "it is not base64 as --json shows it")?;
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(bytes.into())
}
