//! What a reader on demand sees: bytes that are written, or how far the stream goes. It shares the ring
//! where that has what it wants, and has nothing fed into it.

use super::{State, Way};
use crate::stream::{
    ring::{Find, Piece},
    track::{Phase, Place},
};

/// Further on than any stream goes. Of a read from there only the answer's end says something.
const BEYOND: u64 = u64::MAX;

/// What a look gives.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::stream) enum Seen {
    /// A stretch that begins at the place.
    Piece(Piece),
    /// Nothing yet: look again when the bell has rung, or at the next poll.
    Wait,
    /// The stream goes as far as here, now.
    End {
        total: u64,
        /// It will not grow.
        complete: bool,
    },
    /// Nothing to be had here: look into the store.
    Elsewhere,
}

impl State {
    pub(super) fn look(&mut self, place: &mut Place, want: u64, of_ring: bool) -> Seen {
        if let Some(seen) = self.look_at_claim(place) {
            return seen;
        }
        let way = self.way;
        let track = self.track(place.stream);
        if let Some(total) = track.length
            && (want == 0 || place.offset >= total)
        {
            return Seen::End { total, complete: true };
        }
        if want > 0
            && (of_ring || way != Way::Usable)
            && let Find::Held(piece) = track.ring.find(place.offset)
        {
            return Seen::Piece(piece);
        }
        if way != Way::Usable {
            return Seen::Elsewhere;
        }
        let offset = place.offset;
        if want == 0 {
            place.offset = BEYOND;
        }
        self.claim(place, false, want);
        place.offset = offset;
        Seen::Wait
    }

    /// What the reader's own read gave, while it has one.
    fn look_at_claim(&mut self, place: &mut Place) -> Option<Seen> {
        let id = place.claim?;
        let claim = self.claims.get_mut(&id)?;
        if let Some(piece) = claim.pieces.pop_front() {
            return Some(Seen::Piece(piece));
        }
        let Phase::Over { empty, total } = claim.phase else { return Some(Seen::Wait) };
        self.claims.remove(&id);
        place.claim = None;
        total.filter(|_| empty).map(|total| Seen::End { total, complete: false })
    }
}
