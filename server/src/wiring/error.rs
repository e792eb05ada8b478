//! The errors of starting and running a server.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use airlock_control::{profiles::ProfilesError, services::StartUpError};
use airlock_hooks::HookError;
use airlock_limits::LimitError;
use airlock_output::{storage::OutputError, stream::StreamError};
use airlock_store::StoreError;

use crate::{config::ConfigError, grpc::ReflectionError, telemetry::TelemetryError, tls::TlsError};

/// The reason why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Traces or metrics cannot be exported.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A profile cannot be loaded.
    #[error(transparent)]
    Profiles(#[from] ProfilesError),
    /// The configuration names a profile that does not exist.
    #[error("the profile `{name}` does not exist; existing profiles: {known}")]
    UnknownProfile {
        /// The name in the configuration.
        name: String,
        /// The existing profiles.
        known: String,
    },
    /// A profile has a longer grace period than the link permits.
    #[error(
        "a profile's `limits.grace` is {grace:?}, longer than `link.ending_grace` ({limit:?}); lower it, or \
         raise `link.ending_grace`"
    )]
    Grace {
        /// The grace period of the profile.
        grace: Duration,
        /// The limit of the link.
        limit: Duration,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A hook cannot be called.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The server cannot listen on the address.
    #[error("cannot listen on `{address}`: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The server cannot listen on the address of the probes.
    #[error("cannot listen on `{address}` (`listen.probes`): {source}")]
    BindProbes {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The socket has no address.
    #[error("the socket's address cannot be read: {0}")]
    Address(#[source] io::Error),
    /// The configuration names an engine that this program does not contain.
    #[error("this program has no engine for {engine} (`{key}`); use `airlock-server`")]
    Engine {
        /// The key of the configuration.
        key: &'static str,
        /// The engine.
        engine: &'static str,
    },
    /// The directory of the store cannot be created.
    #[error("cannot create the directory of the store `{}`: {source}", path.display())]
    StoreFolder {
        /// The file of the store.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file with the password of the database cannot be read.
    #[error("cannot read the password file `{}`: {source}", path.display())]
    Password {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("cannot open the store: {0}")]
    Store(#[source] StoreError),
    /// The output storage cannot be opened.
    #[error("cannot open the output storage: {0}")]
    Outputs(#[source] OutputError),
    /// Limits contradict each other.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// The services did not start.
    #[error(transparent)]
    Services(#[from] StartUpError),
    /// The outputs that are not stored yet cannot be listed.
    #[error("cannot resume storing outputs: {0}")]
    Resume(#[source] StreamError),
    /// The services cannot be created.
    #[error(transparent)]
    Reflection(#[from] ReflectionError),
}

/// The reason why a server stopped without a request.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The transport failed.
    #[error("the transport failed: {0}")]
    Transport(#[source] tonic::transport::Error),
    /// A task ended unexpectedly.
    #[error("a task of the server ended unexpectedly")]
    Ended,
}
