//! The position of a watch in the milestones of a store. It is opaque to clients and not trusted: a forged
//! position only affects its own watch.

use airlock_store::Milestones;

use crate::api::{ApiError, FieldViolation};

const VERSION: u8 = 1;
const BYTES: usize = 1 + 16 + 8;

/// A position after a milestone of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WatchPosition {
    store: [u8; 16],
    /// The sequence of the last milestone before the position.
    pub(super) sequence: u64,
}

impl WatchPosition {
    /// Returns the position after all current milestones.
    pub(super) fn latest(now: &Milestones) -> Self {
        Self { store: now.store, sequence: now.latest }
    }

    /// Decodes a cursor of a client.
    ///
    /// # Errors
    /// `Invalid` for a cursor that this store did not create. `CursorOutOfRange` if milestones after it
    /// were pruned, or if the cursor is later than the last milestone.
    pub(super) fn resume(cursor: &[u8], now: &Milestones) -> Result<Self, ApiError> {
        let position = Self::decode(cursor).ok_or_else(|| invalid("is not a cursor of Watch"))?;
        if position.store != now.store {
            return Err(invalid("belongs to another store; list the executions, and watch without a cursor"));
        }
        position.check(now)?;
        Ok(position)
    }

    /// Checks that all milestones after the position are held.
    ///
    /// # Errors
    /// `CursorOutOfRange`.
    pub(super) fn check(self, now: &Milestones) -> Result<(), ApiError> {
        let message = if self.sequence.saturating_add(1) < now.oldest {
            "the events after the cursor are no longer kept; list the executions, and watch without a cursor"
        } else if self.sequence > now.latest {
            "the cursor is newer than the store, which was restored; list the executions, and watch without a cursor"
        } else {
            return Ok(());
        };
        Err(ApiError::CursorOutOfRange { message })
    }

    pub(super) fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES);
        out.push(VERSION);
        out.extend_from_slice(&self.store);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&version, rest) = bytes.split_first()?;
        let (store, rest) = rest.split_first_chunk::<16>()?;
        let sequence = u64::from_be_bytes(rest.try_into().ok()?);
        (version == VERSION).then_some(Self { store: *store, sequence })
    }
}

fn invalid(description: &str) -> ApiError {
    let violation = FieldViolation { field: "cursor".to_owned(), description: description.to_owned() };
    ApiError::Invalid(vec![violation])
}

#[cfg(test)]
mod tests {
    use airlock_domain::limits::CURSOR_BYTES;

    use super::*;

    fn store(oldest: u64, latest: u64) -> Milestones {
        Milestones { store: [7; 16], oldest, latest, found: Vec::new() }
    }

    #[test]
    fn a_place_is_given_back_as_it_was() {
        let now = store(1, u64::MAX);
        let position = WatchPosition::latest(&now);
        assert!(position.encode().len() <= CURSOR_BYTES);
        assert_eq!(WatchPosition::resume(&position.encode(), &now).unwrap(), position);
    }

    #[test]
    fn what_no_watch_gave_and_what_another_store_gave_is_invalid() {
        let cursor = WatchPosition::latest(&store(1, 5)).encode();
        let other = Milestones { store: [8; 16], ..store(1, 5) };
        assert!(matches!(WatchPosition::resume(&cursor, &other), Err(ApiError::Invalid(_))));
        let longer = [&cursor[..], &[0]].concat();
        let other_version = [&[2], &cursor[1..]].concat();
        for forged in [&[][..], &cursor[..24], &longer, &other_version] {
            assert!(
                matches!(WatchPosition::resume(forged, &store(1, 5)), Err(ApiError::Invalid(_))),
                "{forged:?}"
            );
        }
    }

    #[test]
    fn only_a_place_that_is_followed_by_what_is_there_can_be_resumed() {
        let cursor = |sequence| WatchPosition { store: [7; 16], sequence }.encode();
        let resume =
            |sequence, oldest, latest| WatchPosition::resume(&cursor(sequence), &store(oldest, latest));
        for (sequence, oldest, latest) in [(0, 1, 0), (0, 1, 9), (9, 1, 9), (4, 5, 9), (9, 10, 9)] {
            assert!(resume(sequence, oldest, latest).is_ok(), "{sequence} in {oldest}..={latest}");
        }
        for (sequence, oldest, latest) in [(3, 5, 9), (10, 1, 9), (8, 10, 9), (u64::MAX, 1, 9)] {
            let refused = resume(sequence, oldest, latest);
            assert!(matches!(refused, Err(ApiError::CursorOutOfRange { .. })), "{refused:?}");
        }
    }
}
