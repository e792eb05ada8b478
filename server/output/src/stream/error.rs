//! The reasons why output cannot be followed or read.

use std::time::Duration;

use airlock_domain::{ExecutionId, OutputStream};
use airlock_store::StoreError;

use super::shelf::ShelfError;

/// The reason why a view or a read failed.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The execution does not exist.
    #[error("no such execution: `{0}`")]
    NoExecution(ExecutionId),
    /// A read of the standard error of a command that wrote both streams to its standard output.
    #[error("the command's standard error is in its standard output")]
    NoStderr,
    /// The offset is past the end of the stream.
    #[error("offset {asked} is past the end of {stream:?}, which has {end} bytes")]
    PastEnd {
        /// The stream.
        stream: OutputStream,
        /// The offset from the request.
        asked: u64,
        /// The length of the stream.
        end: u64,
    },
    /// A limit on readers is reached.
    #[error("limit `{limit}` of {value} is reached")]
    Exhausted {
        /// The name of the limit in the configuration.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// The time after which to retry.
        retry_after: Duration,
    },
    /// The runner that has the output is unreachable.
    #[error("the runner that has the output is unreachable")]
    Unreachable {
        /// The time after which to retry.
        retry_after: Duration,
    },
    /// The server stops. A reader can continue on another server from its last cursor.
    #[error("this server is stopping")]
    Stopping,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output storage failed.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// An internal error, for the operator.
    #[error("{0}")]
    Internal(&'static str),
}

impl StreamError {
    /// Reports whether the store does not answer at the moment.
    pub(super) fn is_store_away(&self) -> bool {
        matches!(self, Self::Store(StoreError::Unavailable(_) | StoreError::Undone(_)))
    }
}
