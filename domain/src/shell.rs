//! The shell of a command, and the mode of a session.

use serde::{Deserialize, Serialize};

/// The shell that reads a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// bash.
    #[default]
    Bash,
    /// zsh.
    Zsh,
    /// PowerShell 6 or later.
    Pwsh,
}

impl Shell {
    /// Returns the stable name of the shell, as in configuration and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Pwsh => "pwsh",
        }
    }
}

/// The strictness of a session: how much policy allows without asking. Ordered from loosest to tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Allows every command that no rule denies or asks about.
    Bypass,
    /// Also allows edits inside the workspace.
    AcceptEdits,
    /// Allows commands that are proven read-only or that a rule allows.
    Default,
    /// Allows only commands that are proven read-only.
    Plan,
}

impl Mode {
    /// Returns the stable name of the mode, as in configuration and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::AcceptEdits => "accept_edits",
            Self::Default => "default",
            Self::Plan => "plan",
        }
    }
}
