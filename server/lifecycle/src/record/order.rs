//! The order of executions within a session. Pure: everything follows from the record.

use airlock_domain::{BackgroundedBy, ExecutionState};

use super::{ExecutionRecord, time::Micros};

impl ExecutionRecord {
    /// Reports whether the execution waits for earlier commands of its session, and later ones wait for it.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        !self.spec.allow_concurrent && !self.decision.concurrency_safe && !self.has_left_order()
    }

    /// Reports whether the execution's last directory becomes the session's. This applies only to serial
    /// executions that stay in the foreground.
    #[must_use]
    pub fn moves_session(&self) -> bool {
        self.backgrounded.is_none() && !self.spec.allow_concurrent && !self.decision.concurrency_safe
    }

    /// Reports whether the execution has left the order for the background. A command with `background` keeps
    /// its turn until it runs.
    fn has_left_order(&self) -> bool {
        match self.backgrounded {
            None => false,
            Some(BackgroundedBy::Request) => {
                matches!(self.state, ExecutionState::Running | ExecutionState::Finished)
            }
            Some(BackgroundedBy::Client | BackgroundedBy::Budget) => true,
        }
    }

    /// Returns the time at which the execution moves to the background. `None` unless it runs in the
    /// foreground and has a `yield_after`.
    #[must_use]
    pub fn yields_at(&self) -> Option<Micros> {
        let in_foreground = self.state == ExecutionState::Running && self.backgrounded.is_none();
        let (started, budget) = self.started.zip(self.spec.yield_after).filter(|_| in_foreground)?;
        Some(started.after(budget))
    }
}
