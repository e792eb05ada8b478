//! The stored form of a decision.

use airlock_policy::Decision;
use airlock_store::record::{DecisionRecord, Verdict};

use super::encoder::DecisionEncoder;

/// Returns the record of a decision by the profile with this name.
pub(super) fn of(decision: &Decision, profile: &str, encode: DecisionEncoder) -> DecisionRecord {
    let reason = decision.reasons.first();
    let (code, message) = reason.map_or(("", ""), |reason| (reason.code, reason.message.as_str()));
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = reason.and_then(|reason| reason.span);
    DecisionRecord {
        verdict: verdict(decision.verdict),
        reason_code: code.to_owned(),
        reason_message: message.to_owned(),
        reason_span: span.map(|span| (offset(span.start), offset(span.end))),
        read_only: decision.read_only,
        concurrency_safe: decision.concurrency_safe,
        policy_version: decision.policy_version.0.to_vec(),
        encoded: encode(decision, profile),
    }
}

fn verdict(verdict: airlock_policy::Verdict) -> Verdict {
    match verdict {
        airlock_policy::Verdict::Allow => Verdict::Allow,
        airlock_policy::Verdict::Ask => Verdict::Ask,
        airlock_policy::Verdict::Deny => Verdict::Deny,
    }
}

pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "ALLOW",
        Verdict::Ask => "ASK",
        Verdict::Deny => "DENY",
    }
}
