//! The settings of the tools, and the functions that the caller provides.

use std::{fmt, sync::Arc, time::Duration};

use airlock_client::{Client, ClientError, v1};
use futures::future::BoxFuture;

/// A function that connects to a server of Airlock. The error is text for people and models.
pub type Connecting = Arc<dyn Fn() -> BoxFuture<'static, Result<Client, String>> + Send + Sync>;

/// The settings of the tools.
#[derive(Clone)]
pub struct Options {
    /// Connects to a server. It is called at the first tool call, and again after the connection was lost.
    pub connect: Connecting,
    /// Returns the error of a call as text.
    pub describe: fn(&ClientError) -> String,
    /// Returns an approval as text, with everything that its answer covers.
    pub approval: fn(&v1::Approval) -> String,
    /// Writes a line for the operator.
    pub log: fn(&str),
    /// The session of every connection. `None`: each connection has a new session.
    pub session: Option<String>,
    /// The base of a new session.
    pub base: String,
    /// The profile of a new session.
    pub profile: String,
    /// The mode of a new session, or of every command in the given session.
    pub mode: v1::Mode,
    /// Whether sessions and background commands remain when the connection ends.
    pub keep: bool,
    /// The longest time that a tool call waits for an approval and for its command.
    pub wait: Duration,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, base, profile, mode, keep, wait, .. } = self;
        f.debug_struct("Options")
            .field("session", session)
            .field("base", base)
            .field("profile", profile)
            .field("mode", mode)
            .field("keep", keep)
            .field("wait", wait)
            .finish_non_exhaustive()
    }
}
