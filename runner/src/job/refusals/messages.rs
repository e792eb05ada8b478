//! Finds failed accesses to paths in the messages of programs.
//!
//! The kernel does not report a refused access, but most programs do. A command can write such a message itself. The
//! result is therefore only a question about a path, and the answer comes from the sandbox's own rules.

use std::path::PathBuf;

use airlock_sandbox::PathError;

/// The maximum number of lines that are examined, from the end.
const LINES: usize = 400;
/// The maximum length of a path in bytes.
const PATH_BYTES: usize = 4095;
/// The maximum number of paths that are taken from a line.
const PATHS_PER_LINE: usize = 4;

/// The texts of the errors, in lower case.
const ERRORS: [(&str, PathError); 3] = [
    ("permission denied", PathError::PermissionDenied),
    ("read-only file system", PathError::ReadOnly),
    ("device or resource busy", PathError::Busy),
];
/// The marks around a quoted name: the first and the last.
const QUOTES: [(char, char); 4] = [('‘', '’'), ('"', '"'), ('\'', '\''), ('`', '\'')];

/// A message of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The paths that the message may be about, as they are written.
    pub(super) paths: Vec<PathBuf>,
    pub(super) error: PathError,
}

/// Returns the messages in a text, the last lines first.
pub(super) fn complaints(text: &[u8]) -> impl Iterator<Item = Complaint> {
    text.rsplit(|byte| *byte == b'\n')
        .take(LINES)
        .filter_map(|line| complaint(&String::from_utf8_lossy(line)))
}

fn complaint(line: &str) -> Option<Complaint> {
    // The length in bytes does not change.
    let lower = line.to_ascii_lowercase();
    let (at, error) = ERRORS.iter().find_map(|(text, error)| Some((lower.find(text)?, *error)))?;
    let mut paths = quoted(line);
    if paths.is_empty() {
        paths.extend(unquoted(line.get(..at)?));
    }
    let is_path =
        |path: &&str| !path.is_empty() && path.len() <= PATH_BYTES && !path.contains(char::is_control);
    let paths: Vec<_> =
        paths.iter().copied().filter(is_path).take(PATHS_PER_LINE).map(PathBuf::from).collect();
    (!paths.is_empty()).then_some(Complaint { paths, error })
}

/// Returns the quoted parts of a line.
fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(|letter| QUOTES.iter().any(|(first, _)| *first == letter)) {
        let inside = rest.get(at..).unwrap_or_default();
        let Some(first) = inside.chars().next() else { break };
        let inside = inside.get(first.len_utf8()..).unwrap_or_default();
        let last = QUOTES.iter().find(|(open, _)| *open == first).map_or(first, |(_, last)| *last);
        let Some(end) = inside.find(last) else { break };
        found.extend(inside.get(..end));
        rest = inside.get(end + last.len_utf8()..).unwrap_or_default();
    }
    found
}

/// Returns the path before the error: the text after the last colon, or its last word if it does not begin with a slash.
fn unquoted(before: &str) -> Option<&str> {
    let before = before.trim_end_matches([' ', ':', '(', ',']);
    let part = before.rsplit(": ").next()?.trim();
    if part.starts_with('/') { Some(part) } else { part.rsplit(' ').next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_paths(line: &str, paths: &[&str]) {
        let found = complaint(line).map(|complaint| complaint.paths).unwrap_or_default();
        assert_eq!(found, paths.iter().map(PathBuf::from).collect::<Vec<_>>(), "{line}");
    }

    #[test]
    fn the_messages_of_common_programs_name_their_path() {
        for line in [
            "cat: /a/b: Permission denied",
            "bash: line 1: /a/b: Read-only file system",
            "/run/airlock/run/command: line 3: /a/b: Permission denied",
            "sh: 1: cannot create /a/b: Permission denied",
            "mkdir: cannot create directory ‘/a/b’: Read-only file system",
            "touch: cannot touch '/a/b': Read-only file system\r",
            "rm: cannot remove '/a/b': Device or resource busy",
            "ls: cannot open directory '/a/b': Permission denied",
            "grep: /a/b: Permission denied",
            "PermissionError: [Errno 13] Permission denied: '/a/b'",
            "OSError: [Errno 30] Read-only file system: '/a/b'",
            "Error: EACCES: permission denied, open '/a/b'",
            "Error: EROFS: read-only file system, mkdir '/a/b'",
            "fatal: Unable to create '/a/b': Read-only file system",
            "error: could not lock config file /a/b: Permission denied",
            "fatal: cannot create directory at `/a/b': Read-only file system",
            "open /a/b: permission denied",
            "java.io.FileNotFoundException: /a/b (Permission denied)",
            "error: failed to write `/a/b': Read-only file system (os error 30)",
        ] {
            assert_paths(line, &["/a/b"]);
        }
        assert_paths("cat: src/x.key: Permission denied", &["src/x.key"]);
        assert_paths("mv: cannot move 'a' to '/b c': Read-only file system", &["a", "/b c"]);
        assert_paths("cp: cannot create /a b: Read-only file system", &["b"]);
    }

    #[test]
    fn other_lines_and_hostile_ones_name_few_paths_or_none() {
        for line in ["", "Permission denied", ": Permission denied", "done: /a/b", "cat: /a/b: No such file"]
        {
            assert_paths(line, &[]);
        }
        assert_paths("x '/a\u{1b}[2J' Permission denied", &[]);
        assert_paths("'a' 'b' 'c' 'd' 'e' Permission denied", &["a", "b", "c", "d"]);
        assert_paths("it's ‘open: Permission denied", &["‘open"]);
        let long = format!("cat: /{}: Permission denied", "x".repeat(PATH_BYTES));
        assert_paths(&long, &[]);
        let many = "cat: a: Permission denied\n".repeat(LINES * 2);
        assert!(complaints(many.as_bytes()).count() <= LINES);
        let bytes = b"cat: \xff\xfe/a: Permission denied\n";
        assert!(complaints(bytes).next().is_some_and(|complaint| complaint.paths.len() == 1));
    }
}
