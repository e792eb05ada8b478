//! What the policy says of a command under several profiles and modes. It adds
//! nothing to what the policy says.

use airlock_policy::{Decision, FoundCommand, Mode, Profile, Request, Verdict, decide};

use super::claim;
use super::stops::{self, Stop};

/// Rules for some programs, and for writing inside.
const SOME: &str = r#"
name = "fuzz-some"
[policy]
allow = ["Bash(alpha:*)", "Bash(beta:*)", "Bash(gamma one:*)", "Edit(**)"]
"#;

/// Rules for every program, and for every place.
const EVERY: &str = r#"
name = "fuzz-every"
[policy]
allow = ["Bash", "Edit(**)", "Read(**)", "Edit(//**)", "Read(//**)"]
"#;

/// Decides with several sets of options.
pub(super) struct Decider {
    some: Profile,
    every: Profile,
    strict: Profile,
    sandboxed: Profile,
    withhold: bool,
}

/// What was decided of one command.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Whether the parse was complete.
    pub complete: bool,
    /// Whether it may run by a rule, a proof or the mode, under any of the options.
    pub allowed: bool,
    /// Whether it is said which programs it may start.
    pub claimed: bool,
    /// What stops it under the widest rules.
    pub stop: Option<Stop>,
    /// The commands found.
    pub commands: Vec<FoundCommand>,
}

impl Decider {
    /// With `withhold`, the last command found is kept back.
    #[must_use]
    pub(super) fn new(withhold: bool) -> Self {
        let strict = || Profile::builtin("strict").unwrap_or_else(|| unreachable!("it is built in"));
        let profile = |text: &str| {
            Profile::from_toml(text, "fuzz", &|_| None).unwrap_or_else(|error| unreachable!("{error}"))
        };
        Self {
            some: profile(SOME),
            every: profile(EVERY),
            strict: strict(),
            sandboxed: Profile::builtin("sandboxed").unwrap_or_else(strict),
            withhold,
        }
    }

    /// Decides under all of them.
    #[must_use]
    pub(super) fn judge(&self, text: &[u8]) -> Judged {
        let widest = decided(text, &self.every, Mode::AcceptEdits);
        let allowed = widest.verdict == Verdict::Allow
            || [(&self.some, Mode::Default), (&self.every, Mode::Default), (&self.strict, Mode::AcceptEdits)]
                .into_iter()
                .any(|(profile, mode)| decided(text, profile, mode).verdict == Verdict::Allow);
        let stop = (!allowed).then(|| self.stop(text, &widest)).flatten();
        let claimed = allowed || claim::is_claimed(&widest);
        let complete = widest.parse_complete;
        let mut commands = widest.commands;
        if self.withhold {
            commands.pop();
        }
        Judged { complete, allowed, claimed, stop, commands }
    }

    fn stop(&self, text: &[u8], widest: &Decision) -> Option<Stop> {
        let code = widest.reasons.first()?.code;
        let bypassed = decided(text, &self.sandboxed, Mode::Bypass).verdict == Verdict::Allow;
        let sandboxed = decided(text, &self.sandboxed, Mode::Default).verdict == Verdict::Allow;
        Some(stops::stop(code, bypassed, sandboxed))
    }
}

fn decided(text: &[u8], profile: &Profile, mode: Mode) -> Decision {
    decide(&Request { mode: Some(mode), ..Request::bash(text) }, profile)
}
