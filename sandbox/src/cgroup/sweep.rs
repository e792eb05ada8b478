//! What an earlier process with the same state folder has left: ended and
//! removed by the name that it has noted there, and nothing else.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::one::{kill, wait_until_empty};
use super::place::is_cgroup;
use crate::error::LaunchError;

/// What launchers' cgroups are called, before 128 random bits.
pub(super) const PREFIX: &str = "airlock-";
/// The file of the state folder that holds the launcher's cgroup.
const RECORD: &str = "cgroup";
/// How long what is left may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Notes a launcher's cgroup, before it is made.
pub(super) fn note(state: &Path, folder: &Path) -> io::Result<()> {
    fs::write(state.join(RECORD), folder.as_os_str().as_encoded_bytes())
}

/// Forgets it, where it is still the one that was noted.
pub(super) fn forget(state: &Path, folder: &Path) -> io::Result<()> {
    match noted(state)? {
        Some(noted) if noted == folder => fs::remove_file(state.join(RECORD)),
        _ => Ok(()),
    }
}

/// Ends and removes the cgroup that a launcher with this state folder has left,
/// with everything in it, as the next launcher would. Must not be called while
/// one is at work.
///
/// # Errors
///
/// What is noted there cannot be read, ended within ten seconds, or removed.
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

/// Children have none of their own: a sandbox sees no file system of cgroups.
fn remove_with_children(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())?;
        }
    }
    fs::remove_dir(folder)
}
