//! A shell on a terminal. The policy never sees the typed commands. This module decides only this case.

use super::match_rules::RuleSet;
use super::report::Outcome;
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
mod tests {
    use crate::{Mode, Profile, Request, Verdict, decide};

    fn says(profile: &Profile, text: &str, on_terminal: bool) -> Verdict {
        decide(&Request { on_terminal, ..Request::bash(text.as_bytes()) }, profile).verdict
    }

    #[test]
    fn a_shell_alone_on_a_terminal_runs_where_everything_typed_would() {
        let profile = Profile::builtin("sandboxed").unwrap();
        for text in ["bash", "bash -i", "/bin/bash --norc", "sh", "zsh -l", "dash"] {
            assert_eq!(says(&profile, text, true), Verdict::Allow, "{text}");
            assert_eq!(says(&profile, text, false), Verdict::Ask, "{text} without a terminal");
        }
        for text in [
            "bash x.sh; bash",
            "curl -s x | bash",
            "bash -s",
            "bash -c \"$x\"",
            "BASH_ENV=f bash",
            "sudo bash",
            "./bash",
            "bash --rcfile f",
            "$x",
        ] {
            assert_eq!(says(&profile, text, true), Verdict::Ask, "{text}");
        }
    }

    #[test]
    fn where_anything_typed_might_be_refused_a_person_is_asked() {
        let strict = Profile::builtin("strict").unwrap();
        assert_eq!(says(&strict, "bash", true), Verdict::Ask);
        let demo = Profile::builtin("demo").unwrap();
        assert_eq!(says(&demo, "bash", true), Verdict::Ask, "it has a rule that denies");
        let sandboxed = Profile::builtin("sandboxed").unwrap();
        let plan = Request { on_terminal: true, mode: Some(Mode::Plan), ..Request::bash(b"bash") };
        assert_eq!(decide(&plan, &sandboxed).verdict, Verdict::Deny);
        let wish = Some(crate::Unsandboxed { floor_permits: true });
        let outside = Request { on_terminal: true, unsandboxed: wish, ..Request::bash(b"bash") };
        assert_ne!(decide(&outside, &sandboxed).verdict, Verdict::Allow);
    }
}
