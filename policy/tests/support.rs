//! Functions that several tests share.

use airlock_policy::{Decision, Mode, Profile, Request, Rules, decide};

pub(crate) fn strict(command: &str) -> Decision {
    decide(&Request::bash(command.as_bytes()), &Profile::builtin("strict").unwrap())
}

pub(crate) fn code(decision: &Decision) -> &'static str {
    decision.reasons[0].code
}

pub(crate) fn codes(decision: &Decision) -> Vec<&'static str> {
    decision.reasons.iter().map(|reason| reason.code).collect()
}

pub(crate) fn with_rules(command: &str, allow: &[&str], ask: &[&str], deny: &[&str]) -> Decision {
    let rules = Rules::parse(allow, ask, deny).unwrap();
    let request = Request { extra_rules: Some(&rules), ..Request::bash(command.as_bytes()) };
    decide(&request, &Profile::builtin("strict").unwrap())
}

pub(crate) fn in_mode(command: &str, mode: Mode) -> Decision {
    let request = Request { mode: Some(mode), ..Request::bash(command.as_bytes()) };
    decide(&request, &Profile::builtin("sandboxed").unwrap())
}
