//! The record of a launcher's cgroup in the state directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The prefix of launchers' cgroups. 128 random bits follow.
pub(super) const PREFIX: &str = "airlock-";
/// The file in the state directory that records the launcher's cgroup.
pub(super) const RECORD: &str = "cgroup";

/// Records a launcher's cgroup, before it is created.
pub(super) fn write(state: &Path, directory: &Path) -> io::Result<()> {
    fs::write(state.join(RECORD), directory.as_os_str().as_encoded_bytes())
}

/// Removes the record, if it still names this cgroup.
pub(super) fn remove(state: &Path, directory: &Path) -> io::Result<()> {
    match read(state)? {
        Some(recorded) if recorded == directory => fs::remove_file(state.join(RECORD)),
        _ => Ok(()),
    }
}

/// Returns the recorded cgroup.
pub(super) fn read(state: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_to_string(state.join(RECORD)) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
