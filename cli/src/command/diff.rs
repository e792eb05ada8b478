//! `airlock diff`.

use std::{ffi::OsString, io::IsTerminal as _};

use clap::Args;

use super::{Failure, connect::Connect, output, place::Remote};
use crate::render::{changes, escape, files, json};
use airlock_client::v1::{FileChange, FileFilter, FileServiceDiffRequest, PageRequest};

/// The number of entries per request. Entries with patches can be large.
const PAGE: i32 = 100;
/// The globs that match git's own directories.
const GIT: [&str; 2] = [".git", "**/.git"];

/// Show the changes in a session's workspace since it was created.
///
/// The workspace is compared with the base that it was copied from, and uploaded files with their uploaded
/// contents. The patch has the form of `git diff` and can be applied with `git apply`. Binary and very long
/// files are listed without a patch.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  mkdir project && seq 1 5 > project/numbers\n  id=$(airlock session create)\n  airlock cp project $id:\n  airlock run --session $id -- 'sed -i s/3/three/ project/numbers && touch project/new'\n  airlock diff $id\n  airlock diff --stat $id:project\n  airlock diff --name-only $id"
)]
pub(super) struct Diff {
    #[command(flatten)]
    connect: Connect,
    /// Show the changes as unified diffs (the default)
    #[arg(short, long, conflicts_with_all = ["stat", "name_only", "name_status"])]
    patch: bool,
    /// Show the number of changed lines per file.
    #[arg(long, conflicts_with_all = ["name_only", "name_status"])]
    stat: bool,
    /// Show only the paths.
    #[arg(long, conflicts_with = "name_status")]
    name_only: bool,
    /// Show the paths, each with A (added), M (modified) or D (deleted)
    #[arg(long)]
    name_status: bool,
    /// Include changes in `.git` directories.
    #[arg(short, long)]
    all: bool,
    /// Skip paths that match a glob below PATH; may be repeated.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Print one JSON object per line, with patches unless --name-only or --name-status is given.
    #[arg(long, conflicts_with = "stat")]
    json: bool,
    /// The session, and the file or directory in its workspace [default: the workspace]
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
                let files = answer.changes.iter().filter(|change| !changes::is_directory(change));
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
        // Like git, a patch contains only files.
        if changes::is_directory(change) {
            return Ok(());
        }
        let patch = changes::patch(change);
        match terminal {
            true => output::print_painted(&changes::coloured(&patch)),
            false => output::print_bytes(&patch),
        }
    }
}
