//! The room that is left on the disk of the runner's own state, and whose commands take it.
//!
//! Sessions together may be allowed more than the disk has: when it has no more than the reserve, the command
//! whose session grows most is ended, and the others go on.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::ExecutionId;
use rustix::fs::statvfs;

/// With less than so many reserves left, it is looked at who takes them.
const NEAR: u64 = 4;

/// What takes less, in bytes, is not what fills a disk: ending it would give no room.
const LITTLE: u64 = 1 << 20;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    state_dir: PathBuf,
    reserve: u64,
    /// What sessions have grown by since their running commands began, in bytes.
    grown: Arc<Mutex<HashMap<ExecutionId, u64>>>,
}

impl Room {
    pub(crate) fn new(state_dir: &Path, reserve: u64) -> Self {
        Self { state_dir: state_dir.to_owned(), reserve, grown: Arc::default() }
    }

    /// Bytes that are free; none where that cannot be seen.
    pub(super) fn free(&self) -> u64 {
        self.space().map_or(0, |(free, _)| free)
    }

    /// What is free of the disk, and its size, in bytes; none where that cannot be seen.
    pub(crate) fn space(&self) -> Option<(u64, u64)> {
        let disk = statvfs(&self.state_dir).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Some((bytes(disk.f_bavail), bytes(disk.f_blocks)))
    }

    /// Whether no more than the reserve is left: nothing new begins.
    pub(crate) fn is_short(&self) -> bool {
        self.free() < self.reserve
    }

    /// Whether it may soon be short.
    pub(super) fn is_near(&self) -> bool {
        self.free() < self.reserve.saturating_mul(NEAR)
    }

    /// Notes what a command's session has grown by. True if it is too much: there is no room, and none has
    /// grown more.
    pub(super) fn takes_too_much(&self, execution: ExecutionId, bytes: u64) -> bool {
        let mut grown = self.grown();
        grown.insert(execution, bytes);
        let most = grown.values().copied().max().unwrap_or(0);
        drop(grown);
        bytes > LITTLE && bytes >= most && self.is_short()
    }

    /// The command has ended.
    pub(super) fn forget(&self, execution: ExecutionId) {
        self.grown().remove(&execution);
    }

    fn grown(&self) -> MutexGuard<'_, HashMap<ExecutionId, u64>> {
        self.grown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_room_the_one_that_grows_most_is_ended_and_then_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let short = Room::new(folder.path(), u64::MAX);
        assert!(short.is_short() && short.is_near());
        let [one, other, idle] = [ExecutionId::new(), ExecutionId::new(), ExecutionId::new()];
        let (much, more) = (10 * LITTLE, 20 * LITTLE);
        assert!(!short.takes_too_much(idle, LITTLE), "who takes little is not ended");
        assert!(short.takes_too_much(one, much));
        assert!(short.takes_too_much(other, more));
        assert!(!short.takes_too_much(one, much), "the other has grown more");
        short.forget(other);
        assert!(short.takes_too_much(one, much));
        short.forget(one);
        assert!(!short.takes_too_much(idle, LITTLE));

        let ample = Room::new(folder.path(), 0);
        assert!(!ample.is_short() && !ample.is_near());
        assert!(!ample.takes_too_much(one, u64::MAX));
        assert!(Room::new(&folder.path().join("gone"), 1).is_short(), "what cannot be seen is not there");
    }
}
