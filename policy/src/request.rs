//! What is asked of the policy. Plain data; nothing here decides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// One command to decide about, with what the server knows of its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The exact bytes given to the shell.
    pub command: &'a [u8],
    /// The shell that will run them.
    pub shell: Shell,
    /// Current directory inside the sandbox; `None` is the workspace root.
    pub cwd: Option<&'a str>,
    /// Workspace root inside the sandbox, absolute.
    pub workspace: &'a str,
    /// HOME inside the sandbox, absolute.
    pub home: &'a str,
    /// Mode of session and request; `None` takes the profile's default.
    pub mode: Option<Mode>,
    /// Whether its input is a terminal of its own, into which somebody types.
    pub on_terminal: bool,
    /// Set when the request asks to run outside the sandbox.
    pub unsandboxed: Option<Unsandboxed>,
    /// Rules of the session or tenant, added to the profile's.
    pub extra_rules: Option<&'a Rules>,
    /// The shell snapshot that commands of the session source.
    pub snapshot: Option<&'a Snapshot>,
    /// The variables of session and request. Each counts as the same assignment in the text: what is not on the list
    /// of safe variables takes away the proof and what modes and rules allow.
    pub env: Option<&'a BTreeMap<String, Vec<u8>>>,
}

impl<'a> Request<'a> {
    /// A bash command in the usual workspace, with nothing else said.
    #[must_use]
    pub fn bash(command: &'a [u8]) -> Self {
        Self {
            command,
            shell: Shell::Bash,
            cwd: None,
            workspace: "/workspace",
            home: "/home/agent",
            mode: None,
            on_terminal: false,
            unsandboxed: None,
            extra_rules: None,
            snapshot: None,
            env: None,
        }
    }
}

/// The shells a request may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// GNU bash, the only one that is parsed so far.
    Bash,
    /// zsh: never proven read-only.
    Zsh,
    /// PowerShell 6 or later.
    Pwsh,
}

/// How much runs without asking. Ordered from loosest to tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All that no deny or ask rule names; sandboxed runs only.
    Bypass,
    /// Edits inside the workspace run without asking.
    AcceptEdits,
    /// What is proven read-only or allowed by a rule runs.
    Default,
    /// Only what is proven read-only runs; all else is denied.
    Plan,
}

impl Mode {
    /// The tighter of two modes: a request may only tighten its session's.
    #[must_use]
    pub fn tightest(a: Self, b: Self) -> Self {
        a.max(b)
    }

    /// The mode of that name, as in profiles and on the command line.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "bypass" => Some(Self::Bypass),
            "accept_edits" => Some(Self::AcceptEdits),
            "default" => Some(Self::Default),
            "plan" => Some(Self::Plan),
            _ => None,
        }
    }
}

/// A wish to run outside the sandbox: the request's key, and the runner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsandboxed {
    /// Whether the runner's own floor permits such runs.
    pub floor_permits: bool,
}
