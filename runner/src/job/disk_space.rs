//! The free space on the disk of the runner's state, and the commands that use it up.
//!
//! All sessions together may be allowed more space than the disk has. If free space drops below the reserve, the
//! runner ends the command in the session that has grown most. The others continue.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::ExecutionId;
use rustix::fs::statvfs;

/// The refusal of new work while free disk space is at or below the reserve.
pub(crate) const DISK_SHORT: &str =
    "less than `limits.disk_reserve_bytes` is free under this runner's `state_dir`";

/// Below this many reserves of free space, the growth of sessions is counted.
const NEAR: u64 = 4;

/// The growth in bytes below which ending a command would not free enough space.
const LITTLE: u64 = 1 << 20;

/// The disk of the runner's state.
#[derive(Debug, Clone)]
pub(crate) struct DiskSpace {
    state_dir: PathBuf,
    reserve: u64,
    /// The bytes by which sessions have grown since their running commands began.
    grown: Arc<Mutex<HashMap<ExecutionId, u64>>>,
}

impl DiskSpace {
    pub(crate) fn new(state_dir: &Path, reserve: u64) -> Self {
        Self { state_dir: state_dir.to_owned(), reserve, grown: Arc::default() }
    }

    /// Returns the free bytes, or 0 if they cannot be read.
    pub(super) fn free(&self) -> u64 {
        self.space().map_or(0, |(free, _)| free)
    }

    /// Returns the free bytes and the size of the disk. `None` if they cannot be read.
    pub(crate) fn space(&self) -> Option<(u64, u64)> {
        let disk = statvfs(&self.state_dir).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Some((bytes(disk.f_bavail), bytes(disk.f_blocks)))
    }

    /// Reports whether free space is below the reserve. Nothing new may then begin.
    pub(crate) fn is_short(&self) -> bool {
        self.free() < self.reserve
    }

    /// Reports whether free space is close to the reserve.
    pub(super) fn is_near(&self) -> bool {
        self.free() < self.reserve.saturating_mul(NEAR)
    }

    /// Records the growth of a command's session. Returns true if space is short and no session has grown more.
    pub(super) fn takes_too_much(&self, execution: ExecutionId, bytes: u64) -> bool {
        let mut grown = self.grown();
        grown.insert(execution, bytes);
        let most = grown.values().copied().max().unwrap_or(0);
        drop(grown);
        bytes > LITTLE && bytes >= most && self.is_short()
    }

    /// Removes a command that has ended.
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
        let directory = tempfile::tempdir().unwrap();
        let short = DiskSpace::new(directory.path(), u64::MAX);
        assert!(short.is_short() && short.is_near());
        let [one, other, idle] = [ExecutionId::new(), ExecutionId::new(), ExecutionId::new()];
        let (much, more) = (10 * LITTLE, 20 * LITTLE);
        assert!(!short.takes_too_much(idle, LITTLE), "a session that uses little is not ended");
        assert!(short.takes_too_much(one, much));
        assert!(short.takes_too_much(other, more));
        assert!(!short.takes_too_much(one, much), "the other session grew more");
        short.forget(other);
        assert!(short.takes_too_much(one, much));
        short.forget(one);
        assert!(!short.takes_too_much(idle, LITTLE));

        let ample = DiskSpace::new(directory.path(), 0);
        assert!(!ample.is_short() && !ample.is_near());
        assert!(!ample.takes_too_much(one, u64::MAX));
        assert!(
            DiskSpace::new(&directory.path().join("gone"), 1).is_short(),
            "an unreadable directory counts as absent"
        );
    }
}
