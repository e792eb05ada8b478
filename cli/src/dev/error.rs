//! Why a dev does not start or does not go on.

use std::{io, net::SocketAddr, path::PathBuf};

use airlock_server::{
    profiles::ProfilesError,
    telemetry::TelemetryError,
    wiring::{ServeError, StartError},
};

use super::KeysError;
use crate::state::StateError;

/// Why a dev does not start or does not go on.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The address can be reached from other hosts.
    #[error(
        "`airlock dev` is for this machine alone and listens on loopback only, not on {0}; for others there is airlock-server"
    )]
    NotLoopback(SocketAddr),
    /// The state folder cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The keys cannot be had.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// There is no place for a temporary folder.
    #[error("a temporary folder cannot be made: {0}; set TMPDIR to a folder that can be written")]
    Temporary(io::Error),
    /// No host uids are left for its sessions.
    #[error("all blocks of host uids are taken by other devs of this machine; end one of them")]
    NoUids,
    /// Host uids cannot be reserved.
    #[error("host uids for its sessions cannot be reserved: {0}")]
    Uids(io::Error),
    /// A base folder is none.
    #[error("the base `{name}` is not a folder that can be read: {}: {source}", path.display())]
    Base {
        /// Its name.
        name: String,
        /// Where it should be.
        path: PathBuf,
        /// Why it is not.
        source: io::Error,
    },
    /// A folder or file of the host that `--bind` or `--rootfs` names does not exist.
    #[error("`{}` cannot be shown inside: {source}", path.display())]
    Shown {
        /// As it was given.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The target of a bind is below a read-only folder and does not exist there.
    #[error(
        "nothing can be shown at `{target}`: `{folder}` is read-only inside and has no such path; take a TARGET such as `/opt/tools`"
    )]
    NoPlace {
        /// Where it was to be shown.
        target: String,
        /// The read-only folder.
        folder: String,
    },
    /// Two base folders have one name.
    #[error("two bases are called `{0}`; give each a name of its own")]
    BaseTwice(String),
    /// A copy of the base folder would hold the state, and every copy before it.
    #[error(
        "the base folder {} holds the state folder {}; offer a folder further down, or keep the state elsewhere (--state DIR; TMPDIR for --local)",
        base.display(),
        state.display()
    )]
    BaseHoldsState {
        /// The base.
        base: PathBuf,
        /// The state folder.
        state: PathBuf,
    },
    /// The profiles do not load.
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
    /// The runner did not reach the server beside it.
    #[error("the runner did not reach the server within 30 s; its log says why (--log info)")]
    NotLinked,
    /// The server ended by itself.
    #[error("the server ended by itself: {0}")]
    Ended(ServeError),
}
