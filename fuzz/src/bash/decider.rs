//! Decides one command under several profiles and modes, and names the step at which it stops. It does not change the
//! policy's decisions.

use airlock_policy::{Decision, FoundCommand, Mode, Profile, Request, Snapshot, Verdict, decide};

use super::claim;
use super::sandbox::{RunMode, SNAPSHOT};

/// A profile that allows some programs, and edits inside the workspace.
const SOME: &str = r#"
name = "fuzz-some"
[policy]
allow = ["Bash(alpha:*)", "Bash(beta:*)", "Bash(gamma one:*)", "Edit(**)"]
"#;

/// A profile that allows every program and every path.
const EVERY: &str = r#"
name = "fuzz-every"
[policy]
allow = ["Bash", "Edit(**)", "Read(**)", "Edit(//**)", "Read(//**)"]
"#;

/// The reason code for a command name that the snapshot can redefine.
const SNAPSHOT_NAME: &str = "snapshot_name";

/// Decides commands under several sets of options.
pub(super) struct Decider {
    some: Profile,
    every: Profile,
    strict: Profile,
    sandboxed: Profile,
    snapshot: Snapshot,
    drop_last_prediction: bool,
}

/// The result for one command.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Whether the parse was complete.
    pub complete: bool,
    /// Whether a rule, a proof or the mode allows the command, under any of the options.
    pub allowed: bool,
    /// Whether the decision predicts which programs start.
    pub claimed: bool,
    /// The step that stops the command under the widest rules.
    pub stop: Option<Stop>,
    /// The commands found.
    pub commands: Vec<FoundCommand>,
    /// How to run the command.
    pub mode: RunMode,
}

impl Decider {
    /// Creates a decider. With `drop_last_prediction`, it removes the last command found from each result.
    #[must_use]
    pub(super) fn new(drop_last_prediction: bool) -> Self {
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
            drop_last_prediction,
        }
    }

    /// Decides the command under all options, with or without a session snapshot.
    #[must_use]
    pub(super) fn judge(&self, text: &[u8], snapshot: bool) -> Judged {
        let asked = Asked { text, snapshot: snapshot.then_some(&self.snapshot) };
        let widest = asked.decided(&self.every, Mode::AcceptEdits);
        let allowed = widest.verdict == Verdict::Allow
            || [(&self.some, Mode::Default), (&self.every, Mode::Default), (&self.strict, Mode::AcceptEdits)]
                .into_iter()
                .any(|(profile, mode)| asked.decided(profile, mode).verdict == Verdict::Allow);
        let stop = (!allowed).then(|| self.stop(&asked, &widest)).flatten();
        let mode = RunMode { read_only: widest.read_only, snapshot: snapshot && !widest.read_only };
        // The policy predicts neither the programs that a snapshot's function starts nor a text that is parsed after
        // its aliases. It asks about both.
        let asked_about = widest.reasons.iter().any(|reason| reason.code == SNAPSHOT_NAME);
        let claimed = allowed || (claim::is_claimed(&widest) && !asked_about);
        let complete = widest.parse_complete;
        let mut commands = widest.commands;
        if self.drop_last_prediction {
            commands.pop();
        }
        Judged { complete, allowed, claimed, stop, commands, mode }
    }

    fn stop(&self, asked: &Asked<'_>, widest: &Decision) -> Option<Stop> {
        let code = widest.reasons.first()?.code;
        let bypassed = asked.decided(&self.sandboxed, Mode::Bypass).verdict == Verdict::Allow;
        let sandboxed = asked.decided(&self.sandboxed, Mode::Default).verdict == Verdict::Allow;
        Some(stop(code, bypassed, sandboxed))
    }
}

/// A command to decide.
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

/// The step that stops a command, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stop {
    /// The step of the pipeline.
    pub step: u8,
    /// The code of the deciding reason.
    pub code: &'static str,
}

/// Derives the step from the variants that are still allowed. Mode `bypass` skips all steps after
/// 5, and a command that is allowed because it is sandboxed has passed all steps before 12.
#[must_use]
pub(super) fn stop(code: &'static str, bypassed: bool, sandboxed: bool) -> Stop {
    let step = match code {
        _ if !bypassed => 4,
        _ if sandboxed => 13,
        "path_outside" | "protected_path" => 8,
        _ => 7,
    };
    Stop { step, code }
}
