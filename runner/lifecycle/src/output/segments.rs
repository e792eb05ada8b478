//! The segments of one stream: how many there are, and which of them can be deleted.

use std::ops::Range;

use super::{
    budget::{Budget, Full},
    layout::Layout,
};

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

#[cfg(test)]
mod tests;
