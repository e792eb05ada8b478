//! Running outside the sandbox takes three keys: the request asks, the profile permits, the runner's floor
//! permits. What a profile excludes stands for the request's key, and for no other.

use airlock_policy::{Decision, FoundCommand, Profile, Reason, Unsandboxed, Verdict as Says};
use airlock_proto::domain::Mode;

use crate::model::ExecutionSpec;

/// The code of every use that nothing else was said of.
const UNSANDBOXED: &str = "unsandboxed";

/// The decision, and whether it is about a run outside. `ask` asks the policy, with or without a wish to run
/// outside.
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
    // In the mode plan only what is read-only runs, and outside nothing is.
    if keys && mode != Mode::Plan && is_excluded(profile, &inside) {
        said(ask(wish))
    } else {
        (inside, false)
    }
}

/// Makes sure that approvers and the audit see what was asked for, whatever the verdict rests on.
fn said(mut decision: Decision) -> (Decision, bool) {
    if decision.verdict == Says::Deny {
        return (decision, false);
    }
    let is_said = decision.reasons.first().is_some_and(|reason| reason.code.starts_with(UNSANDBOXED));
    if !is_said {
        let message = "it asks to run outside the sandbox".to_owned();
        let reason = Reason { code: UNSANDBOXED, message, span: None, rule: None, command_index: None };
        decision.reasons.insert(0, reason);
    }
    (decision, true)
}

/// Whether the profile excludes every command of the text. A convenience, and no border: what it names by its
/// first words can be anything.
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
