//! The disk limits of a session, and the mechanisms that enforce them. These are quotas of the file system, a private
//! file system in an image or in memory, and a periodic count.
//!
//! The limit applies to one directory of a session, which holds its workspace, HOME, `/tmp` and quarantine. No file
//! contents of a command are read.

mod backend;
mod count;
mod disks;
mod image;
mod mounts;
mod quota;
mod session;

pub use backend::{DiskBackend, DiskConfig, DiskError};
pub use count::{DiskUse, disk_use};
pub use disks::Disks;
pub use session::SessionDisk;

use std::path::Path;

use crate::report::{CapabilityReport, Check, layer};

const NAME: &str = "disk_quota";
const LIMIT: &str = "set `workspace.bytes` and `workspace.inodes`";

impl Disks {
    /// Returns the check: the mechanism, the consequence if usage is not always limited, and the remedy.
    #[must_use]
    pub fn check(&self) -> Check {
        let lost = layer(NAME).map_or("", |layer| layer.lost);
        if !self.config().has_limits() {
            let seen = "sessions have no disk limit";
            return Check::missing(NAME, seen, lost, LIMIT);
        }
        let (seen, gap) = match self.backend() {
            DiskBackend::Quota => ("quota: each session is a project of the file system", None),
            DiskBackend::Loop => ("loop: each session has an ext4 file system in an image", None),
            DiskBackend::Tmpfs => (
                "tmpfs: each session has a file system in memory, which is lost when the host restarts",
                None,
            ),
            DiskBackend::Watch => {
                ("watch: the disk usage of sessions is measured while commands run", Some(()))
            }
        };
        match (gap, &self.without_quota) {
            (None, _) => Check::ok(NAME, format!("{seen}{}", self.half())),
            (Some(()), Some((cause, remedy))) => {
                Check::degraded(NAME, format!("{seen}; quota: {cause}"), lost, remedy)
            }
            (Some(()), None) => {
                let remedy = "set `workspace.backend` to `auto`, `quota` or `loop`";
                Check::degraded(NAME, seen, lost, remedy)
            }
        }
    }

    /// Returns a note about a limit that is not set.
    fn half(&self) -> &'static str {
        match (self.config().bytes, self.config().inodes, self.backend()) {
            (None, ..) => "; bytes are not limited, because `workspace.bytes` is not set",
            (_, None, DiskBackend::Quota) => "; files are not limited, because `workspace.inodes` is not set",
            _ => "",
        }
    }
}

/// Determines, by a trial in the empty directory `directory`, how the limits of `config` would be enforced. Leaves the
/// directory empty. The second value states whether a runner would start. `id` as in [`Disks::open`]. Blocks.
#[must_use]
pub fn disk_check(config: DiskConfig, directory: &Path, id: Option<u32>) -> (Check, bool) {
    match Disks::open(config, directory, id) {
        Ok(disks) => {
            disks.leave();
            (disks.check(), true)
        }
        Err(error) => {
            let remedy = match &error {
                DiskError::Unusable { remedy, .. } => remedy.as_str(),
                DiskError::Step { .. } | DiskError::Lost => "see the cause",
            };
            let lost = "a runner does not start with this configuration";
            (Check::missing(NAME, error.to_string(), lost, remedy), false)
        }
    }
}

impl CapabilityReport {
    /// Replaces the check of sessions' disks, which the probe inside the sandbox cannot determine.
    #[must_use]
    pub fn with_disk(mut self, check: Check) -> Self {
        if let Some(line) = self.checks.iter_mut().find(|line| line.name == check.name) {
            *line = check;
        }
        self
    }
}

#[cfg(test)]
mod tests;
