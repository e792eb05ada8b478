//! `airlock cp`.

mod download;
mod upload;

use std::{ffi::OsString, io::IsTerminal as _, path::Path, time::Duration};

use clap::Args;

use super::{
    Failure,
    connect::Connect,
    interrupt::Interrupts,
    output,
    place::{self, CopySide, EXAMPLE, Remote},
};
use crate::render::{cause, escape};
use airlock_client::{Client, ClientError, DirectoryOptions, Progress, v1};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

/// The exit code of a copy that Ctrl-C interrupted.
const LEFT: u8 = 130;

/// Copy files and directories into a session or out of it.
///
/// One side is SESSION:PATH. A relative PATH starts at the workspace's root; an absolute PATH is below
/// /workspace, /tmp or the session's HOME, /home/agent. The meaning of DST is that of `docker cp`:
///
/// A file that is copied to a new name becomes that file. Copied to a file, it replaces the file. Copied to a
/// directory, it is placed in the directory. A name that ends with a slash must be an existing directory.
///
/// A directory that is copied to a new name becomes that directory. Copied to a directory, it is placed in it
/// under its own name; if SRC ends with `/.`, only its contents are. Copying a directory to a file is refused.
///
/// SRC `-` is standard input. If DST is a directory or ends with a slash, the input is a tar archive (or .tar.gz);
/// otherwise it is the contents of the file DST. DST `-` is standard output: a file as it is, a directory as a tar
/// archive.
///
/// Links inside directories are copied as links. Owners are not copied. airlock writes to DST only after all data has
/// arrived and was checked.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  mkdir project && echo 'echo hello' > project/hello.sh\n  id=$(airlock session create)\n  airlock cp project $id:                        # becomes /workspace/project\n  airlock run --session $id -- 'sh project/hello.sh > project/out.txt'\n  airlock cp $id:project/out.txt .\n  airlock cp --exclude '*.txt' $id:project copy\n  airlock cp $id:project - | tar -t\n  airlock cp project/hello.sh $id:/tmp/\n\nExit codes: 0 if everything was copied; 1 if an entry was skipped that no --exclude matches, or if the copy\nfailed; 2 for wrong usage; 130 if Ctrl-C stopped the copy."
)]
pub(super) struct Cp {
    #[command(flatten)]
    connect: Connect,
    /// Skip paths that match a glob below SRC; `*` does not cross slashes, `**` does; may be repeated.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Accepted for users of scp; directories are always copied with their contents.
    #[arg(short, short_alias = 'R', hide = true)]
    recursive: bool,
    /// Print only the skipped entries.
    #[arg(short, long)]
    quiet: bool,
    /// The source: a path, SESSION:PATH, or -
    #[arg(value_name = "SRC")]
    from: OsString,
    /// The destination: a path, SESSION:PATH, or -
    #[arg(value_name = "DST")]
    to: OsString,
}

/// A copy in progress.
struct Copy<'a> {
    client: &'a Client,
    options: DirectoryOptions,
    progress: Progress,
}

impl Cp {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let sides = (CopySide::read(&self.from)?, CopySide::read(&self.to)?);
        check(&sides)?;
        airlock_archive::globs(&self.exclude)
            .map_err(|error| Failure::usage(format!("--exclude: {error}")))?;
        let client = self.connect.client().await?;
        let mut interrupts = Interrupts::new()?;
        let mut options = DirectoryOptions::new(std::env::temp_dir());
        options.exclude = self.exclude;
        let copy = Copy { client: &client, options, progress: Progress::default() };
        let progress = copy.progress.clone();
        let work = async {
            match sides {
                (CopySide::Local(from), CopySide::Session(to)) => copy.upload(&from, &to).await,
                (CopySide::Stream, CopySide::Session(to)) => copy.upload_stream(&to).await,
                (CopySide::Session(from), CopySide::Local(to)) => copy.download(&from, &to).await,
                (CopySide::Session(from), _) => copy.download_stream(&from).await,
                _ => Err(neither()),
            }
        };
        let copied = tokio::select! {
            copied = work => copied?,
            () = show(&progress, self.quiet) => return Ok(LEFT),
            () = interrupts.next() => {
                // Removes the partial result. A second Ctrl-C does not wait for that.
                tokio::select! {
                    () = client.settled() => {}
                    () = interrupts.next() => {}
                }
                return Ok(LEFT);
            }
        };
        Ok(say(&copied, self.quiet))
    }
}

/// Copies the contents of a directory into the workspace of a new session, and returns the exit code.
pub(super) async fn upload_contents(
    client: &Client,
    from: &Path,
    session: &str,
    quiet: bool,
) -> Result<u8, Failure> {
    let options = DirectoryOptions::new(std::env::temp_dir());
    let copy = Copy { client, options, progress: Progress::default() };
    let to = Remote { session: session.to_owned(), path: Vec::new() };
    let copied = copy.upload(&from.join("."), &to).await?;
    Ok(say(&copied, quiet))
}

fn check(sides: &(CopySide, CopySide)) -> Result<(), Failure> {
    match sides {
        (CopySide::Session(_), CopySide::Session(_)) => Err(Failure::usage(
            "both sides are in a session; copy to a local directory first, and then to the other session",
        )),
        (CopySide::Session(_), _) | (_, CopySide::Session(_)) => Ok(()),
        (CopySide::Local(from), CopySide::Local(to)) => {
            Err(forgotten_colon(&[from, to]).unwrap_or_else(neither))
        }
        _ => Err(neither()),
    }
}

/// Returns an error if a side is a session ID alone. It parses as the name of a local file, but users never intend
/// that.
fn forgotten_colon(sides: &[&Path]) -> Option<Failure> {
    let session = sides.iter().find_map(|side| place::session_id(side.as_os_str().as_encoded_bytes()))?;
    Some(Failure::usage(format!(
        "`{session}` is a session ID without a colon; to name the session's workspace, use: {session}:"
    )))
}

fn neither() -> Failure {
    Failure::usage(format!(
        "neither side is in a session; write one side as SESSION:PATH, such as {EXAMPLE}:src"
    ))
}

impl Copy<'_> {
    /// Returns information about the file at a place, or `None` if nothing exists there.
    async fn look(&self, place: &Remote) -> Result<Option<v1::FileInfo>, Failure> {
        match self.client.stat(&place.session, path_of(&place.path)).await {
            Ok(info) => Ok(Some(info)),
            Err(error) if is_no_file(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns a path in the form for requests: without `/.` and slashes at its end.
fn path_of(path: &[u8]) -> &[u8] {
    let path = path.strip_suffix(b"/.").unwrap_or(path);
    let path = if path == b"." { b"" } else { path };
    match path.iter().rposition(|byte| *byte != b'/') {
        Some(last) => path.get(..=last).unwrap_or(path),
        // Only slashes: the root. The server refuses it with a better message.
        None => path.get(..1).unwrap_or(path),
    }
}

fn wants_contents(path: &[u8]) -> bool {
    path == b"." || path.ends_with(b"/.")
}

/// Returns the last component of a path, or `None` if the path has no name.
fn name_of(path: &[u8]) -> Option<&[u8]> {
    let name = path_of(path).rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    (!matches!(name, b"" | b"." | b"..")).then_some(name)
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    airlock_archive::join(path_of(directory), name)
}

fn is_no_file(error: &ClientError) -> bool {
    let rejection = error.rejection().filter(|rejection| rejection.code == tonic::Code::NotFound);
    rejection.is_some_and(|rejection| !rejection.reason.contains("SESSION"))
}

/// The interval of progress updates.
const TICK: Duration = Duration::from_millis(100);

/// The totals of a finished copy.
#[derive(Debug, Default)]
struct Copied {
    files: u64,
    directories: u64,
    links: u64,
    /// The size of the files' contents.
    bytes: u64,
    /// The path and the reason for each skipped entry, up to a limit.
    left_out: Vec<(Vec<u8>, String)>,
    left_out_total: u64,
}

/// Shows the progress of a copy on a terminal. Never returns.
async fn show(progress: &Progress, quiet: bool) {
    if quiet || !std::io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    let bar = Bar(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {bytes}, {bytes_per_sec}") {
        bar.0.set_style(style);
    }
    loop {
        tokio::time::sleep(TICK).await;
        bar.0.set_position(progress.bytes());
        bar.0.tick();
    }
}

/// A progress line that is removed when it is dropped.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Reports the totals and the skipped entries, and returns the exit code.
fn say(copied: &Copied, quiet: bool) -> u8 {
    for (path, reason) in &copied.left_out {
        output::note(&format!("skipped: {}: {}", escape::line(path), escape::line(reason.as_bytes())));
    }
    let unnamed = copied.left_out_total.saturating_sub(copied.left_out.len() as u64);
    if unnamed > 0 {
        output::note(&format!("skipped: {unnamed} more"));
    }
    if !quiet {
        output::note(&sentence(copied));
    }
    if copied.left_out_total > 0 { cause::FAILED } else { 0 }
}

fn sentence(copied: &Copied) -> String {
    let mut parts = Vec::new();
    for (count, one, many) in [
        (copied.files, "file", "files"),
        (copied.directories, "directory", "directories"),
        (copied.links, "link", "links"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { many }));
        }
    }
    if parts.is_empty() {
        return "copied an empty directory".to_owned();
    }
    format!("copied {}, {}", parts.join(", "), HumanBytes(copied.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        for (typed, asked, contents, name) in [
            ("", "", false, None),
            (".", "", true, None),
            ("./", ".", false, None),
            ("src", "src", false, Some("src")),
            ("src/", "src", false, Some("src")),
            ("src/.", "src", true, Some("src")),
            ("/workspace/a b//", "/workspace/a b", false, Some("a b")),
            ("a/..", "a/..", false, None),
            ("/", "/", false, None),
        ] {
            assert_eq!(path_of(typed.as_bytes()), asked.as_bytes(), "{typed}");
            assert_eq!(wants_contents(typed.as_bytes()), contents, "{typed}");
            assert_eq!(name_of(typed.as_bytes()), name.map(str::as_bytes), "{typed}");
        }
        assert_eq!(joined(b"", b"x"), b"x");
        assert_eq!(joined(b"a/", b"x"), b"a/x");
    }

    #[test]
    fn the_sentence_counts_what_there_is() {
        let copied = Copied { files: 2, directories: 1, bytes: 2048, ..Copied::default() };
        assert_eq!(sentence(&copied), "copied 2 files, 1 directory, 2.00 KiB");
        assert_eq!(sentence(&Copied::default()), "copied an empty directory");
    }
}
