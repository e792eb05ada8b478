//! Paths as clients write them, and as they are below the workspace's root. Looks at no file.

use airlock_proto::{domain::ExchangeFailed, limits::PATH_BYTES};
use airlock_sandbox::WORKSPACE;

use super::failure::{invalid, shown};

/// A path below the workspace's root: no `.`, no `..`, no empty part; empty for the root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inside(Vec<u8>);

impl Inside {
    /// From what a client wrote: absolute inside the sandbox, or relative to the workspace's root.
    ///
    /// # Errors
    /// Anything else, with what is allowed.
    pub(super) fn parse(written: &[u8]) -> Result<Self, ExchangeFailed> {
        let refuse = |what: &str| {
            let path = shown(written);
            Err(invalid(
                "PATH_INVALID",
                format!(
                    "the path `{path}` {what}; use one such as `{WORKSPACE}/src` or `src`, below {WORKSPACE}"
                ),
            ))
        };
        if written.len() > PATH_BYTES {
            return refuse(&format!("has more than {PATH_BYTES} bytes"));
        }
        if written.contains(&0) {
            return refuse("has a NUL in it");
        }
        let below = match written.strip_prefix(WORKSPACE.as_bytes()) {
            Some([]) => &[][..],
            Some(rest @ [b'/', ..]) => rest,
            _ if written.first() == Some(&b'/') => return refuse("is outside of the workspace"),
            _ => written,
        };
        let mut parts: Vec<&[u8]> = Vec::new();
        for part in below.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    if parts.pop().is_none() {
                        return refuse("leaves the workspace by `..`");
                    }
                }
                name => parts.push(name),
            }
        }
        Ok(Self(parts.join(&b'/')))
    }

    /// Below the root.
    pub(super) fn relative(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The folder that it is in, and its name there. None for the root.
    pub(super) fn split(&self) -> Option<(Self, &[u8])> {
        if self.is_root() {
            return None;
        }
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => {
                let (folder, name) = self.0.split_at(slash);
                Some((Self(folder.to_vec()), name.get(1..).unwrap_or_default()))
            }
            None => Some((Self(Vec::new()), &self.0)),
        }
    }

    /// As it is inside the sandbox.
    pub(super) fn absolute(&self) -> Vec<u8> {
        absolute(&self.0)
    }

    /// What is below it, from a path relative to it.
    pub(super) fn below(&self, relative: &[u8]) -> Vec<u8> {
        absolute(&join(&self.0, relative))
    }
}

/// A path below the root, as it is inside the sandbox.
pub(super) fn absolute(relative: &[u8]) -> Vec<u8> {
    join(WORKSPACE.as_bytes(), relative)
}

/// Either may be empty.
pub(super) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    match (folder, name) {
        (b"", only) | (only, b"") => only.to_vec(),
        (folder, name) => [folder, name].join(&b'/'),
    }
}

/// What is left of `path` below `folder`; none if it is not below it. A folder is not below itself.
pub(super) fn strip<'a>(path: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    if folder.is_empty() {
        return Some(path).filter(|path| !path.is_empty());
    }
    path.strip_prefix(folder)?.strip_prefix(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_the_workspace_or_refused_with_what_is_allowed() {
        for (written, relative) in [
            (&b""[..], &b""[..]),
            (b".", b""),
            (b"/workspace", b""),
            (b"/workspace/", b""),
            (b"/workspace/a/", b"a"),
            (b"a//b/./c/../d", b"a/b/d"),
            (b"/workspace/a/..", b""),
            (b"workspace/a", b"workspace/a"),
            (b"\xff\n", b"\xff\n"),
            (b"...", b"..."),
        ] {
            assert_eq!(Inside::parse(written).unwrap().relative(), relative, "{}", shown(written));
        }
        let long = vec![b'x'; PATH_BYTES + 1];
        for (written, said) in [
            (
                &b".."[..],
                "the path `..` leaves the workspace by `..`; use one such as `/workspace/src` or `src`",
            ),
            (b"a/../../b", "leaves the workspace"),
            (b"/workspace/../etc", "leaves the workspace"),
            (b"/etc/passwd", "the path `/etc/passwd` is outside of the workspace; use"),
            (b"/workspace2", "is outside"),
            (b"/", "is outside"),
            (b"a\0b", "has a NUL in it"),
            (&long, "has more than 4096 bytes"),
        ] {
            let error = Inside::parse(written).unwrap_err();
            assert_eq!(error.reason, "PATH_INVALID");
            assert!(error.message.contains(said), "{}", error.message);
            assert!(!error.message.contains('\n') && error.message.len() < 400);
        }
    }

    #[test]
    fn paths_are_put_together_and_taken_apart() {
        let path = Inside::parse(b"a/b/c").unwrap();
        assert_eq!(path.absolute(), b"/workspace/a/b/c");
        assert_eq!(path.below(b"d"), b"/workspace/a/b/c/d");
        let (folder, name) = path.split().unwrap();
        assert_eq!((folder.relative(), name), (&b"a/b"[..], &b"c"[..]));
        assert!(Inside::parse(b"").unwrap().split().is_none());
        assert_eq!(strip(b"a/b", b"a"), Some(&b"b"[..]));
        assert_eq!(strip(b"ab", b"a"), None);
        assert_eq!(strip(b"a", b"a"), None);
        assert_eq!(strip(b"a", b""), Some(&b"a"[..]));
    }
}
