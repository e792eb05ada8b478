//! The stored shell snapshot of a session: a file next to the session's directories, where no command can access it.
//!
//! Must not create a snapshot or interpret it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, PoisonError},
};

use airlock_domain::{SessionSnapshot, limits::SNAPSHOT_BYTES};
use sha2::{Digest, Sha256};

const NAME: &str = "snapshot";
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
        let kept = match write(place, &snapshot.text) {
            Ok(()) => snapshot,
            Err(error) => SessionSnapshot::missing(format!("it cannot be kept: {error}")),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// Loads the snapshot that an earlier process stored, if it still has the recorded digest (in hex).
    pub(super) fn restore(&self, place: &Path, digest: &str, problem: &str) {
        let text = read(place).ok().flatten().filter(|text| hex::encode(digest_of(text)) == digest);
        let found = match text {
            Some(text) if !text.is_empty() => SessionSnapshot { text, problem: String::new() },
            _ if digest.is_empty() => SessionSnapshot::missing(problem),
            _ => SessionSnapshot::missing(CHANGED),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }
}

/// Writes the file. An empty snapshot has no file.
fn write(place: &Path, text: &[u8]) -> io::Result<()> {
    let path = place.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ if text.is_empty() => return Ok(()),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text)
}

/// Reads the file. `None` if it does not exist or is too long.
pub(super) fn read(place: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match fs::File::open(place.join(NAME)) {
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
