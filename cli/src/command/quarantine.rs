//! `airlock quarantine`.

use clap::{Args, Subcommand};

use super::{
    Failure,
    connect::Connect,
    list::{every_page, ids, lines},
    output,
};
use crate::{
    client::v1,
    render::{escape, files, json, table::table},
};

/// List files that were moved out of a workspace or HOME into quarantine, and restore them.
///
/// A command that makes or changes a name whose content runs later (a hook, .bashrc, .vscode, ...) without
/// anybody having decided about it loses it to the quarantine: it is where no command reaches it, and nothing of
/// it is deleted. What stood there before is there again.
#[derive(Debug, Subcommand)]
pub(super) enum Quarantine {
    #[command(visible_alias = "ls")]
    List(List),
    Restore(Restore),
}

impl Quarantine {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        match self {
            Self::List(list) => list.run().await,
            Self::Restore(restore) => restore.run().await,
        }
    }
}

/// List what is in a session's quarantine, the oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  id=$(airlock session create)\n  airlock quarantine list $id")]
pub(super) struct List {
    #[command(flatten)]
    connect: Connect,
    /// Only the ids, one a line.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// The session.
    #[arg(value_name = "SESSION")]
    session: String,
}

impl List {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let list = every_page(async |page| {
            let session_id = self.session.clone();
            let answer = client.quarantine(v1::FileServiceListQuarantineRequest { session_id, page }).await?;
            Ok((answer.files, answer.next_page_token))
        })
        .await?;
        if self.quiet {
            return ids(list.iter().map(|file| &file.id));
        }
        if self.json {
            return lines(list.iter().map(json::quarantined));
        }
        output::print(&shown(&list))?;
        Ok(0)
    }
}

fn shown(list: &[v1::QuarantinedFile]) -> String {
    let row = |file: &v1::QuarantinedFile| {
        let info = file.info.clone().unwrap_or_default();
        let path = escape::name(info.path());
        [
            file.id.clone(),
            escape::line(file.reason.as_bytes()),
            files::mode(&info),
            info.size.to_string(),
            path,
        ]
    };
    let rows: Vec<_> = list.iter().map(row).collect();
    table(["ID", "REASON", "MODE", "BYTES", "PATH"], &rows)
}

/// Give something back from the quarantine, and print where it is.
///
/// It is where it was and as it was, and belongs there from then on. What stands there by now is moved into the
/// quarantine itself. Who may approve commands may do this.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  id=$(airlock session create)
  echo 'echo PS1=x > .bashrc' | airlock cp - $id:make.sh
  airlock run --session $id -- 'sh make.sh'          # loses .bashrc to the quarantine
  airlock quarantine restore $id $(airlock quarantine list --quiet $id)")]
pub(super) struct Restore {
    #[command(flatten)]
    connect: Connect,
    /// The session.
    #[arg(value_name = "SESSION")]
    session: String,
    /// What to give back.
    #[arg(value_name = "ID")]
    id: String,
}

impl Restore {
    async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let answer = client.restore(&self.session, &self.id).await?;
        output::print(&format!("{}\n", escape::name(answer.path())))?;
        if !answer.replaced_id.is_empty() {
            let replaced = answer.replaced_id;
            output::note(&format!("what stood there is in the quarantine now, as `{replaced}`"));
        }
        Ok(0)
    }
}
