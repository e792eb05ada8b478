//! The extent and the bounds of a run.

use std::time::Duration;

pub(super) const SERVERS: u8 = 3;
pub(super) const RUNNERS: u8 = 5;
/// The longest time for any progress on a busy host with faults.
pub(super) const LIMIT: Duration = Duration::from_secs(240);

/// The extent of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of executions.
    pub count: usize,
}
