//! What the journal knows of an offer, and the rejection of one.

use std::sync::Arc;

use airlock_domain::{ExecutionId, StartJob};

use crate::{
    floor::Refusal,
    journal::{JobRecord, Journal, Phase},
    session::OpenSession,
};

/// The key of an offer: the execution and the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct OfferKey {
    pub(super) id: ExecutionId,
    pub(super) attempt: u32,
}

impl OfferKey {
    pub(super) fn of(offer: &StartJob) -> Self {
        Self { id: offer.execution_id, attempt: offer.attempt }
    }
}

/// The state of an offer in the journal.
pub(super) enum Known {
    /// The offer is new.
    New,
    /// The offer was answered before. Repeat the answer.
    Answered,
    /// Another attempt of the execution was answered.
    Conflict(Refusal),
}

/// A refusal, and the session if its directory or snapshot was found missing. Servers are told about the session first,
/// so that the next decision uses the current state.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) refusal: Refusal,
    pub(super) changed_session: Option<Arc<OpenSession>>,
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, changed_session: None }
    }
}

/// Returns the state of an offer.
pub(super) fn known(journal: &Journal, OfferKey { id, attempt }: OfferKey) -> Known {
    let conflict = |reason, message: &str| Known::Conflict(Refusal::new(reason, message));
    if journal.was_forgotten(&id) {
        return conflict("already_accepted", "this runner has already run the execution");
    }
    match journal.job(&id) {
        None => Known::New,
        Some(job) if job.attempt == attempt => Known::Answered,
        Some(job) if matches!(job.phase, Phase::Refused(_)) && job.attempt < attempt => Known::New,
        Some(JobRecord { phase: Phase::Refused(_), .. }) => {
            conflict("stale_attempt", "a later attempt was already answered")
        }
        Some(_) => conflict("already_accepted", "this runner accepted another attempt of the execution"),
    }
}

/// Frees a journal slot by forgetting the oldest refusal. Its offer is past its `not_after`, or of an older epoch.
pub(super) fn forget_oldest_refusal(journal: &mut Journal) -> bool {
    let refused = |job: &JobRecord| matches!(job.phase, Phase::Refused(_));
    let oldest: Option<ExecutionId> = journal.jobs().find(|(_, job)| refused(job)).map(|(id, _)| *id);
    oldest.is_some_and(|id| journal.forget(id).is_ok())
}
