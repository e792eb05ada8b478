//! The options of a store file.

use std::time::Duration;

use crate::Durability;

/// The options of a store file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The failures that a committed step survives.
    pub durability: Durability,
    /// The number of connections that read. One additional connection writes. At least 1.
    pub readers: u32,
    /// How long SQLite waits for a lock on the file, which a backup can hold.
    pub busy_timeout: Duration,
    /// How long a call waits for a free connection before it fails with [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    pub acquire_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Process,
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            acquire_timeout: Duration::from_secs(10),
        }
    }
}
