//! The record of an open session for the runner's next process: a small file next to its directories, where no command
//! can access it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

const NAME: &str = "session.json";
const NEXT: &str = "session.json.next";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    pub(super) id: String,
    pub(super) uid: Option<u32>,
    /// The mechanism that limits its disk usage, by its name in the configuration.
    pub(super) disk: String,
    /// In hex, because it need not be text.
    pub(super) directory: String,
    /// The SHA-256 of its shell snapshot, in hex. Empty if it has no snapshot.
    #[serde(default)]
    pub(super) snapshot_digest: String,
    /// The reason why it has no snapshot, although it should have one.
    #[serde(default)]
    pub(super) snapshot_problem: String,
}

impl Saved {
    /// Replaces the file in the session's root directory atomically.
    pub(super) fn write(&self, root: &Path) -> io::Result<()> {
        let next = root.join(NEXT);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        let name = root.join(NAME);
        if !name.try_exists()? {
            // A file system flushes a file before it replaces another one, but not before it gets a new name.
            file.sync_data()?;
        }
        fs::rename(next, name)
    }

    /// Removes the file. A missing file is not an error.
    pub(super) fn remove(root: &Path) -> io::Result<()> {
        match fs::remove_file(root.join(NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the file. `None` if it was never written.
    pub(super) fn read(root: &Path) -> io::Result<Option<Self>> {
        match fs::read(root.join(NAME)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
