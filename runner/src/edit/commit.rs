//! Writes the approved results as `sed -i` does: each file is replaced by a new one with the same mode, and the old one
//! becomes the backup or is removed.
//!
//! Hostile commands may change the files at the same time. Each result is first exchanged with its file. The old file is
//! then out of their sight, and only now its contents are compared with the approved ones. If one differs, all exchanges
//! are undone. So no change that a person has not seen is overwritten, and a link or a pipe in place of the file is left
//! alone.

use std::{
    ffi::OsString,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_archive::TEMPORARY_PREFIX;
use airlock_domain::{DecidedEdit, EditedFile, FileState, Grant};
use rustix::{
    fs::{AtFlags, RenameFlags, renameat, renameat_with, unlinkat},
    io::Errno,
};

use super::{
    copies::{Output, create},
    error::EditError,
    input::{Input, input as read_input},
    place::{Place, directory, within},
};
use crate::session::OpenSession;

/// Writes the results. Blocks.
///
/// # Errors
/// If an input, a backup or a result is not the approved one, or if a step fails. Then nothing is written.
pub(crate) fn commit(
    session: &OpenSession,
    grant: &Grant,
    edit: &DecidedEdit,
    (inputs, outputs): (&[Input], &[Output]),
) -> Result<(), EditError> {
    for (file, output) in edit.files.iter().zip(outputs) {
        if file.result != Some(output.digest) {
            return Err(EditError::OtherResult(file.path.clone()));
        }
    }
    within(session.workspace(), session, |root| {
        let mut swaps = Vec::new();
        let done = swap_all(root, grant, edit, (inputs, outputs), &mut swaps);
        if done.is_err() {
            swaps.iter().rev().for_each(Swap::undo);
            return done;
        }
        swaps.iter().try_for_each(Swap::finish)
    })
}

fn swap_all<'a>(
    root: BorrowedFd<'_>,
    grant: &Grant,
    edit: &'a DecidedEdit,
    (inputs, outputs): (&[Input], &[Output]),
    swaps: &mut Vec<Swap<'a>>,
) -> Result<(), EditError> {
    for ((file, input), output) in edit.files.iter().zip(inputs).zip(outputs) {
        let place = Place::of(&file.path)?;
        let directory = directory(root, place.directory, &file.path)?;
        if output.is_written {
            let swap = Swap::begin(directory, file, place.name, (input, output))?;
            swaps.push(swap);
        } else {
            let found = read_input(root, directory.as_fd(), &place, &file.path)?;
            is_approved(grant, file, found.digest)?;
        }
    }
    for swap in swaps {
        swap.check(root, grant)?;
    }
    Ok(())
}

/// Compares the contents of a file with the approved ones.
fn is_approved(grant: &Grant, file: &EditedFile, found: [u8; 32]) -> Result<(), EditError> {
    let approved = state(grant, &file.path);
    if approved == Some(FileState::Digest(found)) {
        Ok(())
    } else {
        Err(EditError::Changed(file.path.clone()))
    }
}

fn state(grant: &Grant, path: &[u8]) -> Option<FileState> {
    grant.decided.files.iter().find(|file| file.path == path).map(|file| file.state)
}

/// A result that has been exchanged with its file.
struct Swap<'a> {
    directory: OwnedFd,
    file: &'a EditedFile,
    name: &'a [u8],
    /// The name of the old file, or of the result before the exchange and after it was undone.
    aside: OsString,
}

impl<'a> Swap<'a> {
    /// Creates the result next to the file, and exchanges both.
    fn begin(
        directory: OwnedFd,
        file: &'a EditedFile,
        name: &'a [u8],
        (input, output): (&Input, &Output),
    ) -> Result<Self, EditError> {
        let failed = |errno| EditError::io("replace", &file.path)(errno);
        let mut random = [0; 12];
        getrandom::fill(&mut random).map_err(|_| EditError::Copies("no random name".to_owned()))?;
        let aside = OsString::from(format!("{TEMPORARY_PREFIX}{}", hex::encode(random)));
        let swap = Self { directory, file, name, aside };
        let at = swap.directory.as_fd();
        let made = create(at, swap.aside.as_encoded_bytes(), &output.content, input.mode, &file.path);
        let swapped =
            made.and_then(|_| match renameat_with(at, &swap.aside, at, name, RenameFlags::EXCHANGE) {
                Err(Errno::NOENT) => Err(EditError::Changed(file.path.clone())),
                other => other.map_err(failed),
            });
        match swapped {
            Ok(()) => Ok(swap),
            Err(error) => {
                swap.remove_aside();
                Err(error)
            }
        }
    }

    /// Checks that the old file has the approved content, and that the path of its backup has the approved state.
    fn check(&self, root: BorrowedFd<'_>, grant: &Grant) -> Result<(), EditError> {
        let place =
            Place { directory: Place::of(&self.file.path)?.directory, name: self.aside.as_encoded_bytes() };
        let found = read_input(root, self.directory.as_fd(), &place, &self.file.path);
        // Anything that is not a readable file is not the approved one.
        let found = found.map_err(|_| EditError::Changed(self.file.path.clone()))?;
        is_approved(grant, self.file, found.digest)?;
        if self.file.backup.is_empty() {
            return Ok(());
        }
        let backup = Place::of(&self.file.backup)?;
        let now = match read_input(root, self.directory.as_fd(), &backup, &self.file.backup) {
            Ok(Input { digest, is_link: false, .. }) => Some(FileState::Digest(digest)),
            Err(EditError::Missing(_)) => Some(FileState::Absent),
            _ => None,
        };
        let is_same = now.is_some() && now == state(grant, &self.file.backup);
        if is_same { Ok(()) } else { Err(EditError::Changed(self.file.backup.clone())) }
    }

    /// Removes the old file, or makes it the backup.
    fn finish(&self) -> Result<(), EditError> {
        if self.file.backup.is_empty() {
            self.remove_aside();
            return Ok(());
        }
        let backup = Place::of(&self.file.backup)?;
        renameat(&self.directory, &self.aside, &self.directory, backup.name)
            .map_err(EditError::io("create the backup", &self.file.backup))
    }

    /// Puts the old file back, and removes the result.
    fn undo(&self) {
        let at = self.directory.as_fd();
        if let Err(error) = renameat_with(at, &self.aside, at, self.name, RenameFlags::EXCHANGE) {
            // Without the file, the old contents stay under the other name. They are not removed.
            tracing::error!(%error, "cannot undo the write of a file edit");
            return;
        }
        self.remove_aside();
    }

    fn remove_aside(&self) {
        if let Err(error) = unlinkat(&self.directory, &self.aside, AtFlags::empty()) {
            tracing::warn!(%error, "cannot remove a temporary file of a file edit");
        }
    }
}
