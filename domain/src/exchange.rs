//! The messages of an exchange: one operation on a session's files or an execution's input, or one forwarded connection.

use bytes::Bytes;

use super::{
    BoundFile, DiffOrder, DownloadOrder, DownloadStarted, Downloaded, EditPreview, ExecutionId, FileChange,
    FileInfo, Grant, ListOrder, QuarantineOrder, QuarantinedFile, RunnerId, SessionId, UploadOrder, Uploaded,
};

/// An operation for a runner. Each variant lists the messages that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeOrder {
    /// `Ready`, then the server's chunks and `End`, then `Uploaded`.
    Upload(UploadOrder),
    /// `DownloadStarted`, chunks and `Downloaded`.
    Download(DownloadOrder),
    /// `File`.
    Stat {
        /// The session of the file.
        session_id: SessionId,
        /// The path. Empty: the workspace's root.
        path: Vec<u8>,
    },
    /// `Files`.
    List(ListOrder),
    /// `Changes`.
    Diff(DiffOrder),
    /// `Quarantine`.
    Quarantine(QuarantineOrder),
    /// `Restored`.
    Restore {
        /// The session of the file.
        session_id: SessionId,
        /// The ID of the quarantined file.
        quarantine_id: String,
    },
    /// `Digests`.
    Digests {
        /// The session of the files.
        session_id: SessionId,
        /// Absolute paths inside the sandbox. At most [`BOUND_FILES`](crate::limits::BOUND_FILES).
        paths: Vec<Vec<u8>>,
    },
    /// `Previewed`. The grant has a file edit, without the states and the results of its files.
    Preview(Box<Grant>),
    /// `Ready`, then the server's chunks and `End`, then `Written`.
    Stdin {
        /// The execution that reads the input.
        execution_id: ExecutionId,
        /// Ends the active writer instead of waiting for it.
        take_over: bool,
    },
    /// `Ready`, then chunks in both directions. Each direction ends with `End`; the offsets of each begin at 0.
    Forward {
        /// The session of the port.
        session_id: SessionId,
        /// The port of the session's loopback.
        port: u16,
    },
}

/// Server to runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeToRunner {
    /// The first message, sent once.
    Order(ExchangeOrder),
    /// Bytes of an upload, an input or a forwarded connection.
    Chunk {
        /// The offset of the first byte.
        offset: u64,
        /// At most [`crate::limits::TRANSFER_CHUNK_BYTES`].
        data: Bytes,
    },
    /// The last message.
    End {
        /// Closes the command's input.
        close: bool,
    },
}

/// Runner to server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeFromRunner {
    /// The first message.
    Hello {
        /// The runner.
        runner_id: RunnerId,
        /// The ticket from `OpenExchange`.
        ticket: String,
    },
    /// The order was accepted. The server sends data from this offset on.
    Ready {
        /// In bytes.
        offset: u64,
    },
    /// Bytes of a download or a forwarded connection.
    Chunk {
        /// The offset of the first byte.
        offset: u64,
        /// At most [`crate::limits::TRANSFER_CHUNK_BYTES`].
        data: Bytes,
    },
    /// The properties of the download that follows.
    DownloadStarted(DownloadStarted),
    /// The download is complete.
    Downloaded(Downloaded),
    /// The upload is in the workspace.
    Uploaded(Uploaded),
    /// The requested file.
    File(FileInfo),
    /// A page of a listing.
    Files {
        /// Ordered by path.
        files: Vec<FileInfo>,
        /// More files follow the last one.
        more: bool,
    },
    /// A page of a comparison.
    Changes {
        /// Ordered by path.
        changes: Vec<FileChange>,
        /// More changes follow the last one.
        more: bool,
    },
    /// A page of the quarantine.
    Quarantine {
        /// Oldest first.
        files: Vec<QuarantinedFile>,
        /// More files follow the last one.
        more: bool,
    },
    /// The file was restored.
    Restored {
        /// Its path.
        path: Vec<u8>,
        /// The quarantine ID of the file that existed at this path. Empty: no file existed.
        replaced_id: String,
    },
    /// The states of the paths, in the order of the request.
    Digests(Vec<BoundFile>),
    /// The changes of a file edit.
    Previewed(EditPreview),
    /// The number of input bytes that were written.
    Written {
        /// Bytes in the command's pipe, counted from the start of the input.
        accepted: u64,
        /// The input was closed.
        ended: bool,
    },
    /// The program ended its direction of a forwarded connection.
    End,
    /// The order failed. The last message.
    Failed(ExchangeFailed),
}

/// The reason why an order failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeFailed {
    /// The class of the failure.
    pub failure: ExchangeFailure,
    /// A stable name in upper case.
    pub reason: String,
    /// One line for the client.
    pub message: String,
}

/// The class of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeFailure {
    /// The file, session, transfer or job does not exist.
    NotFound,
    /// The order or its data is invalid.
    Invalid,
    /// The data begins or ends at the wrong offset.
    OutOfRange {
        /// The offset to resume from, in bytes.
        end: u64,
    },
    /// The operation is not possible in the current state.
    FailedPrecondition,
    /// A limit is reached.
    Exhausted {
        /// The name of the limit in the runner's configuration.
        limit: String,
        /// Its value.
        value: u64,
    },
    /// The operation is temporarily not possible.
    Unavailable,
    /// An internal error of the runner.
    Internal,
}
