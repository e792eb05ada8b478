//! The reasons for which the state alone refuses an offer.

use airlock_domain::{Cause, ExecutionResult};

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
