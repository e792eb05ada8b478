//! A command that was denied. This module makes no calls.

use super::{
    text,
    v1::{CauseCode, DeniedBy, Execution, Span, cause::Detail},
};

/// A command that did not run because policy or a person denied it.
#[derive(Debug, Clone)]
pub struct Denial {
    /// The finished execution, with its decision.
    pub execution: Execution,
}

impl Denial {
    /// Returns the part of the command that decided, if there is one.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        let decision = self.execution.decision.as_ref()?;
        decision.reasons.iter().find_map(|reason| reason.span)
    }

    /// Returns the text for a model: the refusal and its reason.
    #[must_use]
    pub fn text(&self) -> String {
        text::for_model(&self.execution)
    }

    /// Reports whether policy asked for a person, and the request did not wait for one.
    #[must_use]
    pub fn needs_approval(&self) -> bool {
        let cause = self.execution.result.as_ref().and_then(|result| result.cause.as_ref());
        matches!(cause.and_then(|cause| cause.detail.as_ref()),
            Some(Detail::Denied(denied)) if denied.by() == DeniedBy::NobodyToAsk)
    }

    /// Returns the reason that the approver or policy gave.
    #[must_use]
    pub(super) fn message(&self) -> &str {
        let cause = self.execution.result.as_ref().and_then(|result| result.cause.as_ref());
        match cause.and_then(|cause| cause.detail.as_ref()) {
            Some(Detail::Denied(denied)) if !denied.reason.is_empty() => &denied.reason,
            _ => cause.map_or("", |cause| &cause.message),
        }
    }
}

/// Reports whether an execution has finished because it was denied.
pub(super) fn is_denied(execution: &Execution) -> bool {
    let cause = execution.result.as_ref().and_then(|result| result.cause.as_ref());
    cause.is_some_and(|cause| cause.code() == CauseCode::Denied)
}
