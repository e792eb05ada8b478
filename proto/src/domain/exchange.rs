//! The messages of an exchange: one piece of work on a session's files or an execution's input.

use bytes::Bytes;

use super::{
    BoundFile, DiffOrder, DownloadOrder, DownloadStarted, Downloaded, ExecutionId, FileChange, FileInfo,
    ListOrder, QuarantineOrder, QuarantinedFile, RunnerId, SessionId, UploadOrder, Uploaded,
};

/// What a runner is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeOrder {
    /// Answered `Ready`; then chunks and `End`; then `Uploaded`.
    Upload(UploadOrder),
    /// Answered `DownloadStarted`, chunks, `Downloaded`.
    Download(DownloadOrder),
    /// Answered `File`.
    Stat {
        /// Whose workspace.
        session_id: SessionId,
        /// Empty: its root.
        path: Vec<u8>,
    },
    /// Answered `Files`.
    List(ListOrder),
    /// Answered `Changes`.
    Diff(DiffOrder),
    /// Answered `Quarantine`.
    Quarantine(QuarantineOrder),
    /// Answered `Restored`.
    Restore {
        /// Whose workspace.
        session_id: SessionId,
        /// Of the item.
        quarantine_id: String,
    },
    /// Answered `Digests`.
    Digests {
        /// Whose files.
        session_id: SessionId,
        /// Absolute, inside; at most [`BOUND_FILES`](crate::limits::BOUND_FILES).
        paths: Vec<Vec<u8>>,
    },
    /// Answered `Ready`; then chunks and `End`; then `Written`.
    Stdin {
        /// Whose input.
        execution_id: ExecutionId,
        /// A writer that is there is ended, and not waited for.
        take_over: bool,
    },
}

/// Server to runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeToRunner {
    /// Always first, and once.
    Order(ExchangeOrder),
    /// Bytes of an upload or an input.
    Chunk {
        /// Of the first byte.
        offset: u64,
        /// At most [`crate::limits::TRANSFER_CHUNK_BYTES`].
        data: Bytes,
    },
    /// Nothing comes after it.
    End {
        /// The command gets the end of its input.
        close: bool,
    },
}

/// Runner to server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeFromRunner {
    /// Always first.
    Hello {
        /// Who.
        runner_id: RunnerId,
        /// From `OpenExchange`.
        ticket: String,
    },
    /// The order was taken: go on from here.
    Ready {
        /// In bytes.
        offset: u64,
    },
    /// Bytes of a download.
    Chunk {
        /// Of the first byte.
        offset: u64,
        /// At most [`crate::limits::TRANSFER_CHUNK_BYTES`].
        data: Bytes,
    },
    /// What will come.
    DownloadStarted(DownloadStarted),
    /// The download is complete.
    Downloaded(Downloaded),
    /// The upload is in the workspace.
    Uploaded(Uploaded),
    /// The file asked for.
    File(FileInfo),
    /// A page of a listing.
    Files {
        /// By path.
        files: Vec<FileInfo>,
        /// There are more after the last.
        more: bool,
    },
    /// A page of a comparison.
    Changes {
        /// By path.
        changes: Vec<FileChange>,
        /// There are more after the last.
        more: bool,
    },
    /// A page of what is in quarantine.
    Quarantine {
        /// The oldest first.
        files: Vec<QuarantinedFile>,
        /// There are more after the last.
        more: bool,
    },
    /// It was given back.
    Restored {
        /// Where it is.
        path: Vec<u8>,
        /// Of what stood there before; empty if nothing did.
        replaced_id: String,
    },
    /// What is at the paths, in their order.
    Digests(Vec<BoundFile>),
    /// The input has come so far.
    Written {
        /// Bytes in the command's pipe, counted from its start.
        accepted: u64,
        /// It was ended.
        ended: bool,
    },
    /// It was not done; the last message.
    Failed(ExchangeFailed),
}

/// Why an order was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeFailed {
    /// Which kind of no.
    pub failure: ExchangeFailure,
    /// A stable name, upper case.
    pub reason: String,
    /// For the client; one line.
    pub message: String,
}

/// Which kind of no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeFailure {
    /// There is no such file, session, transfer or job.
    NotFound,
    /// The order, or what came with it, cannot be right.
    Invalid,
    /// It begins or ends at the wrong place.
    OutOfRange {
        /// Where to go on, in bytes.
        end: u64,
    },
    /// Not in this state.
    FailedPrecondition,
    /// A limit is reached.
    Exhausted {
        /// Its name in the runner's configuration.
        limit: String,
        /// Its value.
        value: u64,
    },
    /// Not now.
    Unavailable,
    /// A fault of the runner's own.
    Internal,
}
