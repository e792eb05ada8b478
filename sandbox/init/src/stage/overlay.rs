//! Mounts overlays over parts of a staged directory. An overlay hides a path with an empty file or directory, replaces
//! the contents of a file, or binds the path with other write permissions.
//!
//! Each name is resolved once, beneath the directory and without links. The result is cloned and mounted through its
//! handle, so that a concurrent rename has no effect. Must not create anything in the session's directories.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use airlock_init::sys::{MountAttributes, set_mount_attributes};
use airlock_init::wire::{Cover, Overlay};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, chmodat, fchmod, fstat, mkdirat, openat, openat2,
};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
/// Resolves beneath one mount, so that a covered path cannot be found again under another name.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// The mode of a directory that can be entered but not listed.
const PASSAGE: u32 = 0o111;

/// The empty files and directories that hide paths, in the stage's own file system.
pub(super) struct Covers {
    stage: OwnedFd,
    made: usize,
}

/// The mount on which an overlay is placed.
struct Ground {
    tree: OwnedFd,
    hides: Option<Hidden>,
}

/// A hidden directory, and the writable side of the directory that hides it.
struct Hidden {
    original: OwnedFd,
    passage: OwnedFd,
}

/// Mounts `overlays` in order over a mounted directory. A missing path gets no overlay, and neither do the paths
/// below it.
pub(super) fn lay(directory: OwnedFd, overlays: &[Overlay], covers: &mut Covers) -> Result<(), String> {
    let mut grounds = vec![Ground { tree: directory, hides: None }];
    for overlay in overlays {
        grounds.truncate(overlay.depth.saturating_add(1));
        let Some(ground) = grounds.get(overlay.depth) else { continue };
        let laid = lay_one(ground, overlay, covers).map_err(|errno| explain(overlay, errno))?;
        grounds.extend(laid);
    }
    Ok(())
}

fn lay_one(ground: &Ground, overlay: &Overlay, covers: &mut Covers) -> Result<Option<Ground>, Errno> {
    let path = OsStr::from_bytes(&overlay.path);
    let place = ground.hides.as_ref().map_or(&ground.tree, |hidden| &hidden.original);
    let Some(original) = find(place, path)? else { return Ok(None) };
    let is_directory = FileType::from_raw_mode(fstat(&original)?.st_mode) == FileType::Directory;
    let (tree, passage) = match &overlay.cover {
        Cover::Visible { read_only } => (again(&original, *read_only)?, None),
        Cover::Hidden { around } => covers.hide(is_directory, *around)?,
        Cover::Content(content) => (covers.file(content)?, None),
    };
    let point = match &ground.hides {
        None => &original,
        Some(hidden) => {
            make_point(hidden.passage.as_fd(), Path::new(path), is_directory)?;
            &find(&ground.tree, path)?.ok_or(Errno::NOENT)?
        }
    };
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, "", point, "", flags)?;
    let hides = passage.map(|passage| Hidden { original, passage });
    Ok(Some(Ground { tree, hides }))
}

/// Opens `path`. `None` if it does not exist. A link in the path or at its end is an error.
fn find(beneath: &OwnedFd, path: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    let path = if path.is_empty() { OsStr::new(".") } else { path };
    match openat2(beneath, path, HANDLE, Mode::empty(), BENEATH) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Clones a path as a separate mount.
fn again(original: &OwnedFd, read_only: bool) -> Result<OwnedFd, Errno> {
    let tree = clone_of(original, "")?;
    let attributes = MountAttributes { read_only, no_exec: false };
    set_mount_attributes(tree.as_fd(), attributes)?;
    Ok(tree)
}

fn clone_of(directory: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(directory, name, flags)
}

impl Covers {
    pub(super) fn new(stage: OwnedFd) -> Self {
        Self { stage, made: 0 }
    }

    /// Creates a file that every user can read and no user can write.
    fn file(&mut self, content: &[u8]) -> Result<OwnedFd, Errno> {
        self.made = self.made.saturating_add(1);
        let name = format!("content-{}", self.made);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.stage, &name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // Independent of the umask.
        fchmod(&file, Mode::RUSR | Mode::RGRP | Mode::ROTH)?;
        let tree = clone_of(&self.stage, &name)?;
        set_mount_attributes(tree.as_fd(), MountAttributes { read_only: true, no_exec: true })?;
        Ok(tree)
    }

    /// Creates an empty file or directory without permissions. If a path inside the directory is shown again
    /// (`around`), the directory can be entered, and its writable side is returned too.
    fn hide(&mut self, is_directory: bool, around: bool) -> Result<(OwnedFd, Option<OwnedFd>), Errno> {
        let stage = self.stage.as_fd();
        let (name, passage) = match (is_directory, around) {
            (false, _) => {
                make_file(stage, OsStr::new("hidden-file"))?;
                ("hidden-file".to_owned(), None)
            }
            (true, false) => {
                make_directory(stage, OsStr::new("hidden"), 0)?;
                ("hidden".to_owned(), None)
            }
            (true, true) => {
                self.made = self.made.saturating_add(1);
                let name = format!("hidden-{}", self.made);
                let passage = make_directory(stage, OsStr::new(&name), PASSAGE)?;
                (name, Some(passage))
            }
        };
        let tree = clone_of(&self.stage, &name)?;
        set_mount_attributes(tree.as_fd(), MountAttributes { read_only: true, no_exec: true })?;
        Ok((tree, passage))
    }
}

/// Creates `path` in a directory that hides, as a mount point.
fn make_point(passage: BorrowedFd<'_>, path: &Path, is_directory: bool) -> Result<(), Errno> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut names = names.peekable();
    let mut current = passage.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    while let Some(name) = names.next() {
        if names.peek().is_some() || is_directory {
            current = make_directory(current.as_fd(), name, PASSAGE)?;
        } else {
            make_file(current.as_fd(), name)?;
        }
    }
    Ok(())
}

/// Creates a directory, unless it exists, and opens it.
fn make_directory(parent: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(mode);
    match mkdirat(parent, name, mode) {
        // Independent of the umask.
        Ok(()) => chmodat(parent, name, mode, AtFlags::empty())?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    openat(parent, name, HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
}

/// Creates an empty file without permissions, unless it exists.
fn make_file(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty()) {
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn explain(overlay: &Overlay, errno: Errno) -> String {
    let path = String::from_utf8_lossy(&overlay.path);
    let path = path.escape_debug();
    match errno {
        Errno::LOOP => format!("`{path}` is a symbolic link or contains one"),
        Errno::XDEV => format!("`{path}` was moved while the sandbox was created"),
        errno => format!("`{path}`: {errno}"),
    }
}
