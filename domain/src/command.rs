//! The specification of a command: its text, its shell, its mode and the conditions of its run. The requests to create
//! a session and to run a command, the stored execution and the grant contain it whole. The launch is built from it.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    NetworkRules, Pty, SessionId,
    encoding::{self, is_false},
};

/// The specification of a command.
///
/// A request contains the values that the client set ([`Given`]). [`CommandSpec::completed`] adds the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// The text for the shell. At most [`COMMAND_BYTES`](crate::limits::COMMAND_BYTES), without NUL bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "encoding::bytes")]
    pub text: Vec<u8>,
    /// The shell that reads the text.
    pub shell: Shell,
    /// The working directory inside the sandbox. Empty in a request: the session's.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "encoding::bytes")]
    pub directory: Vec<u8>,
    /// The variables of the request. After the request, also those of the session.
    #[serde(with = "encoding::env")]
    pub env: BTreeMap<String, Vec<u8>>,
    /// Keeps the input open for later data.
    pub stdin: bool,
    /// A terminal for the command.
    pub pty: Option<Pty>,
    /// Keeps stderr as a separate stream.
    pub separate_stderr: bool,
    /// The limit of the run time, counted from the start of the command.
    pub timeout: Duration,
    /// The timeout for a command that writes nothing. `None`: no limit.
    pub idle_timeout: Option<Duration>,
    /// The length in bytes up to which the result contains a stream in full as text.
    pub inline_limit: u32,
    /// The umask of the command: the permission bits that new files do not get.
    #[serde(default, skip_serializing_if = "Umask::is_default")]
    pub umask: Umask,
    /// Rules that narrow the network of the profile and the session. `None`: they are not narrowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRules>,
}

/// A mask of file modes: the bits that a new file does not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Umask(u16);

impl Umask {
    /// Returns the bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0.into()
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Umask {
    fn default() -> Self {
        Self(0o022)
    }
}

impl fmt::Display for Umask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03o}", self.0)
    }
}

/// An error for a text that is not a [`Umask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one to four octal digits, at most 777, such as \"027\"")]
pub struct UmaskError;

impl FromStr for Umask {
    type Err = UmaskError;

    fn from_str(text: &str) -> Result<Self, UmaskError> {
        let is_octal =
            (1..=4).contains(&text.len()) && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
        let bits = u16::from_str_radix(text, 8).ok().filter(|bits| is_octal && *bits <= 0o777);
        bits.map(Self).ok_or(UmaskError)
    }
}

impl Serialize for Umask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        encoding::text::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Umask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        encoding::text::deserialize(deserializer)
    }
}

/// The fields of a request's command that have a default elsewhere and that the client set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// If not set, the session's shell applies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shell: bool,
    /// If not set, the profile's default applies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timeout: bool,
    /// If not set, the profile's value applies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub inline_limit: bool,
    /// If not set, the profile's mask applies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub umask: bool,
}

impl CommandSpec {
    /// Returns the specification with the fields that are not `given` taken from `defaults`.
    #[must_use]
    pub fn completed(self, given: Given, defaults: &Self) -> Self {
        let Given { shell, timeout, inline_limit, umask } = given;
        Self {
            shell: if shell { self.shell } else { defaults.shell },
            timeout: if timeout { self.timeout } else { defaults.timeout },
            inline_limit: if inline_limit { self.inline_limit } else { defaults.inline_limit },
            umask: if umask { self.umask } else { defaults.umask },
            ..self
        }
    }
}

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

/// A request to create a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// The client's key.
    pub request_id: Option<String>,
    /// `None`: the principal's default profile.
    pub profile: Option<String>,
    /// `None`: the profile's default mode.
    pub mode: Option<Mode>,
    /// `None`: the profile's shell.
    pub shell: Option<Shell>,
    /// A base of the runner. `None`: an empty workspace.
    pub base: Option<String>,
    /// Environment variables of every command.
    #[serde(with = "encoding::env")]
    pub env: BTreeMap<String, Vec<u8>>,
    /// Labels from the client.
    pub labels: BTreeMap<String, String>,
    /// Labels that the runner must have.
    pub runner_labels: BTreeMap<String, String>,
    /// `None`: the default.
    pub idle_timeout: Option<Duration>,
    /// Rules that narrow the profile's network for every command. `None`: it is not narrowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRules>,
}

/// A request to run a command. The edge has checked sizes and formats and reported all violations. The services check
/// the conditions that depend on the session or the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartExecution {
    /// The command to run.
    pub command: CommandSpec,
    /// The fields of `command` that the client set.
    pub given: Given,
    /// `None`: a temporary session.
    pub session_id: Option<SessionId>,
    /// The client's key.
    pub request_id: Option<String>,
    /// Runs in the background from the start.
    pub background: bool,
    /// The maximum time in the foreground. `None`: until the end.
    pub yield_after: Option<Duration>,
    /// The agent's description of the command.
    pub description: String,
    /// Waits for an approver if policy asks.
    pub wait_for_approval: bool,
    /// `None`: the session's mode.
    pub mode: Option<Mode>,
    /// The profile of a temporary session.
    pub profile: Option<String>,
    /// The base of a temporary session.
    pub base: Option<String>,
    /// Labels that the runner of a temporary session must have.
    pub runner_labels: BTreeMap<String, String>,
    /// The command does not wait for other commands of its session.
    pub allow_concurrent: bool,
    /// Runs outside the sandbox.
    pub dangerously_disable_sandbox: bool,
    /// Labels from the client.
    pub labels: BTreeMap<String, String>,
    /// The W3C trace context to pass on. Can be empty.
    pub traceparent: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_octal_and_at_most_777() {
        for (text, bits) in [("0", 0), ("7", 7), ("22", 0o22), ("022", 0o22), ("0777", 0o777), ("777", 0o777)]
        {
            assert_eq!(text.parse().map(Umask::bits), Ok(bits), "{text}");
        }
        for text in ["", "8", "0o22", "+22", "-1", "1000", "00022", "2 2", "0x1f"] {
            assert_eq!(text.parse::<Umask>(), Err(UmaskError), "{text}");
        }
        assert_eq!(Umask::default().to_string(), "022");
        assert_eq!("7".parse::<Umask>().unwrap().to_string(), "007");
    }

    #[test]
    fn a_default_mask_is_absent_from_the_encoding() {
        let encoded = |umask: &str| {
            let command = CommandSpec { umask: umask.parse().unwrap(), ..CommandSpec::default() };
            String::from_utf8(encoding::encode(&command)).unwrap()
        };
        assert!(!encoded("022").contains("umask"));
        assert!(encoded("0027").ends_with(r#","umask":"027"}"#));
    }
}
