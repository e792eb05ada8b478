//! The events of a view.

use airlock_domain::{OutputStream, cursor::Cursor};
use airlock_store::record::{ExecutionRecord, StateChange};
use bytes::Bytes;

use super::progress::Progress;

/// The position at which a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachFrom {
    /// After an event.
    Cursor(Cursor),
    /// All states, and the output from these offsets on.
    Offsets {
        /// In bytes.
        stdout: u64,
        /// In bytes.
        stderr: u64,
    },
}

/// An event of a view, with the cursor to continue from.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The position of the reader after this event.
    pub cursor: Cursor,
    /// The event.
    pub kind: EventKind,
}

/// The kind of an event of a view.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The first event of every view. It is not part of the history.
    Opened(Box<ExecutionRecord>),
    /// A change of state, except the change to `FINISHED`.
    StateChanged(StateChange),
    /// Bytes of the output.
    Output {
        /// The stream.
        stream: OutputStream,
        /// The offset of the first byte.
        offset: u64,
        /// At most [`airlock_domain::limits::CHUNK_BYTES`].
        data: Bytes,
    },
    /// Bytes that are no longer held.
    Gap {
        /// The stream.
        stream: OutputStream,
        /// The first missing byte.
        from: u64,
        /// The first byte after the gap.
        to: u64,
    },
    /// The progress of the running command. It is not part of the history.
    Progress(Progress),
    /// The end of the execution and of the view.
    Finished(Box<ExecutionRecord>),
    /// The end of a view that began in the foreground: the command continues in the background.
    Backgrounded(Box<ExecutionRecord>),
}
