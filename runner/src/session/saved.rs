//! The stored state of a session: the record for the runner's next process, and the shell snapshot. Both are files next
//! to the session's directories, where no command can access them. Must not create a snapshot or interpret it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, PoisonError},
};

use airlock_domain::SessionSnapshot;
use airlock_domain::limits::SNAPSHOT_BYTES;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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
            // On a rename, file systems flush the contents first if the file replaces another one, but not if the name
            // is new.
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

const SNAPSHOT_NAME: &str = "snapshot";
/// The reason why a session has lost its snapshot.
pub(super) const CHANGED: &str = "the runner's copy of it was removed or changed";

#[derive(Debug, Default)]
pub(super) struct KeptSnapshot(Mutex<SessionSnapshot>);

impl KeptSnapshot {
    pub(super) fn now(&self) -> SessionSnapshot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores a snapshot. A snapshot that cannot be written is discarded.
    pub(super) fn keep(&self, place: &Path, snapshot: SessionSnapshot) {
        let kept = match write_snapshot(place, &snapshot.text) {
            Ok(()) => snapshot,
            Err(error) => SessionSnapshot::missing(format!("it cannot be kept: {error}")),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// Loads the snapshot that an earlier process stored, if it still has the recorded digest (in hex).
    pub(super) fn restore(&self, place: &Path, digest: &str, problem: &str) {
        let text = read_snapshot(place).ok().flatten().filter(|text| hex::encode(digest_of(text)) == digest);
        let found = match text {
            Some(text) if !text.is_empty() => SessionSnapshot { text, problem: String::new() },
            _ if digest.is_empty() => SessionSnapshot::missing(problem),
            _ => SessionSnapshot::missing(CHANGED),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }
}

/// Writes the file. An empty snapshot has no file.
fn write_snapshot(place: &Path, text: &[u8]) -> io::Result<()> {
    let path = place.join(SNAPSHOT_NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ if text.is_empty() => return Ok(()),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text)
}

/// Reads the file. `None` if it does not exist or is too long.
pub(super) fn read_snapshot(place: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match fs::File::open(place.join(SNAPSHOT_NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut text = Vec::new();
    file.take(SNAPSHOT_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok((text.len() <= SNAPSHOT_BYTES).then_some(text))
}

pub(super) fn digest_of(text: &[u8]) -> Vec<u8> {
    Sha256::digest(text).to_vec()
}
