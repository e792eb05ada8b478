//! An offer of a job, the facts that its answer depends on, and the reasons for which the state alone refuses it.

use airlock_domain::{Cause, Epoch, ExecutionId, ExecutionResult, StartJob};

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

/// A reason to refuse an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The execution was run and forgotten.
    AlreadyRan,
    /// Another attempt of the execution was accepted.
    OtherAttempt,
    /// A later attempt was answered.
    StaleAttempt,
    /// The offer names another epoch.
    StaleEpoch,
    /// The offer has expired.
    PastNotAfter,
    /// The runner takes no new work.
    Draining,
    /// Every slot is in use.
    NoSlots,
    /// The journal holds as many jobs as it may.
    JobsKept,
    /// The disk has no room, for this reason.
    Disk(&'static str),
    /// The acceptance could not be written, for this reason.
    Journal(String),
}

impl Reason {
    /// Returns the stable name of the reason.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AlreadyRan | Self::OtherAttempt => "already_accepted",
            Self::StaleAttempt => "stale_attempt",
            Self::StaleEpoch => "stale_epoch",
            Self::PastNotAfter => "past_not_after",
            Self::Draining => "draining",
            Self::NoSlots => "no_slots",
            Self::JobsKept => "jobs_kept",
            Self::Disk(_) => "disk",
            Self::Journal(_) => "journal",
        }
    }

    /// Returns the result of the refused execution.
    #[must_use]
    pub fn result(&self) -> ExecutionResult {
        let message = match self {
            Self::AlreadyRan => "this runner has already run the execution",
            Self::OtherAttempt => "this runner accepted another attempt of the execution",
            Self::StaleAttempt => "a later attempt was already answered",
            Self::StaleEpoch => "the offer names another epoch of this runner",
            Self::PastNotAfter => "the offer has expired",
            Self::Draining => "this runner takes no new work",
            Self::NoSlots => "every slot of this runner is in use",
            Self::JobsKept => "this runner has reached `limits.jobs_kept`",
            Self::Disk(message) => *message,
            Self::Journal(message) => message.as_str(),
        };
        ExecutionResult::not_started(Cause::refused(self.name(), message.to_owned()))
    }
}
