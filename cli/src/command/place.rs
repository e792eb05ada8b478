//! Parses file arguments: a local path, SESSION:PATH, or `-`.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
};

use super::Failure;
use crate::render::escape;

/// An example of a session ID for messages.
pub(super) const EXAMPLE: &str = "01234567-89ab-7def-8123-456789abcdef";

/// A file in a session: in its workspace, its HOME or its /tmp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) session: String,
    /// The path as it was typed; empty for the workspace's root.
    pub(super) path: Vec<u8>,
}

/// A side of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CopySide {
    Local(PathBuf),
    Session(Remote),
    /// Standard input or standard output.
    Stream,
}

impl Remote {
    /// Parses SESSION or SESSION:PATH.
    pub(super) fn read(text: &OsStr) -> Result<Self, Failure> {
        let bytes = text.as_bytes();
        let (session, path) = split(bytes).unwrap_or((bytes, b""));
        match session_id(session) {
            Some(session) => Ok(Self { session, path: path.to_vec() }),
            None => Err(no_session(session, bytes, "")),
        }
    }

    /// Returns the form in which it is typed.
    pub(super) fn shown(&self) -> String {
        format!("{}:{}", self.session, escape::line(&self.path))
    }
}

impl CopySide {
    /// Parses a side of a copy. As in other programs, a name with a slash before its first colon is a
    /// local path.
    pub(super) fn read(text: &OsString) -> Result<Self, Failure> {
        let bytes = text.as_bytes();
        if bytes.is_empty() {
            return Err(Failure::usage(
                "the source or the destination is empty; use `.` for the current directory",
            ));
        }
        if bytes == b"-" {
            return Ok(Self::Stream);
        }
        let Some((session, path)) = split(bytes).filter(|(session, _)| !session.contains(&b'/')) else {
            return Ok(Self::Local(PathBuf::from(text)));
        };
        match session_id(session) {
            Some(session) => Ok(Self::Session(Remote { session, path: path.to_vec() })),
            None => Err(no_session(session, bytes, "; for a local file with a colon in its name, use ./")),
        }
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == b':')?;
    Some((bytes.get(..at)?, bytes.get(at + 1..)?))
}

/// Returns the ID if the bytes have the form of a session ID.
pub(super) fn session_id(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let id = uuid::Uuid::try_parse(text).ok()?;
    // Airlock writes IDs in the hyphenated lower-case form only.
    (id.as_hyphenated().to_string() == text).then(|| text.to_owned())
}

fn no_session(session: &[u8], whole: &[u8], more: &str) -> Failure {
    let (shown, whole) = (escape::line(session), escape::line(whole));
    let more = if more.is_empty() { String::new() } else { format!("{more}{whole}") };
    Failure::usage(format!(
        "`{shown}` is not a session ID, such as {EXAMPLE}; `airlock session list` lists the IDs{more}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_told_apart() {
        let place = |text: &str| CopySide::read(&OsString::from(text));
        let there = |path: &str| {
            CopySide::Session(Remote { session: EXAMPLE.to_owned(), path: path.as_bytes().to_vec() })
        };
        assert_eq!(place(&format!("{EXAMPLE}:src/a:b")).unwrap(), there("src/a:b"));
        assert_eq!(place(&format!("{EXAMPLE}:")).unwrap(), there(""));
        assert_eq!(place("-").unwrap(), CopySide::Stream);
        for here in ["a", "./a:b", "/x/a:b", "..", "x/y:z"] {
            assert_eq!(place(here).unwrap(), CopySide::Local(here.into()), "{here}");
        }
        let error = place("box:/a").unwrap_err();
        assert!(error.message().contains("`box` is not a session ID"), "{}", error.message());
        assert!(error.message().contains("./box:/a"), "{}", error.message());
        assert!(place("").is_err());
    }

    #[test]
    fn a_session_alone_is_its_workspace() {
        let read = |text: &str| Remote::read(OsStr::new(text));
        assert_eq!(read(EXAMPLE).unwrap().path, b"");
        for path in ["/workspace/x", "/tmp/x", "/home/agent/x"] {
            assert_eq!(read(&format!("{EXAMPLE}:{path}")).unwrap().path, path.as_bytes());
        }
        assert!(read(&EXAMPLE.to_uppercase()).is_err());
        assert!(read("src").unwrap_err().message().contains("airlock session list"));
    }
}
