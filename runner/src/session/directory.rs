//! The current directory: what a command claims is held against what is there.

use std::path::Path;

use airlock_proto::limits::DIRECTORY_BYTES;
use airlock_sandbox::WORKSPACE;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// The path below the workspace of a directory inside; none if it is not at or below the workspace.
fn below(inside: &[u8]) -> Option<&[u8]> {
    let rest = inside.strip_prefix(WORKSPACE.as_bytes())?;
    match rest {
        b"" | b"/" => Some(b"."),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Whether `inside` names a directory that is beneath the workspace, through whatever links. `workspace`
/// is the host's folder of it. Blocks for a moment.
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
