//! Where an execution stands in the order of its session, and until when. Decides whose turn it is no more than the
//! record says.

use airlock_proto::domain::{BackgroundedBy, ExecutionState};

use super::{ExecutionRecord, Micros};

impl ExecutionRecord {
    /// Whether it takes its turn in the order of its session, and holds up who comes after it.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        !self.spec.allow_concurrent && !self.decision.concurrency_safe && !self.has_left_order()
    }

    /// Whether its session is, when it ends, where it then is: only what takes its turn and stays in front of others
    /// moves it.
    #[must_use]
    pub fn moves_session(&self) -> bool {
        self.backgrounded.is_none() && !self.spec.allow_concurrent && !self.decision.concurrency_safe
    }

    /// Whether it is in the background. What was to be there from its beginning keeps its place until it runs.
    fn has_left_order(&self) -> bool {
        match self.backgrounded {
            None => false,
            Some(BackgroundedBy::Request) => {
                matches!(self.state, ExecutionState::Running | ExecutionState::Finished)
            }
            Some(BackgroundedBy::Client | BackgroundedBy::Budget) => true,
        }
    }

    /// When its time in the foreground is over; none unless it runs there, and has a budget.
    #[must_use]
    pub fn yields_at(&self) -> Option<Micros> {
        let in_foreground = self.state == ExecutionState::Running && self.backgrounded.is_none();
        let (started, budget) = self.started.zip(self.spec.yield_after).filter(|_| in_foreground)?;
        Some(started.after(budget))
    }
}
