//! Hooks: the execution that a hook is asked about, and its answers. Plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{EncodingError, ExecutionId, Mode, SessionId, Shell};

/// The outcome of a question to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HookOutcome {
    /// The hook has no opinion.
    None,
    /// The hook allows the execution.
    Allow,
    /// The hook wants an approver to answer.
    Ask,
    /// The hook denies the execution.
    Deny,
    /// There was no answer before the deadline.
    Timeout,
    /// The hook could not be reached, returned an error, or was not called because it failed repeatedly.
    Unavailable,
    /// The answer was malformed, or was for another question.
    Invalid,
    /// The hook was not called, because the server already makes as many calls to it as its configuration permits.
    Busy,
}

impl HookOutcome {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Allow,
        Self::Ask,
        Self::Deny,
        Self::Timeout,
        Self::Unavailable,
        Self::Invalid,
        Self::Busy,
    ];

    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Allow => "ALLOW",
            Self::Ask => "ASK",
            Self::Deny => "DENY",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Invalid => "INVALID",
            Self::Busy => "BUSY",
        }
    }

    /// Reports whether the question has no valid answer.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Timeout | Self::Unavailable | Self::Invalid | Self::Busy)
    }
}

/// The answer of a hook about an execution, or the reason why it gave none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookAnswer {
    /// The name of the hook in the server's configuration.
    pub hook: String,
    /// The hash of the grant that the hook was asked about.
    pub binding: HookBinding,
    /// The outcome.
    pub outcome: HookOutcome,
    /// One line: the hook's reason, or a description of the failure. At most
    /// [`HOOK_REASON_BYTES`](crate::limits::HOOK_REASON_BYTES).
    pub reason: String,
    /// The profile requires the hook: a failure denies the execution.
    pub required: bool,
    /// The answer changed the verdict, or keeps a later hook from changing it.
    pub in_effect: bool,
}

/// The hash that a hook's answer is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HookBinding(pub [u8; 32]);

impl fmt::Debug for HookBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl From<HookBinding> for String {
    fn from(binding: HookBinding) -> Self {
        hex::encode(binding.0)
    }
}

impl TryFrom<String> for HookBinding {
    type Error = EncodingError;

    fn try_from(text: String) -> Result<Self, EncodingError> {
        let mut hash = [0; 32];
        hex::decode_to_slice(&text, &mut hash)
            .map_err(|error| EncodingError::new(format!("a binding is malformed: {error}")))?;
        Ok(Self(hash))
    }
}

/// The execution that a call to a hook is about. It contains no values of variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookedExecution {
    /// The execution.
    pub execution_id: ExecutionId,
    /// Its session.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// The profile that decided.
    pub profile: String,
    /// The mode that decided.
    pub mode: Mode,
    /// The command.
    pub command: Vec<u8>,
    /// The shell that reads it.
    pub shell: Shell,
    /// The working directory inside the sandbox.
    pub directory: Vec<u8>,
    /// The agent's description. It is not verified.
    pub description: String,
    /// The command runs in the background.
    pub background: bool,
    /// The command runs outside the sandbox.
    pub unsandboxed: bool,
    /// The names of the variables of request and session.
    pub env_names: Vec<String>,
}
