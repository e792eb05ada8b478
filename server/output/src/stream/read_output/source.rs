//! The primitive read: the current data at an offset of a stream. The location (the runner, the storage, or lost) is
//! determined for each piece, so a read continues when the output moves from the runner to the storage.

use std::sync::Arc;

use airlock_domain::OutputStream;
use airlock_store::{changes::ChangeWatch, record::ExecutionRecord};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::types::ReadPart;
use crate::stream::{
    error::StreamError,
    facts::{self, Facts},
    hub::Seen,
    reader::ReaderRegistration,
    ring::Piece,
    shelf::{Shelf, Shelved},
    state::Inner,
    track::ReaderPosition,
};

/// The extent of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// The length in bytes, gaps included.
    pub(super) total: u64,
    /// Whether the stream is complete.
    pub(super) complete: bool,
}

/// The data or the end at an offset.
pub(super) enum At {
    /// A piece that begins there. It can be longer than requested.
    Piece(Piece),
    /// Nothing. The stream ends before or at this offset.
    End(Extent),
}

/// The access of one reader to a stream.
pub(super) struct OutputLocation {
    pub(super) registration: ReaderRegistration,
    watch: ChangeWatch,
    bell: watch::Receiver<()>,
    facts: Facts,
    place: ReaderPosition,
    shelf: Shelf,
    /// When the store was last read.
    looked: Instant,
}

impl OutputLocation {
    /// Registers a reader.
    ///
    /// # Errors
    /// If there are too many readers, or the server stops.
    pub(super) fn open(
        inner: &Arc<Inner>,
        record: &ExecutionRecord,
        stream: OutputStream,
    ) -> Result<Self, StreamError> {
        let registration = ReaderRegistration::take(inner, record)?;
        let facts = Facts::of(record);
        registration.hub.learn(record.runner_id.as_ref(), facts.finished);
        Ok(Self {
            watch: inner.changes.watch(record.id),
            bell: registration.hub.bell(),
            facts,
            place: ReaderPosition::new(stream, 0),
            shelf: Shelf::default(),
            looked: Instant::now(),
            registration,
        })
    }

    pub(super) fn stream(&self) -> OutputStream {
        self.place.stream
    }

    /// Converts a piece for the client and counts it.
    pub(super) fn part(&self, piece: Piece) -> ReadPart {
        let stream = self.place.stream;
        let part = match piece {
            Piece::Data { offset, data } => ReadPart::Output { stream, offset, data },
            Piece::Gap { from, to } => ReadPart::Gap { stream, from, to },
        };
        self.observe(&part);
        part
    }

    /// Counts the data that a client receives.
    pub(super) fn observe(&self, part: &ReadPart) {
        let observer = &self.registration.inner.observer;
        match part {
            ReadPart::Output { data, .. } => observer.bytes_out(data.len() as u64),
            ReadPart::Line(line) => observer.bytes_out(line.data.len() as u64),
            ReadPart::Gap { from, to, .. } => observer.bytes_missing(to - from),
            ReadPart::Done(_) => {}
        }
    }

    /// Returns the current extent of the stream.
    ///
    /// # Errors
    /// See [`OutputLocation::at`].
    pub(super) async fn extent(&mut self) -> Result<Extent, StreamError> {
        match self.at(0, 0).await? {
            At::End(extent) => Ok(extent),
            At::Piece(_) => Err(StreamError::Internal("a stream returned bytes instead of its length")),
        }
    }

    /// Returns the data at `offset`. Requests at most `want` bytes; 0 requests the extent only.
    ///
    /// # Errors
    /// `Unavailable` if the runner or the storage cannot be reached for a while, or the server stops.
    pub(super) async fn at(&mut self, offset: u64, want: u64) -> Result<At, StreamError> {
        if self.place.offset != offset {
            self.registration.hub.release(&mut self.place);
            self.place.offset = offset;
        }
        let patience = Instant::now() + self.registration.inner.limits.unreachable_wait;
        let mut asked_again = false;
        loop {
            if self.registration.inner.cancel.is_cancelled() {
                return Err(StreamError::Stopping);
            }
            self.bell.mark_unchanged();
            let (at, elsewhere) = self.look(offset, want).await?;
            if let Some(at) = at {
                if let At::Piece(piece) = &at {
                    self.place.offset = piece.end();
                }
                return Ok(at);
            }
            if elsewhere && !asked_again {
                asked_again = true;
                self.refresh(Instant::now()).await?;
            } else {
                self.wait(patience).await?;
            }
        }
    }

    /// Returns the data that is available without waiting, and whether the store may have a new location.
    async fn look(&mut self, offset: u64, want: u64) -> Result<(Option<At>, bool), StreamError> {
        let ReaderRegistration { inner, hub, .. } = &self.registration;
        let stream = self.place.stream;
        let ends = |total, complete| At::End(Extent { total, complete });
        let at = match self.facts.source(stream) {
            facts::Source::NotYet => ends(0, false),
            facts::Source::Gone { length } if offset < length && want > 0 => {
                At::Piece(Piece::Gap { from: offset, to: length })
            }
            facts::Source::Gone { length } => ends(length, true),
            facts::Source::Shelf => {
                let shelf = self.shelf.reader(&*inner.shelf, hub.id, stream).await?;
                let found = if want == 0 { Shelved::End } else { shelf.read(offset).await? };
                match found {
                    Shelved::Piece(piece) => At::Piece(piece),
                    Shelved::End | Shelved::PastEnd(_) => ends(shelf.length(), true),
                }
            }
            facts::Source::Live => {
                if let Some(length) = self.facts.known_length(stream)
                    && (want == 0 || offset >= length)
                {
                    return Ok((Some(ends(length, true)), false));
                }
                match hub.look(&mut self.place, want, self.facts.ring_is_spool(stream)) {
                    Seen::Piece(piece) => At::Piece(piece),
                    Seen::End { total, complete } => ends(total, complete),
                    Seen::Elsewhere => return Ok((None, true)),
                    Seen::Wait => {
                        inner.drive(hub);
                        return Ok((None, false));
                    }
                }
            }
        };
        Ok((Some(at), false))
    }

    /// Waits for a possible change, and reads the record again after a hint or at the poll interval.
    async fn wait(&mut self, patience: Instant) -> Result<(), StreamError> {
        let limits = &self.registration.inner.limits;
        if Instant::now() >= patience {
            return Err(StreamError::Unreachable { retry_after: limits.poll });
        }
        let poll_at = (self.looked + limits.poll).min(patience);
        let look = tokio::select! {
            () = self.registration.inner.cancel.cancelled() => false,
            () = self.watch.changed() => true,
            // The registration holds the hub, so this cannot fail.
            _ = self.bell.changed() => false,
            () = sleep_until(poll_at) => true,
        };
        match if look { self.refresh(Instant::now()).await } else { Ok(()) } {
            // Output of a running command is available even if the store is not.
            Err(error) if error.is_store_away() && Instant::now() < patience => Ok(()),
            other => other,
        }
    }

    async fn refresh(&mut self, not_before: Instant) -> Result<(), StreamError> {
        let ReaderRegistration { inner, hub, .. } = &self.registration;
        self.looked = Instant::now();
        let record = hub.feed.record(inner.store.as_ref(), hub.id, not_before).await?;
        self.facts = Facts::of(&record);
        hub.learn(record.runner_id.as_ref(), self.facts.finished);
        Ok(())
    }
}

impl Drop for OutputLocation {
    fn drop(&mut self) {
        self.registration.hub.release(&mut self.place);
    }
}
