//! Paths as clients write them, and relative to one of the session's directories. Accesses no file.

use airlock_archive::join;
use airlock_domain::{ExchangeFailed, limits::PATH_BYTES};
use airlock_sandbox::{HOME, SessionDirectory, TMP, WORKSPACE};

use super::failure::{invalid, shown};

/// A path in one of the session's directories, without `.`, `..` or empty components. Empty for the directory itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inside {
    root: SessionDirectory,
    below: Vec<u8>,
}

fn refused(written: &[u8], what: &str) -> ExchangeFailed {
    let path = shown(written);
    let message = format!(
        "the path `{path}` {what}; use one below {WORKSPACE}, {HOME} or {TMP}, or one relative to {WORKSPACE}, such as `src`"
    );
    invalid("PATH_INVALID", message)
}

impl Inside {
    /// Parses a client's path: absolute inside the sandbox, or relative to the workspace's root.
    ///
    /// # Errors
    /// If the path has another form. The message states the permitted paths.
    pub(super) fn parse(written: &[u8]) -> Result<Self, ExchangeFailed> {
        let refuse = |what: &str| Err(refused(written, what));
        if written.len() > PATH_BYTES {
            return refuse(&format!("has more than {PATH_BYTES} bytes"));
        }
        if written.contains(&0) {
            return refuse("contains a NUL byte");
        }
        let absolute = SessionDirectory::ALL.into_iter().find_map(|root| {
            let rest = written.strip_prefix(root.inside().as_bytes())?;
            matches!(rest, [] | [b'/', ..]).then_some((root, rest))
        });
        let (root, rest) = match absolute {
            Some(found) => found,
            None if written.first() == Some(&b'/') => return refuse("is outside the session's directories"),
            None => (SessionDirectory::Workspace, written),
        };
        let mut parts: Vec<&[u8]> = Vec::new();
        for part in rest.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    if parts.pop().is_none() {
                        return refuse(&format!("leaves {} by `..`", root.inside()));
                    }
                }
                name => parts.push(name),
            }
        }
        Ok(Self { root, below: parts.join(&b'/') })
    }

    /// Like [`Inside::parse`], for operations that only the workspace supports.
    ///
    /// # Errors
    /// Also for a path in another of the session's directories.
    pub(super) fn in_workspace(written: &[u8]) -> Result<Self, ExchangeFailed> {
        let path = Self::parse(written)?;
        if path.root == SessionDirectory::Workspace {
            return Ok(path);
        }
        let message = format!(
            "the path `{}` is in {}, but only {WORKSPACE} is compared with its initial state; use a path \
             below {WORKSPACE}",
            shown(written),
            path.root.inside()
        );
        Err(invalid("PATH_INVALID", message))
    }

    /// Returns the session's directory that contains the path.
    pub(super) fn root(&self) -> SessionDirectory {
        self.root
    }

    /// Returns the path relative to that directory.
    pub(super) fn relative(&self) -> &[u8] {
        &self.below
    }

    pub(super) fn is_root(&self) -> bool {
        self.below.is_empty()
    }

    /// Returns the parent directory and the name. `None` for the root.
    pub(super) fn split(&self) -> Option<(Self, &[u8])> {
        if self.is_root() {
            return None;
        }
        let slash = self.below.iter().rposition(|byte| *byte == b'/');
        let (directory, name) = match slash.and_then(|slash| self.below.split_at_checked(slash)) {
            Some((directory, name)) => (directory, name.get(1..).unwrap_or_default()),
            None => (&[][..], self.below.as_slice()),
        };
        Some((Self { root: self.root, below: directory.to_vec() }, name))
    }

    /// Returns the absolute path inside the sandbox.
    pub(super) fn absolute(&self) -> Vec<u8> {
        self.below(b"")
    }

    /// Returns the absolute path of an entry, from a path relative to `self`.
    pub(super) fn below(&self, relative: &[u8]) -> Vec<u8> {
        join(self.root.inside().as_bytes(), &join(&self.below, relative))
    }

    /// Returns the path relative to `directory`, or `None` if it is not below it. A directory is not below itself.
    pub(super) fn strip(&self, directory: &Self) -> Option<&[u8]> {
        strip(&self.below, &directory.below).filter(|_| self.root == directory.root)
    }
}

/// Converts a path relative to the workspace's root to the path inside the sandbox.
pub(super) fn absolute(relative: &[u8]) -> Vec<u8> {
    join(WORKSPACE.as_bytes(), relative)
}

/// Returns `path` relative to `directory`, or `None` if it is not below it. A directory is not below itself.
pub(super) fn strip<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    if directory.is_empty() {
        return Some(path).filter(|path| !path.is_empty());
    }
    path.strip_prefix(directory)?.strip_prefix(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_the_workspace_home_or_tmp() {
        use SessionDirectory::{Home, Tmp, Workspace};
        for (written, root, relative) in [
            (&b""[..], Workspace, &b""[..]),
            (b".", Workspace, b""),
            (b"/workspace", Workspace, b""),
            (b"/workspace/", Workspace, b""),
            (b"/workspace/a/", Workspace, b"a"),
            (b"a//b/./c/../d", Workspace, b"a/b/d"),
            (b"/workspace/a/..", Workspace, b""),
            (b"workspace/a", Workspace, b"workspace/a"),
            (b"tmp/a", Workspace, b"tmp/a"),
            (b"home/agent/a", Workspace, b"home/agent/a"),
            (b"~/a", Workspace, b"~/a"),
            (b"\xff\n", Workspace, b"\xff\n"),
            (b"...", Workspace, b"..."),
            (b"/tmp", Tmp, b""),
            (b"/tmp/", Tmp, b""),
            (b"/tmp//a/./b/../c", Tmp, b"a/c"),
            (b"/tmp/workspace/a", Tmp, b"workspace/a"),
            (b"/home/agent", Home, b""),
            (b"/home/agent/.config/\xff", Home, b".config/\xff"),
        ] {
            let path = Inside::parse(written).unwrap();
            assert_eq!((path.root(), path.relative()), (root, relative), "{}", shown(written));
            let again = Inside::parse(&path.absolute()).unwrap();
            assert_eq!(again, path, "{}", shown(written));
        }
    }

    #[test]
    fn any_other_path_is_refused_with_what_is_allowed() {
        let long = vec![b'x'; PATH_BYTES + 1];
        for (written, said) in [
            (
                &b".."[..],
                "the path `..` leaves /workspace by `..`; use one below /workspace, /home/agent or /tmp, or one \
                 relative to /workspace, such as `src`",
            ),
            (b"a/../../b", "leaves /workspace"),
            (b"/workspace/../etc", "leaves /workspace"),
            (b"/workspace/../tmp/a", "leaves /workspace"),
            (b"/tmp/..", "leaves /tmp"),
            (b"/tmp/../workspace", "leaves /tmp"),
            (b"/home/agent/a/../../x", "leaves /home/agent"),
            (b"/etc/passwd", "the path `/etc/passwd` is outside the session's directories; use"),
            (b"/workspace2", "is outside the"),
            (b"/tmp2/a", "is outside the"),
            (b"/home", "is outside the"),
            (b"/home/agent2", "is outside the"),
            (b"//tmp/a", "is outside the"),
            (b"/./tmp/a", "is outside the"),
            (b"/", "is outside the"),
            (b"a\0b", "contains a NUL byte"),
            (&long, "has more than 4096 bytes"),
        ] {
            let error = Inside::parse(written).unwrap_err();
            assert_eq!(error.reason, "PATH_INVALID");
            assert!(error.message.contains(said), "{}", error.message);
            assert!(!error.message.contains('\n') && error.message.len() < 400);
        }
    }

    #[test]
    fn what_is_known_of_the_workspace_alone_is_asked_of_no_other_folder() {
        for written in [&b""[..], b"a", b"/workspace/a"] {
            assert_eq!(Inside::in_workspace(written), Inside::parse(written));
        }
        for (written, root) in
            [(&b"/tmp"[..], "/tmp"), (b"/tmp/a", "/tmp"), (b"/home/agent/a", "/home/agent")]
        {
            let said = Inside::in_workspace(written).unwrap_err().message;
            assert!(said.contains(&format!("is in {root}, but only /workspace is compared")), "{said}");
        }
    }

    #[test]
    fn paths_are_put_together_and_taken_apart() {
        let path = Inside::parse(b"a/b/c").unwrap();
        assert_eq!(path.absolute(), b"/workspace/a/b/c");
        assert_eq!(path.below(b"d"), b"/workspace/a/b/c/d");
        let (directory, name) = path.split().unwrap();
        assert_eq!((directory.relative(), name), (&b"a/b"[..], &b"c"[..]));
        assert!(Inside::parse(b"").unwrap().split().is_none());
        let path = Inside::parse(b"/tmp/a").unwrap();
        assert_eq!((path.absolute(), path.below(b"b")), (b"/tmp/a".to_vec(), b"/tmp/a/b".to_vec()));
        let (directory, name) = path.split().unwrap();
        assert_eq!((directory.absolute(), name), (b"/tmp".to_vec(), &b"a"[..]));
        assert_eq!(path.strip(&directory), Some(&b"a"[..]));
        assert_eq!(path.strip(&Inside::parse(b"").unwrap()), None, "another root");
        assert_eq!(strip(b"a/b", b"a"), Some(&b"b"[..]));
        assert_eq!(strip(b"ab", b"a"), None);
        assert_eq!(strip(b"a", b"a"), None);
        assert_eq!(strip(b"a", b""), Some(&b"a"[..]));
    }
}
