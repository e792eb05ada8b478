//! A profile's own test cases: commands it must allow, ask about or deny.

use serde::Deserialize;

use super::Profile;
use crate::decision::Verdict;
use crate::request::{Mode, Request};

/// One case, as written in `[[policy.test]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    command: String,
    expect: Expect,
    mode: Option<Mode>,
    cwd: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Expect {
    Allow,
    Ask,
    Deny,
}

impl Expect {
    fn verdict(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask => Verdict::Ask,
            Self::Deny => Verdict::Deny,
        }
    }
}

/// What is wrong, where the profile decides otherwise than the case says.
pub(super) fn fails(profile: &Profile, case: &Case) -> Option<String> {
    let decision = crate::decide(
        &Request { mode: case.mode, cwd: case.cwd.as_deref(), ..Request::bash(case.command.as_bytes()) },
        profile,
    );
    let wanted = case.expect.verdict();
    if decision.verdict == wanted {
        return None;
    }
    let code = decision.reasons.first().map_or("none", |reason| reason.code);
    Some(format!(
        "the profile's own test fails: `{}` is {} (`{code}`), not {}",
        case.command.replace('\n', "\\n"),
        name(decision.verdict),
        name(wanted),
    ))
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asked about",
        Verdict::Deny => "denied",
    }
}
