//! Mounts host paths at the stage: paths that the session's uid could not reach, and sockets.
//!
//! Each path is resolved without symbolic links, and mounted through its handle. Must not show its parent directory.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use airlock_init::wire::{Fault, STAGE, Shared, SharedKind, Step};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, accessat, fstat, mkdir, open, openat2,
};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use crate::failure::Failure;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
pub(super) const THROUGH_NO_LINK: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// A cloned mount that is not attached yet.
pub(super) struct Opened<'a> {
    shared: &'a Shared,
    tree: OwnedFd,
    is_directory: bool,
}

/// Opens all paths, before the stage hides paths of the host.
pub(super) fn find(all: &[Shared]) -> Result<Vec<Opened<'_>>, Failure> {
    let one = |shared| opened(shared).map_err(|(fault, cause)| failure(shared, &cause).because(fault));
    all.iter().map(one).collect()
}

fn opened(shared: &Shared) -> Result<Opened<'_>, (Fault, String)> {
    let source = OsStr::from_bytes(&shared.source);
    let found = openat2(CWD, source, HANDLE, Mode::empty(), THROUGH_NO_LINK).map_err(explain)?;
    let said = |errno: Errno| (Fault::Other, errno.to_string());
    let kind = FileType::from_raw_mode(fstat(&found).map_err(said)?.st_mode);
    let mut flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    match shared.kind {
        // Recursive, as bubblewrap's binds are.
        SharedKind::Bind => flags |= OpenTreeFlags::AT_RECURSIVE,
        SharedKind::Socket if kind == FileType::Socket => {}
        SharedKind::Socket => return Err((Fault::Other, "is not a socket".to_owned())),
    }
    let tree = open_tree(&found, "", flags).map_err(said)?;
    Ok(Opened { shared, tree, is_directory: kind == FileType::Directory })
}

/// Attaches the mounts, after the stage exists.
pub(super) fn mount(all: Vec<Opened<'_>>) -> Result<(), Failure> {
    for Opened { shared, tree, is_directory } in all {
        let target = Path::new(STAGE).join(&shared.name);
        let made = if is_directory {
            mkdir(&target, Mode::from_raw_mode(0o755))
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            open(&target, flags, Mode::empty()).map(drop)
        };
        made.and_then(|()| move_mount(&tree, "", CWD, &target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH))
            .map_err(|errno| failure(shared, &errno.to_string()))?;
    }
    Ok(())
}

/// Checks that the current user may connect to the sockets.
pub(crate) fn can_be_used(all: &[Shared]) -> Result<(), Failure> {
    for shared in all.iter().filter(|shared| shared.kind == SharedKind::Socket) {
        let place = Path::new(STAGE).join(&shared.name);
        accessat(CWD, &place, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|errno| format!("cannot be written by the session's user: {errno}"))
            .map_err(|cause| failure(shared, &cause).because(Fault::NotWritable))?;
    }
    Ok(())
}

/// Describes an error of a path that was resolved without links.
pub(super) fn explain(errno: Errno) -> (Fault, String) {
    match errno {
        Errno::NOENT | Errno::NOTDIR => (Fault::Missing, "is not there".to_owned()),
        Errno::LOOP => (Fault::Link, "is a symbolic link or contains one".to_owned()),
        errno => (Fault::Other, errno.to_string()),
    }
}

fn failure(shared: &Shared, cause: &str) -> Failure {
    let source = String::from_utf8_lossy(&shared.source);
    let source = source.escape_debug();
    match shared.kind {
        SharedKind::Bind => Failure::new(Step::Binds, format!("`{source}` {cause}")),
        SharedKind::Socket => Failure::new(Step::Sockets, format!("the socket `{source}` {cause}")),
    }
}
