//! The contents of the files before an edit, as they are in the session.

use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_domain::{DecidedEdit, limits::EDIT_FILE_BYTES};
use nix::unistd::{getegid, geteuid};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, statat},
    io::Errno,
};
use sha2::{Digest as _, Sha256};

use super::{
    error::EditError,
    place::{CONTENT, Place, below, checked, directory, resolve, within},
};
use crate::session::OpenSession;

/// The permission bits of a file.
const PERMISSIONS: u32 = 0o7777;
/// Links are followed only below the workspace.
const BELOW: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_XDEV);

/// A file before the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) content: Vec<u8>,
    pub(crate) digest: [u8; 32],
    pub(crate) mode: u32,
    pub(crate) is_link: bool,
}

/// Reads the files of an edit in its order, for a command that starts in the directory `working`. Blocks.
///
/// # Errors
/// If a file is missing, not regular, too large or not readable, if sed could not replace it, or if a path leads through
/// a link.
pub(crate) fn read(
    session: &OpenSession,
    edit: &DecidedEdit,
    working: &[u8],
) -> Result<Vec<Input>, EditError> {
    checked(edit)?;
    within(session.workspace(), session, |root| {
        directory(root, &below(working)?, working)?;
        let inputs = edit.files.iter().map(|file| {
            let place = Place::of(&file.path)?;
            let directory = directory(root, place.directory, &file.path)?;
            is_writable(directory.as_fd(), session.owner(), &file.path)?;
            let input = input(root, directory.as_fd(), &place, &file.path)?;
            backup(directory.as_fd(), &file.backup)?;
            Ok(input)
        });
        inputs.collect()
    })
}

/// Refuses a directory in which the session's user cannot replace files.
fn is_writable(directory: BorrowedFd<'_>, owner: Option<(u32, u32)>, path: &[u8]) -> Result<(), EditError> {
    let failed = |errno| EditError::io("write to the directory of", path)(errno);
    let (uid, gid) = owner.unwrap_or((geteuid().as_raw(), getegid().as_raw()));
    let stat = fstat(directory).map_err(failed)?;
    let bits = match () {
        () if stat.st_uid == uid => 0o300,
        () if stat.st_gid == gid => 0o030,
        () => 0o003,
    };
    if stat.st_mode & bits == bits { Ok(()) } else { Err(failed(Errno::ACCESS)) }
}

/// Refuses a backup that would replace something other than a regular file.
fn backup(directory: BorrowedFd<'_>, path: &[u8]) -> Result<(), EditError> {
    if path.is_empty() {
        return Ok(());
    }
    match statat(directory, Place::of(path)?.name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Ok(stat) if is_regular(&stat) && size(&stat) <= EDIT_FILE_BYTES => Ok(()),
        Ok(_) => Err(EditError::Backup(path.to_vec())),
        Err(errno) => Err(EditError::io("inspect", path)(errno)),
    }
}

/// Reads one file. `path` is the path that an error names.
pub(super) fn input(
    root: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    place: &Place<'_>,
    path: &[u8],
) -> Result<Input, EditError> {
    let (file, is_link) = open(root, directory, place, path)?;
    let stat = fstat(&file).map_err(EditError::io("inspect", path))?;
    let content = content(file, &stat, path)?;
    let digest = Sha256::digest(&content).into();
    Ok(Input { content, digest, mode: stat.st_mode & PERMISSIONS, is_link })
}

/// Opens a file, or the file that a link leads to.
fn open(
    root: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    place: &Place<'_>,
    path: &[u8],
) -> Result<(OwnedFd, bool), EditError> {
    let failed = |errno| match errno {
        Errno::NOENT | Errno::NOTDIR => EditError::Missing(path.to_vec()),
        Errno::LOOP | Errno::XDEV => EditError::ThroughLink(path.to_vec()),
        Errno::NXIO | Errno::NODEV => EditError::NotAFile(path.to_vec()),
        errno => EditError::io("open", path)(errno),
    };
    let seen = statat(directory, place.name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let is_link = FileType::from_raw_mode(seen.st_mode) == FileType::Symlink;
    if is_link {
        let below = [place.directory, b"/", place.name].concat();
        return Ok((resolve(root, &below, CONTENT, BELOW).map_err(failed)?, true));
    }
    if !is_regular(&seen) {
        return Err(EditError::NotAFile(path.to_vec()));
    }
    let file = openat(directory, place.name, CONTENT | OFlags::NOFOLLOW, Mode::empty());
    Ok((file.map_err(failed)?, false))
}

/// Reads an open file.
///
/// # Errors
/// If it is not a regular file or is too large.
pub(super) fn content(file: OwnedFd, stat: &Stat, path: &[u8]) -> Result<Vec<u8>, EditError> {
    if !is_regular(stat) {
        return Err(EditError::NotAFile(path.to_vec()));
    }
    let mut content = Vec::new();
    let read = File::from(file).take(EDIT_FILE_BYTES + 1).read_to_end(&mut content);
    read.map_err(|source| EditError::Io { action: "read", path: path.to_vec(), source })?;
    if content.len() as u64 > EDIT_FILE_BYTES { Err(EditError::TooLarge(path.to_vec())) } else { Ok(content) }
}

pub(super) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(u64::MAX)
}
