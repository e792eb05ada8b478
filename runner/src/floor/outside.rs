//! The runner's permission to run commands outside the sandbox. The configuration must allow it, and commands must run
//! as a user other than the runner's.
//!
//! Nothing that a server sends may change this permission.

use airlock_domain::Grant;
use airlock_sandbox::UidIsolation;

use super::refusal::{Refusal, floor};
use crate::config::FloorConfig;

const CLOSED: &str = "this runner runs no commands outside the sandbox";
/// The danger of a command that runs as the runner's own user. The remedy follows.
pub(crate) const NO_USER: &str = "outside the sandbox a command would run as the runner's own user, and could read \
                                  its state and its keys";
pub(crate) const NO_USER_REMEDY: &str =
    "start the runner as root, so that each session has its own user; or remove `floor.unsandboxed`";

/// Whether commands may run outside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    Open,
    /// The configuration does not allow it.
    Closed,
    /// The configuration allows it, but every command would run as the runner's own user.
    NoUser,
}

impl Outside {
    pub(crate) fn of(configured: &FloorConfig, isolation: UidIsolation) -> Self {
        match (configured.unsandboxed, isolation) {
            (false, _) => Self::Closed,
            (true, UidIsolation::PerSession) => Self::Open,
            (true, UidIsolation::None) => Self::NoUser,
        }
    }

    pub(crate) fn is_open(self) -> bool {
        self == Self::Open
    }

    /// Returns the state in one line, for servers.
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Open => "`floor.unsandboxed` of its configuration permits it",
            Self::Closed => "`floor.unsandboxed` of its configuration does not permit it",
            Self::NoUser => NO_USER,
        }
    }

    /// Refuses a grant outside the sandbox if it is not permitted, or if it asks for something that only a sandbox
    /// enforces.
    pub(crate) fn check(self, grant: &Grant) -> Result<(), Refusal> {
        if !grant.unsandboxed {
            return Ok(());
        }
        match self {
            Self::Closed => return Err(floor(CLOSED)),
            Self::NoUser => return Err(floor(NO_USER)),
            Self::Open => {}
        }
        if grant.read_only || !grant.requires.is_empty() {
            let message =
                "a command outside the sandbox cannot be read-only, and no required layer applies to it";
            return Err(Refusal::new("read_only_mount", message));
        }
        Ok(())
    }
}
