//! `airlock quarantine`.

use clap::{Args, Subcommand};

use super::{
    Failure,
    connect::Connect,
    list::{ListForm, every_page, show},
    output,
};
use crate::render::{escape, files, json, table::table};
use airlock_client::v1;

/// List files that were moved from a workspace or HOME into quarantine, and restore them.
///
/// Some file names hold code or settings that other programs run later (hooks, .bashrc, .vscode, ...). If a command
/// creates or changes such a file without an approval, Airlock moves the new file into the quarantine and restores the
/// previous one. Commands cannot reach the quarantine, and Airlock deletes no file in it.
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

/// List the entries of a session's quarantine, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  id=$(airlock session create)\n  airlock quarantine list $id")]
pub(super) struct List {
    #[command(flatten)]
    connect: Connect,
    /// Print only the IDs, one per line.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON object per line.
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
        let form = ListForm { quiet: self.quiet, json: self.json };
        show(&list, form, |file| &file.id, json::quarantined, |list, _| shown(list))
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

/// Restore an entry from the quarantine, and print its path.
///
/// The file returns to its previous path with its previous contents, and Airlock accepts this version. A file
/// that now exists at that path is moved into the quarantine. You need permission to answer approvals.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  id=$(airlock session create)
  echo 'echo PS1=x > .bashrc' | airlock cp - $id:make.sh
  airlock run --session $id -- 'sh make.sh'          # .bashrc is moved to the quarantine
  airlock quarantine restore $id $(airlock quarantine list --quiet $id)")]
pub(super) struct Restore {
    #[command(flatten)]
    connect: Connect,
    /// The session.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The entry to restore.
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
            output::note(&format!("the replaced file is now in the quarantine as `{replaced}`"));
        }
        Ok(0)
    }
}
