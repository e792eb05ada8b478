//! Restores an item from quarantine to its original path, unchanged.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;

use super::super::directory::{Directory, Need, look};
use super::super::error::{ProtectError, shown};
use super::super::found::Reason;
use super::super::names::{above, last};
use super::super::scan::scan;
use super::Guard;

const DIRECTORY_MODE: u32 = 0o755;

impl Guard {
    /// Restores an item and accepts it into the record. A file that occupies its path is moved into quarantine.
    /// Returns the item's path, and the ID of the replaced file. Blocks while it scans the workspace.
    ///
    /// # Errors
    /// If there is no such item, or if its path cannot be written.
    pub fn restore(
        &mut self,
        workspace: BorrowedFd<'_>,
        id: &str,
    ) -> Result<(Vec<u8>, Option<String>), ProtectError> {
        let held = self.store.held(id)?;
        self.changes += 1;
        let failed = || ProtectError::path("restore", &held.path);
        let directories = make_directories(workspace, above(&held.path))?;
        let Some(directory) = directories.last() else { return Err(failed()(Errno::NOENT)) };
        let replaced = match look(directory, last(&held.path)).map_err(failed())? {
            Some(_) => self.store.quarantine(workspace, &held.path, Reason::Replaced, "")?,
            None => None,
        };
        self.store.give_back(&held, directory.as_fd())?;
        let mut below = vec![held.path.clone()];
        if self.record.is_some() {
            let now = scan(workspace, self.scope, &self.names)?;
            let prefix = [&held.path[..], b"/"].concat();
            below.extend(now.marks.keys().filter(|path| path.starts_with(&prefix)).cloned());
        }
        self.adopt(workspace, &below)?;
        Ok((held.path, replaced))
    }
}

/// Opens or creates the directories of a path. All stay open, so that each keeps the permissions that the next one
/// needs.
fn make_directories(workspace: BorrowedFd<'_>, path: &[u8]) -> Result<Vec<Directory>, ProtectError> {
    let failed = || ProtectError::path("create the directory", path);
    let mut open = vec![Directory::of(workspace, Need::Change).map_err(failed())?];
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        let Some(parent) = open.last() else { break };
        match mkdirat(parent, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed()(errno)),
        }
        let next = Directory::open(parent, name, Need::Change).map_err(failed())?;
        let next = next.ok_or_else(|| ProtectError::ChangedMeanwhile { path: shown(path) })?;
        open.push(next);
    }
    Ok(open)
}
