//! The messages of the service `process.Process`.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{Base64, Empty, or_default};

/// A program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Config {
    #[serde(deserialize_with = "or_default")]
    pub(crate) cmd: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) args: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) envs: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
}

/// Selects a process by its ID or its tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Selector {
    pub(crate) pid: Option<u32>,
    pub(crate) tag: Option<String>,
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.tag) {
            (Some(pid), _) => write!(f, "with pid {pid}"),
            (None, Some(tag)) => write!(f, "with tag `{tag}`"),
            (None, None) => f.write_str("without a selector"),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Size {
    #[serde(deserialize_with = "or_default")]
    pub(crate) cols: u32,
    #[serde(deserialize_with = "or_default")]
    pub(crate) rows: u32,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Pty {
    pub(crate) size: Option<Size>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct ListResponse {
    pub(crate) processes: Vec<Info>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Info {
    pub(crate) config: Config,
    pub(crate) pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StartRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) process: Config,
    pub(crate) pty: Option<Pty>,
    pub(crate) tag: Option<String>,
    /// Older SDKs omit it and expect an open input.
    pub(crate) stdin: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UpdateRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) process: Selector,
    pub(crate) pty: Option<Pty>,
}

/// A request with nothing but a selector.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SelectRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) process: Selector,
}

/// Bytes for a process. At most one field is set.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Input {
    pub(crate) stdin: Option<Base64>,
    pub(crate) pty: Option<Base64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SendInputRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) process: Selector,
    #[serde(deserialize_with = "or_default")]
    pub(crate) input: Input,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InputData {
    #[serde(deserialize_with = "or_default")]
    pub(crate) input: Input,
}

/// One message of a stream of input. A message without a known field, such as `keepalive`, has no effect.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StreamInputRequest {
    pub(crate) start: Option<SelectRequest>,
    pub(crate) data: Option<InputData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SendSignalRequest {
    #[serde(deserialize_with = "or_default")]
    pub(crate) process: Selector,
    #[serde(deserialize_with = "or_default")]
    pub(crate) signal: Signal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Signal {
    Terminate,
    Kill,
    #[default]
    Unknown,
}

impl<'de> Deserialize<'de> for Signal {
    /// An enumeration is a name or a number.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value {
            Number(i32),
            Name(String),
        }
        Ok(match Value::deserialize(from)? {
            Value::Number(15) => Self::Terminate,
            Value::Number(9) => Self::Kill,
            Value::Name(name) if name == "SIGNAL_SIGTERM" => Self::Terminate,
            Value::Name(name) if name == "SIGNAL_SIGKILL" => Self::Kill,
            Value::Number(_) | Value::Name(_) => Self::Unknown,
        })
    }
}

/// The response of Start and Connect.
#[derive(Debug, Serialize)]
pub(crate) struct EventResponse {
    pub(crate) event: Event,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Event {
    Start { pid: u32 },
    Data(Data),
    End(End),
    Keepalive(Empty),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Data {
    Stdout(Base64),
    Stderr(Base64),
    Pty(Base64),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub(crate) exit_code: i32,
    pub(crate) exited: bool,
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
