//! On-demand reads of output that is already written: a range, the head, the tail, or the lines that
//! match a pattern.
//!
//! Every read uses one primitive ([`source`]): the data at an offset, which is on the runner, in the storage or lost. A
//! read never waits for bytes that are not written, and makes progress only when it is polled. It holds a few chunks in
//! memory regardless of its size.

mod grep;
mod line;
mod pattern;
mod search;
mod source;
mod span;
mod tail;
mod types;

#[cfg(test)]
mod tests;

use airlock_domain::OutputStream;
use futures::{StreamExt as _, stream};

use airlock_store::record::ExecutionRecord;
pub use pattern::{Pattern, PatternError};
pub use types::{Amount, OutputLine, ReadDone, ReadOutput, ReadPart, ReadStream, Search, Selection};

use self::{search::Searching, source::OutputLocation, span::Span, types::Reading};
use super::{error::StreamError, state::Streams};

impl Streams {
    /// Reads a part of an output as it is now. The read counts as a reader.
    ///
    /// # Errors
    /// * `PastEnd` if the read begins past the end.
    /// * `NoStderr` for stderr that was not captured separately.
    /// * `Exhausted` if there are too many readers.
    /// * `Unreachable`, `Shelf` or `Stopping` if the runner or the storage cannot be reached. The parts can fail with it too;
    ///   the client can then continue from the last offset.
    pub async fn read_output(
        &self,
        execution: ExecutionRecord,
        request: ReadOutput,
    ) -> Result<ReadStream, StreamError> {
        let ReadOutput { stream, selection } = request;
        if stream == OutputStream::Stderr && !execution.spec.command.separate_stderr {
            return Err(StreamError::NoStderr);
        }
        let mut source = OutputLocation::open(&self.inner, &execution, stream)?;
        let ExecutionRecord { tenant, .. } = execution;
        let extent = source.extent().await?;
        let end = extent.total;
        let begins_inside = |asked| {
            if asked > end { Err(StreamError::PastEnd { stream, asked, end }) } else { Ok(()) }
        };
        let span = match selection {
            Selection::Range { offset, length } => {
                begins_inside(offset)?;
                let until = length.map_or(end, |length| offset.saturating_add(length).min(end));
                Span::new(source, extent, offset..until)
            }
            Selection::Head(Amount::Bytes(bytes)) => Span::new(source, extent, 0..bytes.min(end)),
            Selection::Head(Amount::Lines(lines)) => Span::new(source, extent, 0..end).with_lines(lines),
            Selection::Tail(Amount::Bytes(bytes)) => {
                Span::new(source, extent, end.saturating_sub(bytes)..end)
            }
            Selection::Tail(Amount::Lines(lines)) => {
                let start = tail::start(&mut source, end, lines).await?;
                Span::new(source, extent, start..end)
            }
            Selection::Search(search) => {
                begins_inside(search.offset)?;
                let searching = Searching::new(source, extent, search, tenant);
                return Ok(parts(searching));
            }
        };
        Ok(parts(span))
    }
}

/// Converts a read to a stream of its parts, up to the first error.
fn parts(reading: impl Reading + 'static) -> ReadStream {
    let parts = stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.next().await {
            Ok(part) => Some((Ok(part?), Some(reading))),
            Err(error) => Some((Err(error), None)),
        }
    });
    parts.boxed()
}
