//! The outcome of a request to start a command.

use airlock_domain::{Cause, DeniedBy, ExecutionResult};
use airlock_policy::Verdict;
use airlock_store::record::ExecutionRecord;

use crate::{api::ApiError, decision::Decided};

/// The outcome of a request, from the verdict and the request's `on_ask`.
pub(super) enum Fate {
    Queue,
    AskPerson,
    Denied(DeniedBy),
}

pub(super) fn fate(decided: &Decided, wait_for_approval: bool) -> Fate {
    match decided.decision.verdict {
        Verdict::Allow => Fate::Queue,
        Verdict::Ask if wait_for_approval => Fate::AskPerson,
        Verdict::Ask => Fate::Denied(DeniedBy::NobodyToAsk),
        Verdict::Deny => Fate::Denied(DeniedBy::Policy),
    }
}

/// Returns the existing execution for a repeated key, with the original response.
pub(super) fn repeated(
    existing: ExecutionRecord,
    hash: [u8; 32],
    key: &str,
) -> Result<ExecutionRecord, ApiError> {
    if existing.request_hash != hash {
        return Err(ApiError::AlreadyExists { request_id: key.to_owned() });
    }
    let refused_at_once = matches!(
        existing.result.as_ref().map(|result| &result.cause),
        Some(Cause::Denied { by: DeniedBy::Policy | DeniedBy::NobodyToAsk, .. })
    );
    if refused_at_once { Err(refusal(existing)) } else { Ok(existing) }
}

pub(super) fn refusal(execution: ExecutionRecord) -> ApiError {
    let cause = execution.result.as_ref().map(|result| &result.cause);
    let approval_required = matches!(cause, Some(Cause::Denied { by: DeniedBy::NobodyToAsk, .. }));
    ApiError::Denied { execution: Box::new(execution), approval_required }
}

pub(super) fn denied(by: DeniedBy, reason: &str) -> ExecutionResult {
    ExecutionResult::not_started(Cause::Denied { by, reason: reason.to_owned() })
}
