//! A view's position in one stream of its execution, and the next piece from there.

use airlock_domain::OutputStream;
use tokio::time::Instant;

use super::{
    error::StreamError,
    facts::{Facts, Source},
    hub::Step,
    reader::ReaderRegistration,
    ring::Piece,
    shelf::{Shelf, Shelved},
    track::ReaderPosition,
};

/// The reader's state for one stream of the execution.
pub(super) struct Lane {
    pub(super) place: ReaderPosition,
    shelf: Shelf,
    /// Whether the reader has all of the stream.
    pub(super) done: bool,
}

impl Lane {
    /// Creates the state of a reader at this offset.
    pub(super) fn new(stream: OutputStream, offset: u64) -> Self {
        Self { place: ReaderPosition::new(stream, offset), shelf: Shelf::default(), done: false }
    }

    /// Returns the next piece, if it is available without waiting. `late` states whether the view was opened after the
    /// end of the execution. It then returns the kept output, not the output of live readers.
    pub(super) async fn look(
        &mut self,
        registration: &ReaderRegistration,
        facts: &Facts,
        late: bool,
    ) -> Result<Option<Piece>, StreamError> {
        if self.done {
            return Ok(None);
        }
        let (stream, offset) = (self.place.stream, self.place.offset);
        match facts.source(stream) {
            Source::NotYet => Ok(None),
            Source::Gone { length } if offset < length => Ok(Some(Piece::Gap { from: offset, to: length })),
            Source::Gone { .. } => Ok(self.end()),
            Source::Shelf => {
                let (inner, hub) = (&registration.inner, &registration.hub);
                match self.shelf.reader(&*inner.shelf, hub.id, stream).await?.read(offset).await? {
                    Shelved::Piece(piece) => Ok(Some(piece)),
                    Shelved::End => Ok(self.end()),
                    Shelved::PastEnd(end) => self.past_end(facts, end),
                }
            }
            Source::Live if facts.is_end(stream, offset) => Ok(self.end()),
            Source::Live => self.look_at_ring(registration, facts, late),
        }
    }

    fn look_at_ring(
        &mut self,
        registration: &ReaderRegistration,
        facts: &Facts,
        late: bool,
    ) -> Result<Option<Piece>, StreamError> {
        let (inner, hub) = (&registration.inner, &registration.hub);
        let now = Instant::now();
        let (step, fell_behind) = match late && !facts.ring_is_spool(self.place.stream) {
            true => (hub.step_of_spool(&mut self.place, now), false),
            false => hub.step(&mut self.place, now),
        };
        if fell_behind {
            inner.observer.caught_up();
        }
        match step {
            Step::Piece(piece) => Ok(Some(piece)),
            Step::End => Ok(self.end()),
            Step::PastEnd(end) if facts.finished => self.past_end(facts, end),
            Step::PastEnd(_) | Step::Elsewhere(_) => Ok(None),
            Step::Wait => {
                inner.drive(hub);
                Ok(None)
            }
        }
    }

    fn end(&mut self) -> Option<Piece> {
        self.done = true;
        None
    }

    /// Handles a position past the `end` of the stream. It is valid if the latest bytes were lost with a host.
    fn past_end(&mut self, facts: &Facts, end: u64) -> Result<Option<Piece>, StreamError> {
        if facts.may_be_past_end {
            return Ok(self.end());
        }
        Err(StreamError::PastEnd { stream: self.place.stream, asked: self.place.offset, end })
    }
}
