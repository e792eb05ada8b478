//! What the policy says of a command under several profiles and modes. It adds
//! nothing to what the policy says.

use airlock_policy::{Decision, FoundCommand, Mode, Profile, Request, Snapshot, Verdict, decide};

use super::claim;
use super::sandbox::{SNAPSHOT, Way};
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

/// Why a command is asked about whose name the snapshot may make anything.
const SNAPSHOT_NAME: &str = "snapshot_name";

/// Decides with several sets of options.
pub(super) struct Decider {
    some: Profile,
    every: Profile,
    strict: Profile,
    sandboxed: Profile,
    snapshot: Snapshot,
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
    /// How it would be run.
    pub way: Way,
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
            snapshot: Snapshot::parse(SNAPSHOT.as_bytes()),
            withhold,
        }
    }

    /// Decides under all of them, of a session that has a snapshot or none.
    #[must_use]
    pub(super) fn judge(&self, text: &[u8], snapshot: bool) -> Judged {
        let asked = Asked { text, snapshot: snapshot.then_some(&self.snapshot) };
        let widest = asked.decided(&self.every, Mode::AcceptEdits);
        let allowed = widest.verdict == Verdict::Allow
            || [(&self.some, Mode::Default), (&self.every, Mode::Default), (&self.strict, Mode::AcceptEdits)]
                .into_iter()
                .any(|(profile, mode)| asked.decided(profile, mode).verdict == Verdict::Allow);
        let stop = (!allowed).then(|| self.stop(&asked, &widest)).flatten();
        let way = Way { read_only: widest.read_only, snapshot: snapshot && !widest.read_only };
        // What a function of the snapshot starts, and a text that is read behind its aliases, nobody says: it is asked.
        let asked_about = widest.reasons.iter().any(|reason| reason.code == SNAPSHOT_NAME);
        let claimed = allowed || (claim::is_claimed(&widest) && !asked_about);
        let complete = widest.parse_complete;
        let mut commands = widest.commands;
        if self.withhold {
            commands.pop();
        }
        Judged { complete, allowed, claimed, stop, commands, way }
    }

    fn stop(&self, asked: &Asked<'_>, widest: &Decision) -> Option<Stop> {
        let code = widest.reasons.first()?.code;
        let bypassed = asked.decided(&self.sandboxed, Mode::Bypass).verdict == Verdict::Allow;
        let sandboxed = asked.decided(&self.sandboxed, Mode::Default).verdict == Verdict::Allow;
        Some(stops::stop(code, bypassed, sandboxed))
    }
}

/// What is asked about one command.
struct Asked<'a> {
    text: &'a [u8],
    snapshot: Option<&'a Snapshot>,
}

impl Asked<'_> {
    fn decided(&self, profile: &Profile, mode: Mode) -> Decision {
        let Self { text, snapshot } = *self;
        decide(&Request { mode: Some(mode), snapshot, ..Request::bash(text) }, profile)
    }
}
