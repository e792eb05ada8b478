//! Assembles a root file system from a directory of the host. Over it are the mount points and files that every sandbox
//! has.
//!
//! Both are layers of one read-only overlay file system. The directory is not changed, and its links cannot lead
//! outside. Must not accept the host's own root as the directory, and must not follow a link of the directory to a
//! mount point.

use std::ffi::{CString, OsStr};
use std::fmt::Display;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use airlock_init::wire::{Fault, Point, PointKind, STAGE, STAGED_ROOT, StagedRoot, Step};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, chmodat, fstat, mkdirat, openat, openat2, stat,
    symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::shared::{THROUGH_NO_LINK, explain};
use crate::failure::Failure;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(THROUGH_NO_LINK);
/// The layer of mount points, under the stage.
const TOP: &str = "root-top";

/// A root file system that was opened.
pub(super) struct Found<'a> {
    root: &'a StagedRoot,
    directory: OwnedFd,
}

/// Opens the directory before the stage hides paths of the host, and checks that the mount points are possible.
pub(super) fn find(root: &StagedRoot) -> Result<Found<'_>, Failure> {
    let fail = |cause: String| failure(root, &cause);
    let source = OsStr::from_bytes(&root.source);
    let directory = openat2(CWD, source, HANDLE, Mode::empty(), THROUGH_NO_LINK).map_err(|errno| {
        let (fault, cause) = explain(errno);
        fail(cause).because(fault)
    })?;
    let said = |errno: Errno| fail(errno.to_string());
    let (own, hosts) = (fstat(&directory).map_err(said)?, stat("/").map_err(said)?);
    if FileType::from_raw_mode(own.st_mode) != FileType::Directory {
        return Err(fail("is not a directory".to_owned()));
    }
    if (own.st_dev, own.st_ino) == (hosts.st_dev, hosts.st_ino) {
        return Err(fail("is the root of the host".to_owned()));
    }
    for point in &root.points {
        fits(&directory, point).map_err(|cause| {
            let place = String::from_utf8_lossy(&point.path);
            fail(format!("cannot contain the mount point `/{}`: {cause}", place.escape_debug()))
                .because(Fault::MountPoint)
        })?;
    }
    Ok(Found { root, directory })
}

/// Checks that no component of the path is a link. The last component may be one, unless a directory is required.
fn fits(directory: &OwnedFd, point: &Point) -> Result<(), String> {
    let path = OsStr::from_bytes(&point.path);
    let flags = if point.kind == PointKind::Directory { HANDLE } else { HANDLE | OFlags::NOFOLLOW };
    match openat2(directory, path, flags, Mode::empty(), BENEATH) {
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::NOTDIR) => Err("a component of the path is a file".to_owned()),
        Err(errno) => Err(format!("it {}", explain(errno).1)),
    }
}

/// Mounts the root file system, after the stage exists.
pub(super) fn put_together(found: &Found<'_>) -> Result<(), Failure> {
    let fail = |cause: String| failure(found.root, &cause);
    let stage = openat(CWD, STAGE, DIRECTORY, Mode::empty()).map_err(|errno| fail(errno.to_string()))?;
    let top = make_directory(&stage, OsStr::new(TOP)).map_err(|errno| fail(errno.to_string()))?;
    for point in &found.root.points {
        make(&top, point).map_err(|errno| {
            let place = String::from_utf8_lossy(&point.path);
            fail(format!("`/{}` cannot be created: {errno}", place.escape_debug()))
        })?;
    }
    make_directory(&stage, OsStr::new(STAGED_ROOT)).map_err(|errno| fail(errno.to_string()))?;
    // Through handles, because a path could contain a separator of the option's value.
    let layers = format!(
        "lowerdir=/proc/self/fd/{}:/proc/self/fd/{},redirect_dir=nofollow,metacopy=off",
        top.as_raw_fd(),
        found.directory.as_raw_fd()
    );
    let layers = CString::new(layers).map_err(|error| fail(error.to_string()))?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    mount("overlay", Path::new(STAGE).join(STAGED_ROOT), "overlay", flags, Some(layers.as_c_str()))
        .map_err(|errno| fail(format!("cannot be a layer of an overlay: {errno}")).because(Fault::Overlay))
}

fn make(top: &OwnedFd, point: &Point) -> Result<(), Errno> {
    let path = Path::new(OsStr::from_bytes(&point.path));
    let mut current = top.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    for name in path.parent().unwrap_or(Path::new("")) {
        current = make_directory(&current, name)?;
    }
    let Some(name) = path.file_name() else { return Ok(()) };
    match &point.kind {
        PointKind::Directory => make_directory(&current, name).map(drop),
        PointKind::File => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            unless_there(openat(&current, name, flags, Mode::from_raw_mode(0o444)).map(drop))
        }
        PointKind::Link(target) => unless_there(symlinkat(OsStr::from_bytes(target), &current, name)),
    }
}

fn make_directory(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(0o755);
    match mkdirat(parent, name, mode) {
        // Independent of the umask.
        Ok(()) => chmodat(parent, name, mode, AtFlags::empty())?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    openat(parent, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
}

fn unless_there(made: Result<(), Errno>) -> Result<(), Errno> {
    match made {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

fn failure(root: &StagedRoot, cause: &dyn Display) -> Failure {
    let source = String::from_utf8_lossy(&root.source);
    Failure::new(Step::Root, format!("the root file system `{}` {cause}", source.escape_debug()))
}
