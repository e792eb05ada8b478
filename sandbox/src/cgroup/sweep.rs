//! Ends and removes the cgroup that an earlier process with the same state directory left. Only the recorded cgroup is
//! affected.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::one::{kill, wait_until_empty};
use super::place::is_cgroup;
use super::record::{self, PREFIX, RECORD};
use crate::error::LaunchError;

/// The time for the remaining processes to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends and removes the cgroup that a launcher with this state directory left, with all its processes. The next
/// launcher does the same. Must not be called while a launcher is active.
///
/// # Errors
///
/// If the record cannot be read, or if the cgroup cannot be ended within ten seconds or removed.
pub fn sweep(state: &Path) -> Result<(), LaunchError> {
    let record = state.join(RECORD);
    let Some(directory) =
        record::read(state).map_err(|source| LaunchError::Runtime { path: record.clone(), source })?
    else {
        return Ok(());
    };
    let ours =
        directory.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    if ours && is_cgroup(&directory) {
        let removed = kill(&directory)
            .and_then(|()| wait_until_empty(&directory, PATIENCE))
            .and_then(|()| remove_with_children(&directory));
        removed.map_err(|source| LaunchError::Cgroup { path: directory, source })?;
    }
    fs::remove_file(&record).map_err(|source| LaunchError::Runtime { path: record, source })
}

/// Removes a cgroup and its children. The children have no children, because a sandbox has no cgroup file system.
fn remove_with_children(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())?;
        }
    }
    fs::remove_dir(directory)
}
