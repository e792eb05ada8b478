//! The errors of the output storage.

use airlock_domain::ExecutionId;

use crate::stream::GAPS_MOST;

/// The maximum length of a storage's error text in an [`OutputError`], in characters.
const CAUSE_CHARS: usize = 400;

/// The reason why an output could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// No output is stored for this execution.
    #[error("no output of execution `{0}` is stored")]
    Missing(ExecutionId),
    /// A read begins past the end of the stream.
    #[error("offset {asked} is past the end, which is {end}")]
    PastEnd {
        /// The requested offset.
        asked: u64,
        /// The length of the stream in bytes.
        end: u64,
    },
    /// A range does not begin at the current end of the stream, or a gap is empty.
    #[error("the range from {from} to {to} does not begin at the end of the stream, which is {position}")]
    Misplaced {
        /// The first offset of the range.
        from: u64,
        /// The end of the range, exclusive.
        to: u64,
        /// The current end of the stream.
        position: u64,
    },
    /// A stream has more gaps than a manifest may list.
    #[error("a stored stream has at most {} gaps", GAPS_MOST)]
    TooManyGaps,
    /// An earlier call failed or was dropped before it completed, so the written bytes are unknown.
    #[error("an earlier write of this output failed")]
    Broken,
    /// The storage cannot be reached, or is full.
    #[error("the output storage failed to {step}: {cause}")]
    Unavailable {
        /// The operation that failed.
        step: &'static str,
        /// The storage's error text.
        cause: String,
    },
    /// The storage cannot hold outputs, for example because it has no conditional writes.
    #[error("the storage is not suitable for outputs: {0}")]
    Unusable(String),
    /// The stored output differs from the written data.
    #[error("the output of execution `{id}` is damaged: {problem}")]
    Corrupt {
        /// The execution of the output.
        id: ExecutionId,
        /// The damage.
        problem: &'static str,
    },
}

pub(super) fn unavailable(step: &'static str, cause: &dyn std::error::Error) -> OutputError {
    OutputError::Unavailable { step, cause: said(cause) }
}

/// Returns the error text of a storage, truncated and without control characters.
pub(super) fn said(cause: &dyn std::error::Error) -> String {
    let mut text: String = cause.to_string().chars().take(CAUSE_CHARS).collect();
    text.retain(|character| !character.is_control());
    text
}
