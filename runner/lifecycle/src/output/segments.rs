//! The segments of one stream: how many there are, and which of them can be deleted. Also the limit on the bytes of all
//! spools together.

use std::ops::Range;

use super::layout::Layout;

/// The reason why a stream gets no further segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSegment {
    /// The spool was deleted.
    #[error("the spool was deleted")]
    Removed,
    /// The limit of all spools is reached.
    #[error(transparent)]
    Full(#[from] Full),
}

/// The segments of one stream. Each counts in the budget of all spools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    layout: Layout,
    /// The number of segments that count in the budget.
    held: u64,
    /// The first segment that was not yet returned for deletion.
    deleted_to: u64,
    removed: bool,
}

impl Segments {
    /// Creates a stream without segments.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self { layout, held: 0, deleted_to: 0, removed: false }
    }

    /// Creates a stream of an earlier process, which has this many segments.
    #[must_use]
    pub fn found(layout: Layout, held: u64, budget: &mut Budget) -> Self {
        budget.count(held.saturating_mul(layout.segment));
        Self { held, ..Self::new(layout) }
    }

    /// Takes one more segment.
    ///
    /// # Errors
    /// [`NoSegment`], without effect.
    pub fn take(&mut self, budget: &mut Budget) -> Result<(), NoSegment> {
        if self.removed {
            return Err(NoSegment::Removed);
        }
        budget.take(self.layout.segment)?;
        self.held += 1;
        Ok(())
    }

    /// Returns the segments that a stream of this length no longer needs. Each is returned once. After a file is
    /// deleted, the caller calls [`Segments::deleted`].
    pub fn to_delete(&mut self, total: u64) -> Range<u64> {
        let dead = self.layout.dead_segments(total);
        let from = dead.start.max(self.deleted_to);
        if from >= dead.end {
            return from..from;
        }
        self.deleted_to = dead.end;
        from..dead.end
    }

    /// Records that the file of one segment was deleted.
    pub fn deleted(&mut self, budget: &mut Budget) {
        if self.held > 0 {
            self.held -= 1;
            budget.give_back(self.layout.segment);
        }
    }

    /// Returns all segments to the budget. The stream gets no further one.
    pub fn release(&mut self, budget: &mut Budget) {
        self.removed = true;
        let held = std::mem::take(&mut self.held);
        budget.give_back(held.saturating_mul(self.layout.segment));
    }
}

/// The limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the limit of {limit} bytes is reached")]
pub struct Full {
    /// The limit in bytes.
    pub limit: u64,
}

/// The limit, and the bytes in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    limit: u64,
    used: u64,
}

impl Budget {
    /// Creates a budget of this many bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, used: 0 }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// [`Full`], without effect, if the limit would be exceeded.
    pub fn take(&mut self, bytes: u64) -> Result<(), Full> {
        let sum = self.used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used = sum.ok_or(Full { limit: self.limit })?;
        Ok(())
    }

    /// Counts existing bytes, even if they exceed the limit.
    pub fn count(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Returns bytes.
    pub fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Returns the bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAP: u64 = 64 << 10;

    #[derive(Debug, Clone, Copy)]
    enum Move {
        Take(usize),
        Grow(usize, u64),
        Release(usize),
    }

    fn any_move() -> impl Strategy<Value = Move> {
        let stream = 0_usize..3;
        prop_oneof![
            5 => stream.clone().prop_map(Move::Take),
            5 => (stream.clone(), 0_u64..40_000).prop_map(|(stream, bytes)| Move::Grow(stream, bytes)),
            1 => stream.prop_map(Move::Release),
        ]
    }

    proptest! {
        #[test]
        fn the_budget_is_the_sum_of_the_segments_and_is_never_exceeded(
            segments in 0_u64..40,
            moves in proptest::collection::vec(any_move(), 0..200),
        ) {
            let layout = Layout::for_cap(CAP);
            let limit = segments * layout.segment;
            let mut budget = Budget::new(limit);
            let mut streams = vec![(Segments::new(layout), 0_u64); 3];
            for next in moves {
                match next {
                    Move::Take(stream) => {
                        let before = streams.clone();
                        let (segments, _) = &mut streams[stream];
                        let taken = segments.take(&mut budget);
                        if taken == Err(NoSegment::Full(Full { limit })) {
                            prop_assert!(budget.used() + layout.segment > limit);
                        }
                        prop_assert!(taken.is_ok() || streams == before, "a refusal has no effect");
                    }
                    Move::Grow(stream, bytes) => {
                        let (segments, total) = &mut streams[stream];
                        *total += bytes;
                        let dead = segments.to_delete(*total);
                        prop_assert!(segments.to_delete(*total).is_empty(), "each segment is deleted once");
                        let cut = layout.cut(*total).unwrap_or_default();
                        for index in dead {
                            let bytes = index * layout.segment..(index + 1) * layout.segment;
                            prop_assert!(cut.start <= bytes.start && bytes.end <= cut.end, "only cut bytes");
                            segments.deleted(&mut budget);
                        }
                    }
                    Move::Release(stream) => {
                        let (segments, _) = &mut streams[stream];
                        segments.release(&mut budget);
                        prop_assert_eq!(segments.take(&mut budget), Err(NoSegment::Removed));
                    }
                }
                let held: u64 = streams.iter().map(|(segments, _)| segments.held).sum();
                prop_assert_eq!(budget.used(), held * layout.segment);
                prop_assert!(budget.used() <= limit);
            }
        }
    }

    #[test]
    fn the_segments_of_an_earlier_process_count_even_beyond_the_limit() {
        let layout = Layout::for_cap(CAP);
        let mut budget = Budget::new(layout.segment);
        let mut found = Segments::found(layout, 3, &mut budget);
        assert_eq!(budget.used(), 3 * layout.segment);
        assert_eq!(found.take(&mut budget), Err(NoSegment::Full(Full { limit: layout.segment })));
        found.release(&mut budget);
        assert_eq!(budget.used(), 0);
    }
}
