//! Lays mounts over parts of a staged folder: empty ones that hide, files with
//! another content, and the same thing again with another right to write.
//!
//! Each name is looked up once, beneath the folder and through no link; what was
//! found is cloned and mounted upon by its handle, so that a name that is swapped
//! meanwhile changes nothing. Must not make anything in the session's folders.

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
/// Beneath one mount: what is covered already is not found a second time under
/// another name.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// Can be passed through and not listed.
const PASSAGE: u32 = 0o111;

/// The empty files and folders that hide, in the stage's own file system.
pub(super) struct Covers {
    stage: OwnedFd,
    made: usize,
}

/// What an overlay is laid upon.
struct Ground {
    tree: OwnedFd,
    hides: Option<Hidden>,
}

/// A hidden folder, and the writable side of the folder that hides it.
struct Hidden {
    original: OwnedFd,
    passage: OwnedFd,
}

/// Lays `overlays`, in their order, over a mounted folder. What one of them names
/// and is not there has no overlay, nor has anything below it.
pub(super) fn lay(folder: OwnedFd, overlays: &[Overlay], covers: &mut Covers) -> Result<(), String> {
    let mut grounds = vec![Ground { tree: folder, hides: None }];
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
    let is_folder = FileType::from_raw_mode(fstat(&original)?.st_mode) == FileType::Directory;
    let (tree, passage) = match &overlay.cover {
        Cover::Visible { read_only } => (again(&original, *read_only)?, None),
        Cover::Hidden { around } => covers.hide(is_folder, *around)?,
        Cover::Content(content) => (covers.file(content)?, None),
    };
    let point = match &ground.hides {
        None => &original,
        Some(hidden) => {
            make_point(hidden.passage.as_fd(), Path::new(path), is_folder)?;
            &find(&ground.tree, path)?.ok_or(Errno::NOENT)?
        }
    };
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, "", point, "", flags)?;
    let hides = passage.map(|passage| Hidden { original, passage });
    Ok(Some(Ground { tree, hides }))
}

/// What is at `path`, or nothing. A link on the way or at the end is an error.
fn find(beneath: &OwnedFd, path: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    let path = if path.is_empty() { OsStr::new(".") } else { path };
    match openat2(beneath, path, HANDLE, Mode::empty(), BENEATH) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// The same thing once more, as a mount of its own.
fn again(original: &OwnedFd, read_only: bool) -> Result<OwnedFd, Errno> {
    let tree = clone_of(original, "")?;
    let attributes = MountAttributes { read_only, no_exec: false };
    set_mount_attributes(tree.as_fd(), attributes)?;
    Ok(tree)
}

fn clone_of(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(folder, name, flags)
}

impl Covers {
    pub(super) fn new(stage: OwnedFd) -> Self {
        Self { stage, made: 0 }
    }

    /// A file that everybody can read and nobody can write.
    fn file(&mut self, content: &[u8]) -> Result<OwnedFd, Errno> {
        self.made = self.made.saturating_add(1);
        let name = format!("content-{}", self.made);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.stage, &name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // Whatever the umask says.
        fchmod(&file, Mode::RUSR | Mode::RGRP | Mode::ROTH)?;
        let tree = clone_of(&self.stage, &name)?;
        set_mount_attributes(tree.as_fd(), MountAttributes { read_only: true, no_exec: true })?;
        Ok(tree)
    }

    /// An empty file or folder without permissions. `around` something that is
    /// shown again, a folder to pass through, and its writable side.
    fn hide(&mut self, is_folder: bool, around: bool) -> Result<(OwnedFd, Option<OwnedFd>), Errno> {
        let stage = self.stage.as_fd();
        let (name, passage) = match (is_folder, around) {
            (false, _) => {
                make_file(stage, OsStr::new("hidden-file"))?;
                ("hidden-file".to_owned(), None)
            }
            (true, false) => {
                make_folder(stage, OsStr::new("hidden"), 0)?;
                ("hidden".to_owned(), None)
            }
            (true, true) => {
                self.made = self.made.saturating_add(1);
                let name = format!("hidden-{}", self.made);
                let passage = make_folder(stage, OsStr::new(&name), PASSAGE)?;
                (name, Some(passage))
            }
        };
        let tree = clone_of(&self.stage, &name)?;
        set_mount_attributes(tree.as_fd(), MountAttributes { read_only: true, no_exec: true })?;
        Ok((tree, passage))
    }
}

/// Makes `path` in a folder that hides, as something to mount upon.
fn make_point(passage: BorrowedFd<'_>, path: &Path, is_folder: bool) -> Result<(), Errno> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut names = names.peekable();
    let mut current = passage.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    while let Some(name) = names.next() {
        if names.peek().is_some() || is_folder {
            current = make_folder(current.as_fd(), name, PASSAGE)?;
        } else {
            make_file(current.as_fd(), name)?;
        }
    }
    Ok(())
}

/// Makes a folder, unless it is there, and opens it.
fn make_folder(parent: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<OwnedFd, Errno> {
    let mode = Mode::from_raw_mode(mode);
    match mkdirat(parent, name, mode) {
        // Whatever the umask says.
        Ok(()) => chmodat(parent, name, mode, AtFlags::empty())?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    openat(parent, name, HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
}

/// Makes an empty file without permissions, unless it is there.
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
        Errno::LOOP => format!("`{path}` is a symbolic link, or there is one on the way to it"),
        Errno::XDEV => format!("`{path}` was moved while the sandbox was made"),
        errno => format!("`{path}`: {errno}"),
    }
}
