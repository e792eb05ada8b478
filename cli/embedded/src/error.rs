//! The reasons why an instance fails to start or ends.

use std::{io, net::SocketAddr, path::PathBuf};

use airlock_server::{
    profiles::ProfilesError,
    telemetry::TelemetryError,
    wiring::{ServeError, StartError},
};

use super::KeysError;
use crate::state::StateError;

/// The reason why an instance failed to start or ended.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The address is reachable from other hosts.
    #[error(
        "`airlock dev` is for this machine alone and listens on loopback only, not on {0}; for other hosts, \
         use airlock-server"
    )]
    NotLoopback(SocketAddr),
    /// The state directory is unusable.
    #[error(transparent)]
    State(#[from] StateError),
    /// The keys are unusable.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// A temporary directory cannot be created.
    #[error("cannot create a temporary directory: {0}; set TMPDIR to a writable directory")]
    Temporary(io::Error),
    /// All blocks of host uids are in use.
    #[error("other `airlock dev` processes of this machine use all blocks of host uids; end one of them")]
    NoUids,
    /// Host uids cannot be reserved.
    #[error("cannot reserve host uids for sessions: {0}")]
    Uids(io::Error),
    /// A base is not a readable directory.
    #[error("the base `{name}` is not a readable directory: {}: {source}", path.display())]
    Base {
        /// The name of the base.
        name: String,
        /// The path of the base.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A directory or file that `--bind` or `--rootfs` names does not exist on the host.
    #[error("`{}` cannot be shown in the sandbox: {source}", path.display())]
    Shown {
        /// The path as it was given.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The target of a bind is below a read-only directory and does not exist there.
    #[error(
        "cannot mount anything at `{target}`: `{directory}` is read-only inside and has no such path; choose a TARGET such as `/opt/tools`"
    )]
    NoPlace {
        /// The target.
        target: String,
        /// The read-only directory.
        directory: String,
    },
    /// Two bases have the same name.
    #[error("two bases have the name `{0}`; give each base its own name")]
    BaseTwice(String),
    /// A copy of the base would contain the state directory, and every earlier copy.
    #[error(
        "the base directory {} contains the state directory {}; use a subdirectory as the base, or another \
         state directory (--state DIR; TMPDIR for --local)",
        base.display(),
        state.display()
    )]
    BaseHoldsState {
        /// The base.
        base: PathBuf,
        /// The state directory.
        state: PathBuf,
    },
    /// The profiles cannot be loaded.
    #[error(transparent)]
    Profiles(ProfilesError),
    /// Telemetry does not start.
    #[error(transparent)]
    Telemetry(TelemetryError),
    /// The server does not start.
    #[error("the server does not start: {0}")]
    Server(StartError),
    /// The runner does not start.
    #[error("the runner does not start: {0}")]
    Runner(airlock_runner::StartError),
    /// The runner did not connect to its server in time.
    #[error("the runner did not connect to the server within 30 s; --log info shows the reason")]
    NotLinked,
    /// The server ended without a request.
    #[error("the server exited unexpectedly: {0}")]
    Ended(ServeError),
}
