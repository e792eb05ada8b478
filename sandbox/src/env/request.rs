//! The inputs for the environment of a command.

use crate::profile::Profile;

/// A variable: name and value, with any bytes that Linux allows.
pub type Variable = (Vec<u8>, Vec<u8>);

/// The inputs for the environment of one command.
#[derive(Debug, Clone, Copy)]
pub struct EnvRequest<'a> {
    /// The profile: PATH, its variables, and the names that it allows.
    pub profile: &'a Profile,
    /// The session's ID, set as `AIRLOCK_SESSION_ID`.
    pub session_id: &'a str,
    /// The variables passed from the runner's environment, without secrets. All other sources override them.
    pub passed: &'a [Variable],
    /// The session's variables.
    pub session: &'a [Variable],
    /// The request's variables. They override the session's.
    pub request: &'a [Variable],
    /// The trace context of the command, set as `TRACEPARENT`.
    pub traceparent: Option<&'a str>,
    /// Whether the command is read-only.
    pub read_only: bool,
    /// Whether the command runs outside the sandbox.
    pub unsandboxed: bool,
}
