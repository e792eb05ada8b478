//! The messages of the calls: requests from domain types, and the checks of a response.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use airlock_control::hooks::{HookQuestion, HookReply, HookReport};
use airlock_domain::{HookOutcome, limits::HOOK_REASON_BYTES};
use airlock_proto::{hooks_v1 as wire, v1};
use bytes::Bytes;
use prost::Message as _;

use crate::options::Explain;

/// Returns the request of a question. `remaining` is the time until its deadline.
pub(crate) fn question(hook: &str, asked: &HookQuestion, remaining: Duration) -> wire::PreExecuteRequest {
    wire::PreExecuteRequest {
        hook: hook.to_owned(),
        execution: Some(asked.execution.clone().into()),
        decision: decision(&asked.decision),
        binding: Bytes::copy_from_slice(&asked.binding.0),
        allow_has_effect: asked.allow_has_effect,
        deadline: Some((SystemTime::now() + remaining).into()),
    }
}

/// Returns the request of a delivery.
pub(crate) fn report(hook: &str, report: &HookReport, explain: Explain) -> wire::PostExecuteRequest {
    let decision = decision(&report.decision);
    let mut result = v1::Result::from(report.result.clone());
    explain(&mut result, decision.as_ref());
    wire::PostExecuteRequest {
        hook: hook.to_owned(),
        execution: Some(report.execution.clone().into()),
        decision,
        state: v1::ExecutionState::from(report.state).into(),
        result: Some(result),
        attempt: report.attempt,
        finished: Some((UNIX_EPOCH + Duration::from_micros(report.finished.0.unsigned_abs())).into()),
    }
}

/// The store holds decisions in the format of the contract.
fn decision(encoded: &[u8]) -> Option<v1::Decision> {
    v1::Decision::decode(encoded).ok()
}

/// Checks a response to this question.
pub(crate) fn checked(asked: &HookQuestion, response: &[u8]) -> HookReply {
    let invalid = |what: &str| HookReply { outcome: HookOutcome::Invalid, reason: what.to_owned() };
    let Ok(response) = wire::PreExecuteResponse::decode(response) else {
        return invalid("the answer is malformed");
    };
    if response.binding != asked.binding.0[..] {
        return invalid("the answer is for another question");
    }
    if response.reason.len() > HOOK_REASON_BYTES {
        return invalid("the reason of the answer is too long");
    }
    if response.reason.chars().any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}'))
    {
        return invalid("the reason of the answer is not one line of text");
    }
    let outcome = match wire::HookOpinion::try_from(response.opinion) {
        Ok(wire::HookOpinion::None) => HookOutcome::None,
        Ok(wire::HookOpinion::Allow) => HookOutcome::Allow,
        Ok(wire::HookOpinion::Ask) => HookOutcome::Ask,
        Ok(wire::HookOpinion::Deny) => HookOutcome::Deny,
        Ok(wire::HookOpinion::Unspecified) => return invalid("the answer has no opinion"),
        Err(_) => return invalid("the answer has an unknown opinion"),
    };
    HookReply { outcome, reason: response.reason }
}
