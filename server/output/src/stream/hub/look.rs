//! The view of an on-demand reader: bytes that are already written, or the length of the stream. It
//! uses data of the ring where possible, but never requests data into the ring.

use super::{State, Way};
use crate::stream::{
    ring::{Find, Piece},
    track::{Phase, ReaderPosition},
};

/// An offset past the end of any stream. A read from there only returns the length.
const BEYOND: u64 = u64::MAX;

/// The result of a look.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::stream) enum Seen {
    /// A piece that begins at the reader's place.
    Piece(Piece),
    /// No data yet. Look again after a notification or at the next poll.
    Wait,
    /// The stream currently ends here.
    End {
        total: u64,
        /// Whether the stream is complete.
        complete: bool,
    },
    /// No data is available here. The store has the new location.
    Elsewhere,
}

impl State {
    pub(super) fn look(&mut self, place: &mut ReaderPosition, want: u64, of_ring: bool) -> Seen {
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

    /// Returns the result of the reader's individual read, if there is one.
    fn look_at_claim(&mut self, place: &mut ReaderPosition) -> Option<Seen> {
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
