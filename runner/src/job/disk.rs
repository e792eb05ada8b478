//! The disk that a session takes, watched while one of its commands can write.
//!
//! What is counted is counted with the runner's rights, so that no mode hides anything from it; only names
//! are read.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_proto::domain::{Cause, ExecutionId};
use airlock_sandbox::{DiskUse, Folders, disk_use};
use tokio::{task::spawn_blocking, time::sleep};

use crate::config::WorkspaceConfig;

/// Counting takes at most one part in this many of the time.
const REST: u32 = 10;

/// A session's folders, and what they may take.
#[derive(Debug)]
pub(super) struct DiskWatch {
    folders: Arc<Folders>,
    most: DiskUse,
    every: Duration,
}

impl DiskWatch {
    /// None where there is no limit.
    pub(super) fn new(config: &WorkspaceConfig, folders: &Folders) -> Option<Self> {
        if config.bytes.is_none() && config.inodes.is_none() {
            return None;
        }
        let most =
            DiskUse { bytes: config.bytes.unwrap_or(u64::MAX), inodes: config.inodes.unwrap_or(u64::MAX) };
        Some(Self { folders: Arc::new(folders.clone()), most, every: config.watch_every })
    }

    /// Returns once the session takes more than it may. One that did so already when the command began, may
    /// go on with what it has: so it can be made smaller.
    pub(super) async fn exceeded(&self, execution: ExecutionId) -> Cause {
        let mut most = self.most;
        let all = DiskUse { bytes: u64::MAX, inodes: u64::MAX };
        let mut first = true;
        loop {
            let begun = Instant::now();
            let folders = Arc::clone(&self.folders);
            let until = if first { all } else { most };
            let counted = spawn_blocking(move || disk_use(&folders, until)).await;
            match counted {
                Ok(Ok(Some(used))) if first => {
                    most =
                        DiskUse { bytes: most.bytes.max(used.bytes), inodes: most.inodes.max(used.inodes) };
                    first = false;
                }
                Ok(Ok(Some(used))) if used.exceeds(most) => return Cause::DiskLimit,
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => return Cause::DiskLimit,
                Ok(Err(error)) => {
                    tracing::warn!(%execution, %error, "what a session takes of the disk cannot be counted");
                }
                Err(error) => {
                    tracing::warn!(%execution, %error, "what a session takes of the disk was not counted");
                }
            }
            sleep(self.every.max(begun.elapsed() * REST)).await;
        }
    }
}
