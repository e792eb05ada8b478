//! An offer of a job, and the facts that its answer depends on.

use airlock_domain::{Epoch, ExecutionId, StartJob};

use super::refusal::Reason;

/// The key of an offer: the execution and the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OfferKey {
    /// The execution.
    pub id: ExecutionId,
    /// The number of the offer.
    pub attempt: u32,
}

impl OfferKey {
    /// Returns the key of an offer.
    #[must_use]
    pub fn of(offer: &StartJob) -> Self {
        Self { id: offer.execution_id, attempt: offer.attempt }
    }
}

/// The conditions under which an offer is valid, and the runner's situation when it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The epoch that the offer names.
    pub epoch: Epoch,
    /// The deadline of the offer on the runner's clock, in milliseconds.
    pub not_after_ms: u64,
    /// The current time on the runner's clock, in milliseconds.
    pub now_ms: u64,
    /// Whether the runner takes no new work.
    pub draining: bool,
}

impl Terms {
    /// Returns the reason why no offer for `epoch` can be accepted at present, regardless of its contents.
    pub(super) fn refusal(&self, epoch: Epoch) -> Option<Reason> {
        if self.epoch != epoch {
            Some(Reason::StaleEpoch)
        } else if self.now_ms > self.not_after_ms {
            Some(Reason::PastNotAfter)
        } else if self.draining {
            Some(Reason::Draining)
        } else {
            None
        }
    }
}

/// The capacity of the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The number of jobs that can run at the same time.
    pub slots: usize,
    /// The number of jobs that the journal can hold.
    pub jobs_kept: usize,
    /// The reason why the disk has too little space, if so.
    pub disk_short: Option<&'static str>,
}

/// The state of an offer in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// The offer is new.
    New,
    /// The offer was answered before. The answer is repeated.
    Answered,
    /// Another attempt of the execution was answered. The journal's entry stays unchanged.
    Conflict(Reason),
}
