//! `airlock ls`.

use std::{ffi::OsString, io::IsTerminal as _};

use clap::Args;

use super::{Failure, connect::Connect, output, place::Remote};
use crate::render::{escape, files, json};
use airlock_client::v1::{FileFilter, FileInfo, FileServiceListRequest, FileType, PageRequest};

/// The number of entries per request.
const PAGE: i32 = 1000;

/// List the files of a session.
///
/// A relative PATH starts at the workspace's root; an absolute PATH is below /workspace, /tmp or the session's
/// HOME, /home/agent.
///
/// Names are written unchanged to a file or a pipe. On a terminal, characters that could change it are shown as
/// \u{..}.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock session create)\n  airlock run --session $id -- 'mkdir -p src/deep && touch src/a src/deep/b'\n  airlock ls $id\n  airlock ls -l $id:src\n  airlock ls -R --exclude deep $id:src\n  airlock ls -l $id:/tmp"
)]
pub(super) struct Ls {
    #[command(flatten)]
    connect: Connect,
    /// Also show permissions, sizes and times.
    #[arg(short, long)]
    long: bool,
    /// Accepted for users of ls; names that begin with a dot are always listed.
    #[arg(short, hide = true)]
    all: bool,
    /// List all files below the directory, with paths relative to it.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Skip paths that match a glob below PATH; may be repeated.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Print one JSON object per line.
    #[arg(long, conflicts_with = "long")]
    json: bool,
    /// The session, and the directory or file in it [default: the workspace]
    #[arg(value_name = "SESSION[:PATH]")]
    place: OsString,
}

impl Ls {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let place = Remote::read(&self.place)?;
        airlock_archive::globs(&self.exclude)
            .map_err(|error| Failure::usage(format!("--exclude: {error}")))?;
        let client = self.connect.client().await?;
        let info = client.stat(&place.session, &place.path).await?;
        if info.r#type() != FileType::Directory {
            return self.show(std::slice::from_ref(&info), info.path()).map(|()| 0);
        }
        let mut request = FileServiceListRequest {
            session_id: place.session,
            recursive: self.recursive,
            page: Some(PageRequest { page_size: PAGE, page_token: String::new() }),
            filter: Some(FileFilter { exclude: self.exclude.clone(), ..Default::default() }),
            ..Default::default()
        }
        .with_path(place.path);
        loop {
            let answer = client.files(request.clone()).await?;
            self.show(&answer.files, info.path())?;
            if answer.next_page_token.is_empty() {
                return Ok(0);
            }
            request.page = Some(PageRequest { page_size: PAGE, page_token: answer.next_page_token });
        }
    }

    fn show(&self, list: &[FileInfo], directory: &[u8]) -> Result<(), Failure> {
        if self.json {
            return list.iter().try_for_each(|file| output::print_json(&json::file(file)));
        }
        if self.long {
            return output::print(&files::long(list, |file| files::below(file.path(), directory)));
        }
        let escaped = std::io::stdout().is_terminal();
        let mut out = Vec::new();
        for file in list {
            let name = files::below(file.path(), directory);
            match escaped {
                true => out.extend_from_slice(escape::name(name).as_bytes()),
                false => out.extend_from_slice(name),
            }
            out.push(b'\n');
        }
        output::print_bytes(&out)
    }
}
