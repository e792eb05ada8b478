//! The request to the policy. Plain data without logic.

use std::collections::BTreeMap;

use airlock_network::Layers;
use serde::{Deserialize, Serialize};

use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// A command to decide about, with its context from the server.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The exact bytes for the shell.
    pub command: &'a [u8],
    /// The shell that will run them.
    pub shell: Shell,
    /// The working directory inside the sandbox; `None` is the workspace root.
    pub cwd: Option<&'a str>,
    /// The absolute path of the workspace root inside the sandbox.
    pub workspace: &'a str,
    /// The absolute path of HOME inside the sandbox.
    pub home: &'a str,
    /// The mode of session and request; `None` selects the profile's default.
    pub mode: Option<Mode>,
    /// Whether standard input is the command's own terminal, on which a person types.
    pub on_terminal: bool,
    /// Set if the request asks to run outside the sandbox.
    pub unsandboxed: Option<Unsandboxed>,
    /// Rules of the session or tenant, in addition to the profile's.
    pub extra_rules: Option<&'a Rules>,
    /// The shell snapshot that commands of the session load.
    pub snapshot: Option<&'a Snapshot>,
    /// The variables of session and request. Each is treated like an assignment in the text. A variable that is not in
    /// the list of safe variables prevents the read-only proof and the permission by modes and allow rules.
    pub env: Option<&'a BTreeMap<String, Vec<u8>>>,
    /// The network rules of the profile, the session and the request, for warnings. `None`: not known.
    pub network: Option<&'a Layers>,
}

impl<'a> Request<'a> {
    /// Creates a request for a bash command in the default workspace, without further fields.
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
            network: None,
        }
    }
}

/// The shells that a request may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// GNU bash, the only shell that is parsed.
    Bash,
    /// zsh: never proven read-only.
    Zsh,
    /// PowerShell 6 or later.
    Pwsh,
}

/// The strictness of a session, ordered from loosest to strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Allows everything that no deny or ask rule names; sandboxed runs only.
    Bypass,
    /// Allows edits inside the workspace.
    AcceptEdits,
    /// Allows commands that are proven read-only or that a rule allows.
    Default,
    /// Allows only commands that are proven read-only, and denies all others.
    Plan,
}

impl Mode {
    /// Returns the stricter of two modes. A request may only tighten its session's mode.
    #[must_use]
    pub fn tightest(a: Self, b: Self) -> Self {
        a.max(b)
    }

    /// Returns the mode with this name, as in profiles and on the command line.
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

/// A request to run outside the sandbox, and the runner's permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsandboxed {
    /// Whether the runner's floor permits such runs.
    pub floor_permits: bool,
}
