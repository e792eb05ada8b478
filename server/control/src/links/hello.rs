//! The reasons why a runner is refused and why a link ends, and the capabilities of a runner's host from its hello.

use std::collections::BTreeMap;

use airlock_domain::{Capability, Epoch, RunnerHello, Shell};

/// The reason why a runner is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    /// The runner uses an unsupported version of the protocol.
    #[error("the runner uses link protocol {theirs}; this server supports {ours} and the previous version")]
    Version {
        /// The runner's version.
        theirs: u32,
        /// This server's version.
        ours: u32,
    },
    /// A later epoch of this runner has connected.
    #[error("a newer epoch of the runner has connected, so this epoch is refused")]
    Fenced,
    /// The limit of connected runners is reached.
    #[error("limit `runners` of {limit} is reached")]
    TooMany {
        /// The value of the limit.
        limit: u32,
    },
    /// The server starts, shuts down, or cannot reach its store.
    #[error("{reason}")]
    Unavailable {
        /// The reason.
        reason: String,
    },
}

/// The reason why a link ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The link was replaced, fenced or silent for too long, or the server shuts down.
    #[error("the link has ended: {0}")]
    Ended(&'static str),
    /// The runner sent a message that the protocol does not permit here.
    #[error("the runner violated the protocol: {0}")]
    Protocol(&'static str),
    /// The message could not be stored. The runner repeats it on its next link.
    #[error("{0}")]
    NotKept(String),
}

/// The capability that states whether the runner's journal survived a restart of its host.
const JOURNAL_INTACT: &str = "journal_intact";
/// The capability without which a runner accepts no commands.
pub(crate) const FLOOR: &str = "floor";
/// The capability that states whether the runner's floor permits commands outside the sandbox.
pub(crate) const UNSANDBOXED: &str = "unsandboxed";

/// Reports whether a host's own root is known to lack a shell.
pub(crate) fn lacks(shells: &BTreeMap<String, String>, shell: Shell) -> bool {
    !shells.is_empty() && !shells.contains_key(shell.name())
}

/// Reports whether the runner's floor permits commands outside the sandbox.
pub(crate) fn permits_unsandboxed(hello: &RunnerHello) -> bool {
    hello.capabilities.iter().any(|found| found.name == UNSANDBOXED && found.enforced)
}

/// Reports whether a job that the runner does not report was never accepted by this epoch. This is
/// uncertain after the host went down, because the end of the journal can be missing.
pub(crate) fn vouches_for(hello: &RunnerHello, epoch: Epoch) -> bool {
    let is_broken = |found: &Capability| found.name == JOURNAL_INTACT && !found.enforced;
    hello.vouched_epochs.contains(&epoch) || !hello.capabilities.iter().any(is_broken)
}

/// Reports whether the runner can enforce its own floor. A runner that cannot refuses every session.
pub(crate) fn holds_floor(hello: &RunnerHello) -> bool {
    !hello.capabilities.iter().any(|found| found.name == FLOOR && !found.enforced)
}
