//! The current directory: the path that a command reported is checked against the files.

use std::path::Path;

use airlock_domain::limits::DIRECTORY_BYTES;
use airlock_sandbox::WORKSPACE;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// Returns the path relative to the workspace of a path inside the sandbox. `None` if it is not the workspace or below.
fn below(inside: &[u8]) -> Option<&[u8]> {
    let rest = inside.strip_prefix(WORKSPACE.as_bytes())?;
    match rest {
        b"" | b"/" => Some(b"."),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Reports whether `inside` names a directory beneath the workspace, through any links. `workspace` is its host path.
/// Blocks briefly.
pub(crate) fn is_beneath(workspace: &Path, inside: &[u8]) -> bool {
    let Some(path) = below(inside).filter(|_| inside.len() <= DIRECTORY_BYTES && !inside.contains(&0)) else {
        return false;
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(root) = openat(CWD, workspace, flags | OFlags::NOFOLLOW, Mode::empty()) else {
        return false;
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    openat2(&root, path, flags, Mode::empty(), resolve).is_ok()
}
