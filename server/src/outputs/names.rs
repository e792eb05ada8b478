//! The names of the objects of an output, and the bound on its gaps.

use airlock_domain::{ExecutionId, OutputStream};
use object_store::path::Path;

/// The maximum number of gaps per stream.
pub(super) const GAPS: usize = crate::stream::GAPS_MOST;

pub(super) fn directory(id: ExecutionId) -> Path {
    Path::from(id.to_string())
}

/// Returns the stable name of a stream, which is the prefix of its data objects.
pub(super) fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    }
}
