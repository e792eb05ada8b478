//! Ends and removes the cgroup that an earlier process with the same state directory left. Only the recorded cgroup is
//! affected.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::one::{kill, wait_until_empty};
use super::place::is_cgroup;
use crate::error::LaunchError;

/// The prefix of launchers' cgroups. 128 random bits follow.
pub(super) const PREFIX: &str = "airlock-";
/// The file in the state directory that records the launcher's cgroup.
const RECORD: &str = "cgroup";
/// The time for the remaining processes to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Records a launcher's cgroup, before it is created.
pub(super) fn note(state: &Path, folder: &Path) -> io::Result<()> {
    fs::write(state.join(RECORD), folder.as_os_str().as_encoded_bytes())
}

/// Removes the record, if it still names this cgroup.
pub(super) fn forget(state: &Path, folder: &Path) -> io::Result<()> {
    match noted(state)? {
        Some(noted) if noted == folder => fs::remove_file(state.join(RECORD)),
        _ => Ok(()),
    }
}

/// Ends and removes the cgroup that a launcher with this state directory left, with all its processes. The next
/// launcher does the same. Must not be called while a launcher is active.
///
/// # Errors
///
/// If the record cannot be read, or if the cgroup cannot be ended within ten seconds or removed.
pub fn sweep(state: &Path) -> Result<(), LaunchError> {
    let record = state.join(RECORD);
    let Some(folder) =
        noted(state).map_err(|source| LaunchError::Runtime { path: record.clone(), source })?
    else {
        return Ok(());
    };
    let ours = folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    if ours && is_cgroup(&folder) {
        let removed = kill(&folder)
            .and_then(|()| wait_until_empty(&folder, PATIENCE))
            .and_then(|()| remove_with_children(&folder));
        removed.map_err(|source| LaunchError::Cgroup { path: folder, source })?;
    }
    fs::remove_file(&record).map_err(|source| LaunchError::Runtime { path: record, source })
}

fn noted(state: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_to_string(state.join(RECORD)) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a cgroup and its children. The children have no children, because a sandbox has no cgroup file system.
fn remove_with_children(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())?;
        }
    }
    fs::remove_dir(folder)
}
