//! The files that an answer is bound to: files that the command would run and that commands of its session
//! can write.

use airlock_domain::{BoundFile, FileState, Grant, limits::BOUND_FILES};
use airlock_policy::{Decision, Reason, Verdict};

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
    if decision.verdict != Verdict::Ask || decision.runs.len() <= BOUND_FILES {
        return;
    }
    decision.verdict = Verdict::Deny;
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
