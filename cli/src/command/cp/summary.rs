//! The display of a copy: progress, totals and skipped entries.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use super::super::output;
use crate::render::{cause, escape};
use airlock_client::Progress;

/// The interval of progress updates.
const TICK: Duration = Duration::from_millis(100);

/// The totals of a finished copy.
#[derive(Debug, Default)]
pub(super) struct Copied {
    pub(super) files: u64,
    pub(super) directories: u64,
    pub(super) links: u64,
    /// The size of the files' contents.
    pub(super) bytes: u64,
    /// The path and the reason for each skipped entry, up to a limit.
    pub(super) left_out: Vec<(Vec<u8>, String)>,
    pub(super) left_out_total: u64,
}

/// Shows the progress of a copy on a terminal. Never returns.
pub(super) async fn show(progress: &Progress, quiet: bool) {
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
pub(super) fn say(copied: &Copied, quiet: bool) -> u8 {
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
    fn the_sentence_counts_what_there_is() {
        let copied = Copied { files: 2, directories: 1, bytes: 2048, ..Copied::default() };
        assert_eq!(sentence(&copied), "copied 2 files, 1 directory, 2.00 KiB");
        assert_eq!(sentence(&Copied::default()), "copied an empty directory");
    }
}
