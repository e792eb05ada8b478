//! The files that an answer is bound to: what the command would run of what commands of its session can write.

use airlock_policy::{Decision, Reason, Verdict as Says};
use airlock_proto::{
    domain::{BoundFile, FileState, Grant},
    limits::BOUND_FILES,
};

/// It runs more files than an answer can be bound to.
const UNBOUND: &str = "too_many_files";

/// What a decision names, by path, as files that may be as they like.
pub(super) fn named(decision: &Decision) -> Vec<BoundFile> {
    let mut paths: Vec<&String> = decision.runs.iter().collect();
    paths.sort();
    paths.dedup();
    let file = |path: &String| BoundFile { path: path.clone().into_bytes(), state: FileState::Any };
    paths.into_iter().take(BOUND_FILES).map(file).collect()
}

/// Of an ASK about more files than an answer can be bound to, makes a DENY: an answer would be to a part of it.
pub(super) fn deny_unbound(decision: &mut Decision) {
    if decision.verdict != Says::Ask || decision.runs.len() <= BOUND_FILES {
        return;
    }
    decision.verdict = Says::Deny;
    let message =
        format!("it runs more than {BOUND_FILES} files of its own session; run them one after another");
    let reason = Reason { code: UNBOUND, message, span: None, rule: None, command_index: None };
    decision.reasons.insert(0, reason);
}

/// The grant with the files as they were looked at; as it is, if they are others.
pub(super) fn to_files(grant: &Grant, files: &[BoundFile]) -> Grant {
    let mut grant = grant.clone();
    let own = &mut grant.decided.files;
    if own.iter().map(|file| &file.path).eq(files.iter().map(|file| &file.path)) {
        *own = files.to_vec();
    }
    grant
}
