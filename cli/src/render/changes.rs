//! The changes in a workspace in the form of `git diff`, for people and for `git apply`.

use std::fmt::Write as _;

use super::{escape, files::typed};
use airlock_client::v1::{ChangeKind, FileChange, FileInfo, FileType};

/// The columns of a bar in a list of counts.
const BAR: usize = 50;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// Returns the path of the changed file.
#[must_use]
pub fn path(change: &FileChange) -> &[u8] {
    let file = change.after.as_ref().or(change.before.as_ref());
    file.map_or(&[], |file| file.path())
}

/// Returns the letter of a change: A, M or D.
#[must_use]
pub fn letter(change: &FileChange) -> char {
    match change.kind() {
        ChangeKind::Added => 'A',
        ChangeKind::Modified => 'M',
        ChangeKind::Deleted => 'D',
        ChangeKind::Unspecified => '?',
    }
}

/// Returns one change as a patch, in exact bytes.
#[must_use]
pub fn patch(change: &FileChange) -> Vec<u8> {
    let name = typed(path(change));
    let mut out = [b"diff --git a/", name, b" b/", name, b"\n"].concat();
    out.extend_from_slice(modes(change).as_bytes());
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    let body = links(change).unwrap_or_else(|| hunks(change.patch()).to_vec());
    if body.is_empty() {
        if let Some(why) = why_not(change) {
            out.extend_from_slice(&[b"Binary files a/", name, b" and b/", name].concat());
            out.extend_from_slice(format!(" differ ({why})\n").as_bytes());
        }
        return out;
    }
    for (sign, side, there) in [("---", b"a/", before.is_some()), ("+++", b"b/", after.is_some())] {
        out.extend_from_slice(format!("{sign} ").as_bytes());
        out.extend_from_slice(&if there { [side, name].concat() } else { b"/dev/null".to_vec() });
        out.push(b'\n');
    }
    out.extend_from_slice(&body);
    if !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out
}

/// Returns git's form of an added, removed or changed link, which treats the target as its text.
fn links(change: &FileChange) -> Option<Vec<u8>> {
    let sides = [(b'-', change.before.as_ref()), (b'+', change.after.as_ref())];
    if sides.iter().any(|(_, side)| side.is_some_and(|file| file.r#type() != FileType::Symlink)) {
        return None;
    }
    let [before, after] = sides.map(|(_, side)| if side.is_some() { "1" } else { "0,0" });
    let mut out = format!("@@ -{before} +{after} @@\n").into_bytes();
    for (sign, file) in sides.iter().filter_map(|(sign, side)| Some((sign, side.as_ref()?))) {
        out.push(*sign);
        out.extend_from_slice(file.link_target());
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
    Some(out)
}

/// Returns the patch without its own header.
fn hunks(patch: &[u8]) -> &[u8] {
    let mut rest = patch;
    while !rest.starts_with(b"@@") {
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(at) => rest = rest.get(at + 1..).unwrap_or_default(),
            None => return patch,
        }
    }
    rest
}

/// Returns git's header lines for a new file, a deleted file or changed permissions.
fn modes(change: &FileChange) -> String {
    match (&change.before, &change.after) {
        (None, Some(after)) => format!("new file mode {}\n", git_mode(after)),
        (Some(before), None) => format!("deleted file mode {}\n", git_mode(before)),
        (Some(before), Some(after)) if git_mode(before) != git_mode(after) => {
            format!("old mode {}\nnew mode {}\n", git_mode(before), git_mode(after))
        }
        _ => String::new(),
    }
}

fn git_mode(file: &FileInfo) -> String {
    let kind = match file.r#type() {
        FileType::Directory => 0o040_000,
        FileType::Symlink => return "120000".to_owned(),
        FileType::Regular | FileType::Other | FileType::Unspecified => 0o100_000,
    };
    format!("{:06o}", kind | file.mode & 0o777)
}

/// Returns the reason why there is no text to compare, if it is worth a line.
fn why_not(change: &FileChange) -> Option<String> {
    match change.patch_omitted.as_str() {
        "" | "not_a_file" => None,
        "binary" => Some("not text".to_owned()),
        "too_large" => Some("too large to show".to_owned()),
        "not_kept" => Some("the previous contents were not kept".to_owned()),
        other => Some(escape::line(other.as_bytes())),
    }
}

/// Returns a patch for a terminal: coloured, with control characters escaped.
#[must_use]
pub fn coloured(patch: &[u8]) -> String {
    let mut out = String::new();
    let mut in_hunk = false;
    for line in patch.strip_suffix(b"\n").unwrap_or(patch).split(|byte| *byte == b'\n') {
        in_hunk |= line.starts_with(b"@@");
        let colour = match line.first() {
            Some(b'@') => CYAN,
            _ if !in_hunk => BOLD,
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            _ => "",
        };
        let end = if colour.is_empty() { "" } else { PLAIN };
        let _ = writeln!(out, "{colour}{}{end}", escape::contents(line));
    }
    out
}

/// Returns the number of added and removed lines, or `None` if it is unknown.
#[must_use]
pub fn counts(change: &FileChange) -> Option<(u64, u64)> {
    if change.patch().is_empty() {
        return why_not(change).is_none().then_some((0, 0));
    }
    let lines = || hunks(change.patch()).split(|byte| *byte == b'\n');
    let count = |sign: u8| lines().filter(|line| line.first() == Some(&sign)).count() as u64;
    Some((count(b'+'), count(b'-')))
}

/// One change in a list of counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    name: String,
    counts: Option<(u64, u64)>,
    why_not: String,
}

impl Line {
    /// Creates the line for a change.
    #[must_use]
    pub fn of(change: &FileChange) -> Self {
        Self {
            name: escape::name(typed(path(change))),
            counts: counts(change),
            why_not: why_not(change).unwrap_or_default(),
        }
    }
}

/// Formats each change with its number of lines, and the totals.
#[must_use]
pub fn stat(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    let most =
        lines.iter().filter_map(|line| line.counts).map(|(plus, minus)| plus + minus).max().unwrap_or(0);
    let (mut out, mut plus_all, mut minus_all) = (String::new(), 0, 0);
    for line in lines {
        let says = match line.counts {
            Some((plus, minus)) => {
                (plus_all, minus_all) = (plus_all + plus, minus_all + minus);
                let bar =
                    |sign: &str, count| sign.repeat(usize::try_from(scaled(count, most)).unwrap_or(BAR));
                format!("{} {}{}", plus + minus, bar("+", plus), bar("-", minus))
            }
            None => line.why_not.clone(),
        };
        let _ = writeln!(out, " {:<width$} | {}", line.name, says.trim_end());
    }
    let _ = writeln!(out, "{}", total(lines.len() as u64, plus_all, minus_all));
    out
}

/// Returns the last line as git writes it: a count of zero is omitted, unless both are zero.
fn total(files: u64, plus: u64, minus: u64) -> String {
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(" {} changed", counted(files, "file"));
    if plus > 0 || minus == 0 {
        text.push_str(&format!(", {}(+)", counted(plus, "insertion")));
    }
    if minus > 0 || plus == 0 {
        text.push_str(&format!(", {}(-)", counted(minus, "deletion")));
    }
    text
}

/// Scales a count so that the longest bar fits and a nonzero count is at least 1.
fn scaled(count: u64, most: u64) -> u64 {
    let bar = BAR as u64;
    if most <= bar { count } else { (count * bar).div_ceil(most) }
}

/// Reports whether the change is only about a directory, which a patch does not contain.
#[must_use]
pub fn is_directory(change: &FileChange) -> bool {
    let file = change.after.as_ref().or(change.before.as_ref());
    file.is_some_and(|file| file.r#type() == FileType::Directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mode: u32) -> FileInfo {
        FileInfo {
            path: "/workspace/src/a.txt".to_owned(),
            r#type: FileType::Regular.into(),
            mode,
            ..Default::default()
        }
    }

    fn modified(patch: &'static str) -> FileChange {
        FileChange {
            kind: ChangeKind::Modified.into(),
            before: Some(file(0o644)),
            after: Some(file(0o644)),
            patch: patch.into(),
            ..Default::default()
        }
    }

    #[test]
    fn a_patch_can_be_applied_with_git() {
        for body in ["@@ -1 +1 @@\n-a\n+b\n", "--- x\n+++ y\n@@ -1 +1 @@\n-a\n+b\n"] {
            let text = String::from_utf8(patch(&modified(body))).unwrap();
            assert_eq!(
                text,
                "diff --git a/src/a.txt b/src/a.txt\n--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
            );
        }
        let new =
            FileChange { kind: ChangeKind::Added.into(), before: None, ..modified("@@ -0,0 +1 @@\n+b\n") };
        let text = String::from_utf8(patch(&new)).unwrap();
        assert!(text.contains("new file mode 100644\n--- /dev/null\n+++ b/src/a.txt\n"), "{text}");
        let link = FileInfo { r#type: FileType::Symlink.into(), link_target: "b".into(), ..file(0o777) };
        let gone = FileChange { before: Some(link), after: None, ..modified("") };
        let text = String::from_utf8(patch(&gone)).unwrap();
        assert!(text.ends_with("+++ /dev/null\n@@ -1 +0,0 @@\n-b\n\\ No newline at end of file\n"), "{text}");
        let modes = FileChange { after: Some(file(0o755)), ..modified("") };
        let text = String::from_utf8(patch(&modes)).unwrap();
        assert!(text.ends_with("old mode 100644\nnew mode 100755\n"), "{text}");
        let binary = FileChange { patch_omitted: "binary".to_owned(), ..modified("") };
        let text = String::from_utf8(patch(&binary)).unwrap();
        assert!(text.ends_with("Binary files a/src/a.txt and b/src/a.txt differ (not text)\n"), "{text}");
    }

    #[test]
    fn lines_are_counted_and_bars_fit() {
        let change = modified("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n--- b\n+c\n x\n");
        assert_eq!(counts(&change), Some((1, 2)));
        let binary = FileChange { patch_omitted: "binary".to_owned(), ..modified("") };
        let text = stat(&[Line::of(&change), Line::of(&binary)]);
        assert!(
            text.contains(" src/a.txt | 3 +--\n src/a.txt | not text\n 2 files changed, 1 insert"),
            "{text}"
        );
        assert_eq!(total(1, 1, 0), " 1 file changed, 1 insertion(+)");
        assert_eq!(total(2, 0, 2), " 2 files changed, 2 deletions(-)");
        assert_eq!(total(1, 0, 0), " 1 file changed, 0 insertions(+), 0 deletions(-)");
        assert_eq!((scaled(1, 1000), scaled(1000, 1000), scaled(7, 9)), (1, 50, 7));
    }

    #[test]
    fn a_terminal_gets_no_escapes_but_colours() {
        let shown = coloured(b"--- a\n@@ -1 +1 @@\n-x\n+\x1b]0;title\x07\xc3\xa9\n");
        assert!(shown.contains("\x1b[32m+\\u{1b}]0;title\\u{7}\u{e9}\x1b[0m\n"), "{shown}");
        assert!(shown.contains("\x1b[1m--- a") && shown.contains("\x1b[31m-x"), "{shown}");
    }
}
