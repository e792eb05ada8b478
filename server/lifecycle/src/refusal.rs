//! Refusals of runners: which of them concern the command, and which only the offer.

use airlock_domain::{Cause, ExecutionResult, ExecutionState, JobReport, Started};

use crate::{effect::JobEffect, record::ExecutionRecord};

/// Refusals that do not concern the command. Another offer is made at once, with the current directory, epoch and
/// snapshot.
const PASSING: [&str; 4] = ["past_not_after", "stale_epoch", NO_DIRECTORY, "no_snapshot"];
/// The session's directory does not exist. The runner reported the new directory just before.
const NO_DIRECTORY: &str = "no_such_directory";
/// Further refusals that do not concern the command. The runner needs time before the next offer. The reconcile loop
/// makes the next offer. A runner counts its own slots; the limit of the queue bounds how often this repeats.
const FULL: [&str; 2] = ["no_slots", "jobs_kept"];
/// The runner no longer has the session.
const NO_SESSION: &str = "no_such_session";
/// The job was accepted under another attempt and may have run.
const ALREADY_ACCEPTED: &str = "already_accepted";

/// A refused offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The result that the runner reported.
    pub result: ExecutionResult,
    reason: String,
}

impl Refusal {
    /// Returns the refusal of a report.
    #[must_use]
    pub fn of(report: &JobReport) -> Self {
        let result = report.result.clone().unwrap_or_else(|| {
            let message = "the runner gave no reason".to_owned();
            ExecutionResult::not_started(Cause::refused("unknown", message))
        });
        let reason = match &result.cause {
            Cause::Refused { reason, .. } => reason.clone(),
            _ => String::new(),
        };
        Self { result, reason }
    }

    pub(crate) fn is_full(&self) -> bool {
        FULL.contains(&self.reason.as_str())
    }

    pub(crate) fn passes(&self) -> bool {
        PASSING.contains(&self.reason.as_str())
    }

    pub(crate) fn started(&self) -> Started {
        if self.reason == ALREADY_ACCEPTED { Started::Unknown } else { Started::No }
    }
}

/// Returns the effects of a refusal that are due before its transition.
#[must_use]
pub fn before_refusal(record: &ExecutionRecord, report: &JobReport) -> Vec<JobEffect> {
    let refusal = Refusal::of(report);
    let is_news = record.state == ExecutionState::Starting && record.attempt == report.attempt;
    let mut effects = Vec::new();
    effects.extend((is_news && refusal.is_full()).then_some(JobEffect::SetFull));
    effects.extend((is_news && refusal.reason == NO_DIRECTORY).then_some(JobEffect::SetBackDirectory));
    effects
}

/// Returns the effects of a refusal on the job, after its transition.
pub(crate) fn after(record: &ExecutionRecord, refusal: &Refusal) -> Vec<JobEffect> {
    let mut effects = Vec::new();
    effects.extend((refusal.reason == NO_SESSION).then_some(JobEffect::LoseSession));
    effects.extend(refusal.passes().then_some(JobEffect::LookAtSession));
    effects.extend((record.state == ExecutionState::Finished).then_some(JobEffect::ForgetJob));
    effects
}
