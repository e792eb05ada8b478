//! Runs outside the sandbox. They require three permissions: by the request, by the profile and by the
//! runner's floor. A command that the profile excludes from the sandbox replaces only the request's
//! permission.

use airlock_domain::Mode;
use airlock_policy::{Decision, FoundCommand, Profile, Reason, Unsandboxed, Verdict};
use airlock_store::record::ExecutionSpec;

/// The reason code of a run outside the sandbox that has no other reason.
const UNSANDBOXED: &str = "unsandboxed";

/// Returns the decision, and whether it is for a run outside the sandbox. `ask` asks the policy with or without a
/// request to run outside the sandbox.
pub(super) fn decide(
    profile: &Profile,
    spec: &ExecutionSpec,
    (mode, floor_permits): (Mode, bool),
    ask: impl Fn(Option<Unsandboxed>) -> Decision,
) -> (Decision, bool) {
    let wish = Some(Unsandboxed { floor_permits });
    if spec.dangerously_disable_sandbox {
        return said(ask(wish));
    }
    let inside = ask(None);
    let keys = profile.allow_unsandboxed() && floor_permits;
    // In the mode `plan`, only read-only commands run, and none is read-only outside the sandbox.
    if keys && mode != Mode::Plan && is_excluded(profile, &inside) {
        said(ask(wish))
    } else {
        (inside, false)
    }
}

/// Adds a reason to the decision, so that approvers and the audit see the request to run outside the sandbox.
fn said(mut decision: Decision) -> (Decision, bool) {
    if decision.verdict == Verdict::Deny {
        return (decision, false);
    }
    let is_said = decision.reasons.first().is_some_and(|reason| reason.code.starts_with(UNSANDBOXED));
    if !is_said {
        let message = "the request asks to run outside the sandbox".to_owned();
        let reason = Reason { code: UNSANDBOXED, message, span: None, rule: None, command_index: None };
        decision.reasons.insert(0, reason);
    }
    (decision, true)
}

/// Reports whether the profile excludes every command of the text from the sandbox. This is a convenience and
/// not a security boundary: the first words of a command do not determine what it does.
fn is_excluded(profile: &Profile, decision: &Decision) -> bool {
    let excluded = profile.excluded_commands();
    let is_one = |command: &FoundCommand| excluded.iter().any(|words| begins_with(command, words));
    !excluded.is_empty()
        && decision.parse_complete
        && !decision.commands.is_empty()
        && decision.commands.iter().all(is_one)
}

fn begins_with(command: &FoundCommand, words: &str) -> bool {
    let mut argv = command.argv.iter();
    words
        .split_whitespace()
        .all(|word| argv.next().is_some_and(|found| found.text.as_deref() == Some(word.as_bytes())))
}

#[cfg(test)]
mod tests;
