//! Private copies of the files of an edit, and the results that sed leaves in them.

use std::{
    fs::File,
    io::Write as _,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_domain::{DecidedEdit, limits::PATH_BYTES};
use airlock_mounts::remove_tree;
use airlock_sandbox::{HostIds, SessionDirectories};
use rustix::{
    fs::{Mode, OFlags, fchmod, fstat, mkdirat, openat},
    io::Errno,
};
use sha2::{Digest as _, Sha256};

use super::{
    error::EditError,
    input::{self, Input},
    place::{CONTENT, DIRECTORY, Place, below, directory, within},
};
use crate::session::OpenSession;

/// Returns the text of the command that runs on the copies: the words of the edit, in a sed that refuses to run programs
/// and to access other files.
pub(crate) fn text(edit: &DecidedEdit) -> Vec<u8> {
    let (program, arguments) =
        edit.words.split_first().map_or((&[][..], &[][..]), |(program, rest)| (program.as_slice(), rest));
    let words = [program, b"--sandbox"].into_iter().chain(arguments.iter().map(Vec::as_slice));
    words.map(quoted).collect::<Vec<_>>().join(&b' ')
}

/// Returns the word in single quotes.
fn quoted(word: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b'\'').collect();
    [b"'".as_slice(), &parts.join(b"'\\''".as_slice()), b"'"].concat()
}

/// Session directories with copies of the files of an edit and nothing else. They are removed on drop.
#[derive(Debug)]
pub(crate) struct Copies {
    directories: SessionDirectories,
    /// The inode of each copy, in the order of the edit.
    inodes: Vec<u64>,
}

/// The contents of a file after the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) content: Vec<u8>,
    pub(crate) digest: [u8; 32],
    /// Whether sed replaced the file. It does not reach the files after a `q`.
    pub(crate) is_written: bool,
}

impl Copies {
    /// Makes the copies, at the same places below another workspace. The directory in which the command starts exists as
    /// well. Blocks.
    ///
    /// # Errors
    /// If they cannot be created, for example because the session's disk is full.
    pub(crate) fn make(
        session: &OpenSession,
        edit: &DecidedEdit,
        inputs: &[Input],
        working: &[u8],
    ) -> Result<Self, EditError> {
        let ids = session.owner().map(|(uid, gid)| HostIds { uid, gid });
        let directories = SessionDirectories::create(&session.directories().root, ids)
            .map_err(|error| EditError::Copies(error.to_string()))?;
        let mut copies = Self { directories, inodes: Vec::new() };
        let inodes = within(&copies.directories.workspace, session, |root| {
            make_directory(root, &below(working)?, working)?;
            let files = edit.files.iter().zip(inputs);
            files.map(|(file, input)| copy(root, &file.path, input)).collect()
        })?;
        copies.inodes = inodes;
        Ok(copies)
    }

    /// Returns the directories for the launch.
    pub(crate) fn directories(&self) -> &SessionDirectories {
        &self.directories
    }

    /// Returns the contents after the edit, in its order. No process may still use the copies. Blocks.
    ///
    /// # Errors
    /// If a file is missing, not regular or too large.
    pub(crate) fn results(
        &self,
        session: &OpenSession,
        edit: &DecidedEdit,
    ) -> Result<Vec<Output>, EditError> {
        within(&self.directories.workspace, session, |root| {
            let files = edit.files.iter().zip(&self.inodes);
            files.map(|(file, inode)| result(root, &file.path, *inode)).collect()
        })
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.directories.root) {
            tracing::warn!(%error, "cannot remove the copies of a file edit; they are removed with their session");
        }
    }
}

/// Creates a directory and its parents, and opens it.
fn make_directory(root: BorrowedFd<'_>, below: &[u8], path: &[u8]) -> Result<OwnedFd, EditError> {
    let failed = |errno| EditError::io("create a copy of the directory of", path)(errno);
    if below.len() > PATH_BYTES {
        return Err(failed(Errno::NAMETOOLONG));
    }
    let mut at = openat(root, ".", DIRECTORY, Mode::empty()).map_err(failed)?;
    for name in below.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")) {
        match mkdirat(&at, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        at = openat(&at, name, DIRECTORY, Mode::empty()).map_err(failed)?;
    }
    Ok(at)
}

/// Creates a copy and returns its inode.
fn copy(root: BorrowedFd<'_>, path: &[u8], input: &Input) -> Result<u64, EditError> {
    let place = Place::of(path)?;
    let directory = make_directory(root, place.directory, path)?;
    create(directory.as_fd(), place.name, &input.content, input.mode, path)
}

/// Creates a file with this content and mode, and returns its inode.
pub(super) fn create(
    directory: BorrowedFd<'_>,
    name: &[u8],
    content: &[u8],
    mode: u32,
    path: &[u8],
) -> Result<u64, EditError> {
    let failed = |errno| EditError::io("create a copy of", path)(errno);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    let inode = fstat(&file).map_err(failed)?.st_ino;
    let mut file = File::from(file);
    let written = file.write_all(content);
    written.map_err(|source| EditError::Io { action: "write a copy of", path: path.to_vec(), source })?;
    fchmod(&file, Mode::from_raw_mode(mode)).map_err(failed)?;
    Ok(inode)
}

fn result(root: BorrowedFd<'_>, path: &[u8], inode: u64) -> Result<Output, EditError> {
    let place = Place::of(path)?;
    let directory = directory(root, place.directory, path)?;
    let file = openat(&directory, place.name, CONTENT | OFlags::NOFOLLOW, Mode::empty())
        .map_err(EditError::io("open the result of", path))?;
    let stat = fstat(&file).map_err(EditError::io("inspect the result of", path))?;
    let content = input::content(file, &stat, path)?;
    let digest = Sha256::digest(&content).into();
    Ok(Output { content, digest, is_written: stat.st_ino != inode })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_survive_the_shell() {
        let edit = DecidedEdit {
            words: [&b"sed"[..], b"-i", b"s/'/\"$x`\n/", b"\xff"].map(<[u8]>::to_vec).to_vec(),
            files: Vec::new(),
        };
        assert_eq!(text(&edit), b"'sed' '--sandbox' '-i' 's/'\\''/\"$x`\n/' '\xff'");
    }
}
