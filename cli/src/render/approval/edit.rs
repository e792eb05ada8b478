//! The changes of a file edit and the states of files, as text.

use std::fmt::Write as _;

use crate::render::escape;
use airlock_client::v1::{BoundFile, BoundFileState, EditPreview, FilePreview};

/// Appends the changes of each file, or the reason why they are not known.
pub(super) fn push(out: &mut String, edit: &EditPreview) {
    if edit.files.is_empty() {
        let note = escape::line(edit.note.as_bytes());
        let _ = writeln!(out, "\na file edit without a preview: {note}");
        let _ = writeln!(out, "the answer covers the command, whatever it changes");
        return;
    }
    let _ = writeln!(out, "\nthe changes of this file edit; exactly these are written, or nothing");
    for file in &edit.files {
        push_file(out, file);
    }
}

fn push_file(out: &mut String, file: &FilePreview) {
    let path = escape::line(file.path());
    let (before, after) = (&file.before_sha256, &file.after_sha256);
    let _ = writeln!(out, "\n  {path}  mode {:03o}", file.mode);
    let _ = writeln!(out, "  before  {} bytes, sha256 {}", file.before_bytes, hex::encode(before));
    let _ = writeln!(out, "  after   {} bytes, sha256 {}", file.after_bytes, hex::encode(after));
    if file.replaces_link {
        let _ = writeln!(out, "  the path is a link: the edit replaces it by a file");
    }
    if let Some(backup) = &file.backup {
        let _ = writeln!(out, "  backup  {}, which {}", escape::line(backup.path()), becomes(state(backup)));
    }
    if before == after {
        let _ = writeln!(out, "  its contents do not change");
    } else if file.binary {
        let _ = writeln!(out, "  it is not text, so there is no diff");
    }
    for line in file.diff().split_inclusive(|byte| *byte == b'\n') {
        let _ = writeln!(out, "  | {}", escape::contents(line.strip_suffix(b"\n").unwrap_or(line)));
    }
    if file.truncated {
        let _ = writeln!(out, "  THE DIFF IS INCOMPLETE: the rest of the changes is too long to be shown");
    }
}

fn becomes(state: String) -> String {
    if state == "does not exist" { state } else { format!("is replaced ({state})") }
}

/// Returns the state of a file that an answer is bound to.
pub(super) fn state(file: &BoundFile) -> String {
    match file.state() {
        BoundFileState::Digest => format!("sha256 {}", hex::encode(&file.sha256)),
        BoundFileState::Absent => "does not exist".to_owned(),
        BoundFileState::Other => "is not a file of the session".to_owned(),
        BoundFileState::TooLarge => "is too large to compare: its contents may change".to_owned(),
        BoundFileState::Unknown => "could not be read: a new approval will be required".to_owned(),
        BoundFileState::Unspecified => "may change".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(files: Vec<FilePreview>, note: &str) -> String {
        let mut out = String::new();
        push(&mut out, &EditPreview { files, note: note.to_owned(), words: Vec::new() });
        out
    }

    #[test]
    fn each_file_is_shown_with_its_diff_and_nothing_of_it_steers_the_terminal() {
        let backup = BoundFile { state: BoundFileState::Digest.into(), ..Default::default() };
        let file = FilePreview {
            before_sha256: vec![1; 2].into(),
            after_sha256: vec![2; 2].into(),
            before_bytes: 3,
            after_bytes: 4,
            mode: 0o640,
            replaces_link: true,
            truncated: true,
            backup: Some(backup.with_path("/workspace/f.bak")),
            ..Default::default()
        }
        .with_path("/workspace/f\n")
        .with_diff(&b"-a\r\n+\x1b[2Jb\tc\n"[..]);
        let page = page(vec![file], "");
        for expected in [
            "\n  /workspace/f\\u{a}  mode 640\n",
            "before  3 bytes, sha256 0101\n",
            "after   4 bytes, sha256 0202\n",
            "the edit replaces it by a file",
            "backup  /workspace/f.bak, which is replaced (sha256 )",
            "  | -a\\u{d}\n",
            "  | +\\u{1b}[2Jb\tc\n",
            "THE DIFF IS INCOMPLETE",
        ] {
            assert!(page.contains(expected), "{expected:?} in {page}");
        }
    }

    #[test]
    fn a_missing_preview_is_stated_with_its_reason() {
        let page = page(Vec::new(), "`f` does not exist\u{1b}");
        assert!(page.contains("without a preview: `f` does not exist\\u{1b}\n"), "{page}");
    }

    #[test]
    fn a_file_without_a_diff_states_why() {
        let same =
            FilePreview { before_sha256: vec![1].into(), after_sha256: vec![1].into(), ..Default::default() };
        assert!(page(vec![same.clone()], "").contains("do not change"));
        let binary = FilePreview { after_sha256: vec![2].into(), binary: true, ..same };
        assert!(page(vec![binary], "").contains("not text"));
    }
}
