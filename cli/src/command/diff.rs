//! `airlock diff`.

use std::{ffi::OsString, io::IsTerminal as _};

use clap::Args;

use super::{Failure, connect::Connect, output, place::Remote};
use crate::{
    client::v1::{FileChange, FileFilter, FileServiceDiffRequest, PageRequest},
    render::{changes, escape, files, json},
};

/// Entries asked for at once; with patches they may be long.
const PAGE: i32 = 100;
/// What git keeps for itself.
const GIT: [&str; 2] = [".git", "**/.git"];

/// Show what has changed in a session's workspace since it was made.
///
/// Compared is with the base that the workspace was copied from, and for what was uploaded, with what was
/// uploaded. The patch is in the form of `git diff`, and can be applied with `git apply`; what is not text, or
/// too long, is named without one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  mkdir project && seq 1 5 > project/numbers\n  id=$(airlock session create)\n  airlock cp project $id:\n  airlock run --session $id -- 'sed -i s/3/three/ project/numbers && touch project/new'\n  airlock diff $id\n  airlock diff --stat $id:project\n  airlock diff --name-only $id"
)]
pub(super) struct Diff {
    #[command(flatten)]
    connect: Connect,
    /// The changes of files as unified diffs (the default).
    #[arg(short, long, conflicts_with_all = ["stat", "name_only", "name_status"])]
    patch: bool,
    /// How many lines of which files changed.
    #[arg(long, conflicts_with_all = ["name_only", "name_status"])]
    stat: bool,
    /// Only the paths.
    #[arg(long, conflicts_with = "name_status")]
    name_only: bool,
    /// The paths, each with A (added), M (modified) or D (deleted).
    #[arg(long)]
    name_status: bool,
    /// What is in `.git` folders, too.
    #[arg(short, long)]
    all: bool,
    /// Leave out files and folders: a glob over the path below PATH; may be repeated.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// One JSON object a line; with patches unless --name-only or --name-status is given.
    #[arg(long, conflicts_with = "stat")]
    json: bool,
    /// The session, and the file or folder in its workspace [default: the workspace].
    #[arg(value_name = "SESSION[:PATH]")]
    place: OsString,
}

impl Diff {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let place = Remote::read(&self.place)?;
        airlock_archive::globs(&self.exclude)
            .map_err(|error| Failure::usage(format!("--exclude: {error}")))?;
        let client = self.connect.client().await?;
        let mut exclude = self.exclude.clone();
        if !self.all {
            exclude.extend(GIT.map(str::to_owned));
        }
        let mut request = FileServiceDiffRequest {
            session_id: place.session,
            page: Some(PageRequest { page_size: PAGE, page_token: String::new() }),
            filter: Some(FileFilter { exclude, ..Default::default() }),
            patch: !self.name_only && !self.name_status,
            ..Default::default()
        }
        .with_path(place.path);
        let colours = std::io::stdout().is_terminal();
        let mut all = Vec::new();
        loop {
            let answer = client.changes(request.clone()).await?;
            if self.stat {
                let files = answer.changes.iter().filter(|change| !changes::is_folder(change));
                all.extend(files.map(changes::Line::of));
            } else {
                answer.changes.iter().try_for_each(|change| self.show(change, colours))?;
            }
            if answer.next_page_token.is_empty() {
                break;
            }
            request.page = Some(PageRequest { page_size: PAGE, page_token: answer.next_page_token });
        }
        if self.stat && !all.is_empty() {
            output::print(&changes::stat(&all))?;
        }
        Ok(0)
    }

    fn show(&self, change: &FileChange, terminal: bool) -> Result<(), Failure> {
        if self.json {
            return output::print_json(&json::change(change));
        }
        if self.name_only || self.name_status {
            let mut line = Vec::new();
            if self.name_status {
                line.extend_from_slice(format!("{}\t", changes::letter(change)).as_bytes());
            }
            let name = files::typed(changes::path(change));
            match terminal {
                true => line.extend_from_slice(escape::name(name).as_bytes()),
                false => line.extend_from_slice(name),
            }
            line.push(b'\n');
            return output::print_bytes(&line);
        }
        // As git, a patch knows files only.
        if changes::is_folder(change) {
            return Ok(());
        }
        let patch = changes::patch(change);
        match terminal {
            true => output::print_painted(&changes::coloured(&patch)),
            false => output::print_bytes(&patch),
        }
    }
}
