//! A shell on a terminal. The policy never sees the typed commands. This module decides only this case.

use super::match_rules::RuleSet;
use super::outcome::Outcome;
use crate::analysis::Found;
use crate::decision::{Reason, Verdict};
use crate::facts::Facts;
use crate::profile::Profile;
use crate::request::Request;

/// Shells that read commands from a terminal.
const SHELLS: [&[u8]; 4] = [b"bash", b"sh", b"dash", b"zsh"];
/// Words with which a shell still only reads commands from its terminal.
const WORDS: [&[u8]; 6] = [b"-i", b"-l", b"--login", b"--norc", b"--noprofile", b"-f"];

/// Allows a single shell on its own terminal if every typed command would be allowed. This holds if the profile allows
/// sandboxed commands and there are no deny or ask rules.
pub(super) fn shell(
    request: &Request<'_>,
    profile: &Profile,
    rules: &RuleSet<'_>,
    views: &[&Facts<'_>],
) -> Option<Outcome> {
    let sandboxed = request.on_terminal && request.unsandboxed.is_none();
    if !sandboxed || !profile.auto_allow() || rules.any_forbids() {
        return None;
    }
    let [facts] = views else { return None };
    let [found] = facts.analysis.commands.as_slice() else { return None };
    let another = |name| request.snapshot.is_some_and(|snapshot| snapshot.is_unknown(name));
    (is_plain_shell(found) && facts.has_safe_environment() && !found.program().is_some_and(another)).then(
        || {
            let message =
                "the profile allows commands that run in the sandbox, and no rule denies or asks about a command";
            Outcome::new(Verdict::Allow, Reason::new("terminal_shell", message, None))
        },
    )
}

fn is_plain_shell(found: &Found) -> bool {
    let alone = found.redirects.is_empty() && found.assignments.is_empty() && found.nesting.is_empty();
    let is_shell = found.trusted_name().is_some_and(|name| SHELLS.contains(&name));
    let mut words = found.words.iter().skip(1).map(|word| word.text.as_deref());
    alone && is_shell && words.all(|word| word.is_some_and(|word| WORDS.contains(&word)))
}

#[cfg(test)]
mod tests;
