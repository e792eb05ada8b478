//! The stored form of a decision with the interface to its encoding, which the gRPC edge supplies, and the files that an
//! answer is bound to.

use airlock_domain::{BoundFile, FileState, Grant, HookAnswer, limits::BOUND_FILES};
use airlock_policy::{Decision, Reason};
use airlock_store::record::{DecisionRecord, Verdict};

/// Returns the record of a decision by the profile with this name, with the answers of hooks.
pub(super) fn of(
    decision: &Decision,
    profile: &str,
    hooks: &[HookAnswer],
    encode: DecisionEncoder,
) -> DecisionRecord {
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
        encoded: encode(decision, profile, hooks),
        hooks: hooks.to_vec(),
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

/// Encodes a decision by the profile with this name, and the answers of hooks, as `airlock.v1.Decision`.
pub type DecisionEncoder = fn(&Decision, &str, &[HookAnswer]) -> Vec<u8>;

/// The reason code of a command that runs more files than an answer can be bound to.
const UNBOUND: &str = "too_many_files";

/// Returns the files that a decision names, ordered by path, without a required state.
pub(super) fn named(decision: &Decision) -> Vec<BoundFile> {
    let mut paths: Vec<&String> = decision.runs.iter().collect();
    paths.sort();
    paths.dedup();
    let file = |path: &String| BoundFile { path: path.clone().into_bytes(), state: FileState::Any };
    paths.into_iter().take(BOUND_FILES).map(file).collect()
}

/// Changes an ASK to a DENY if it concerns more files than an answer can be bound to. An answer would cover
/// only some of them.
pub(super) fn deny_unbound(decision: &mut Decision) {
    if decision.verdict != airlock_policy::Verdict::Ask || decision.runs.len() <= BOUND_FILES {
        return;
    }
    decision.verdict = airlock_policy::Verdict::Deny;
    let message =
        format!("it runs more than {BOUND_FILES} files of its own session; run them in separate commands");
    let reason = Reason { code: UNBOUND, message, span: None, rule: None, command_index: None };
    decision.reasons.insert(0, reason);
}

/// Returns the grant with the given states of its files. Returns it unchanged if the paths differ.
pub(super) fn to_files(grant: &Grant, files: &[BoundFile]) -> Grant {
    let mut grant = grant.clone();
    let own = &mut grant.decided.files;
    if own.iter().map(|file| &file.path).eq(files.iter().map(|file| &file.path)) {
        *own = files.to_vec();
    }
    grant
}
