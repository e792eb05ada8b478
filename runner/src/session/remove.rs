//! Deletes a tree that hostile commands have shaped, through directory handles: any names, any modes,
//! any depth, any number of entries, with a handful of descriptors.
//!
//! A folder below the first level that is not empty is moved up to it, so that nothing that is looked
//! into is deeper than that. Nothing of the session may run any more. Must not follow a link.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, chmodat, openat, renameat_with, statat, unlinkat,
    },
    io::Errno,
    path::Arg,
};

/// Passes over the tree's root without any progress, after which it is given up.
const IDLE_PASSES: usize = 8;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Deletes `name` in `parent`, and everything below it. That there is nothing is no error. Blocks.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: impl Arg) -> io::Result<()> {
    let name = name.into_c_str()?;
    let root = match open_folder(parent, &name) {
        Ok(root) => root,
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return Ok(unlinkat(parent, &*name, AtFlags::empty())?),
        Err(errno) => return Err(errno.into()),
    };
    let mut tree = Tree { root, moved: 0 };
    let mut idle = 0;
    loop {
        let removed = tree.pass()?;
        match unlinkat(parent, &*name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        idle = if removed { 0 } else { idle + 1 };
        if idle > IDLE_PASSES {
            return Err(Errno::NOTEMPTY.into());
        }
    }
}

struct Tree {
    root: OwnedFd,
    moved: u64,
}

impl Tree {
    /// Deletes what the root holds now; what is moved up meanwhile may be left. True if anything went.
    fn pass(&mut self) -> Result<bool, Errno> {
        let mut removed = false;
        for entry in Dir::read_from(&self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            if is_folder(self.root.as_fd(), name, entry.file_type())? {
                let folder = open_folder(self.root.as_fd(), name)?;
                self.clear(&folder)?;
                // Not empty if an entry was not seen, for another pass.
                removed |= unlinkat(&self.root, name, AtFlags::REMOVEDIR).is_ok();
            } else {
                unlinkat(&self.root, name, AtFlags::empty())?;
                removed = true;
            }
        }
        Ok(removed)
    }

    /// Deletes what a folder of the first level holds, or moves it up.
    fn clear(&mut self, folder: &OwnedFd) -> Result<(), Errno> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            if !is_folder(folder.as_fd(), name, entry.file_type())? {
                unlinkat(folder, name, AtFlags::empty())?;
            } else if unlinkat(folder, name, AtFlags::REMOVEDIR).is_err() {
                self.move_up(folder, name)?;
            }
        }
        Ok(())
    }

    fn move_up(&mut self, folder: &OwnedFd, name: &CStr) -> Result<(), Errno> {
        chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
        loop {
            self.moved += 1;
            let target = format!("moved-{}", self.moved);
            match renameat_with(folder, name, &self.root, &target, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                other => return other,
            }
        }
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

fn is_folder(parent: BorrowedFd<'_>, name: &CStr, known: FileType) -> Result<bool, Errno> {
    let kind = match known {
        FileType::Unknown => {
            FileType::from_raw_mode(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
        }
        known => known,
    };
    Ok(kind == FileType::Directory)
}

/// Whatever its mode is. A link is not opened.
fn open_folder(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    if is_folder(parent, name, FileType::Unknown)? {
        // Not a link, and nothing runs that could make it one.
        chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
    }
    openat(parent, name, FOLDER, Mode::empty())
}
