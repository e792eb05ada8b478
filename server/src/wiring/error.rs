//! Why a server did not start, or stopped by itself.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use crate::{
    api::ApiError, config::ConfigError, engine::StartUpError, grpc::ReflectionError, limits::LimitError,
    outputs::OutputError, profiles::ProfilesError, store::StoreError, telemetry::TelemetryError,
    tls::TlsError,
};

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is not one.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Traces or metrics cannot be sent.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A profile cannot be read.
    #[error(transparent)]
    Profiles(#[from] ProfilesError),
    /// The configuration names a profile that is not there.
    #[error("there is no profile `{name}`; there are: {known}")]
    UnknownProfile {
        /// As it was named.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// A profile gives commands more time to end than the link was configured for.
    #[error("a profile has a grace of {grace:?}; raise `link.ending_grace`, which is {limit:?}, or lower it")]
    Grace {
        /// The profile's.
        grace: Duration,
        /// The link's.
        limit: Duration,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address cannot be listened on.
    #[error("`{address}` cannot be listened on: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Nor can the probes'.
    #[error("`listen.probes` `{address}` cannot be listened on: {source}")]
    BindProbes {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The socket has no address.
    #[error("the socket's address cannot be read: {0}")]
    Address(#[source] io::Error),
    /// The store's folder cannot be made.
    #[error("the folder of the store `{}` cannot be made: {source}", path.display())]
    StoreFolder {
        /// The store's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file with the database's password cannot be read.
    #[error("the password file `{}` cannot be read: {source}", path.display())]
    Password {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("the store cannot be opened: {0}")]
    Store(#[source] StoreError),
    /// The output storage cannot be opened.
    #[error("the output storage cannot be opened: {0}")]
    Outputs(#[source] OutputError),
    /// The limits contradict each other.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] StartUpError),
    /// What was not stored yet cannot be found.
    #[error("outputs that are not stored yet cannot be taken up: {0}")]
    Resume(#[source] ApiError),
    /// The services cannot be put together.
    #[error(transparent)]
    Reflection(#[from] ReflectionError),
}

/// Why a server stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The transport failed.
    #[error("the transport failed: {0}")]
    Transport(#[source] tonic::transport::Error),
    /// A task of it came to an end that it should not have.
    #[error("a task of the server ended unexpectedly")]
    Ended,
}
