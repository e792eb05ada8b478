//! The errors of the spool.

use std::io::{self, ErrorKind};

/// A failed step of storing or reading output.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// `limits.spool_total_bytes` is reached.
    #[error("kept output has reached `limits.spool_total_bytes` of {limit}")]
    Full {
        /// The limit in bytes.
        limit: u64,
    },
    /// The disk is full.
    #[error("the disk of kept output is full")]
    NoSpace,
    /// The operating system reported an error.
    #[error("cannot {action}: {source}")]
    Io {
        /// The step that failed.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SpoolError {
    /// Returns the conversion of an error of the operating system at this step.
    pub(super) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Io { action, source },
        }
    }
}
