//! The specification of a command: what runs and how. The request, the stored execution and the grant contain it
//! whole. The launch is built from it.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Pty, Shell, encoding, encoding::is_false};

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
}

/// The fields of a request's command that have a default elsewhere and that the client set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Else the session's shell.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shell: bool,
    /// Else the profile's default.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timeout: bool,
    /// Else the profile's value.
    #[serde(default, skip_serializing_if = "is_false")]
    pub inline_limit: bool,
}

impl CommandSpec {
    /// Returns the specification with the fields that are not `given` taken from `defaults`.
    #[must_use]
    pub fn completed(self, given: Given, defaults: &Self) -> Self {
        let Given { shell, timeout, inline_limit } = given;
        Self {
            shell: if shell { self.shell } else { defaults.shell },
            timeout: if timeout { self.timeout } else { defaults.timeout },
            inline_limit: if inline_limit { self.inline_limit } else { defaults.inline_limit },
            ..self
        }
    }
}
