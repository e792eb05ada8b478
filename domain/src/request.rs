//! Requests to create a session and to run a command, as the services receive them.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{CommandSpec, Given, Mode, SessionId, Shell, encoding};

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
