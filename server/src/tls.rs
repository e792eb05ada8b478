//! The listener: TCP and TLS up to the first byte of HTTP/2, with limits of number and time.
//!
//! A connection that is passed on has completed its handshake, and its client certificate, if there is one,
//! was verified. This module does not determine the principal.

mod accept;
mod activity;
mod certificates;
mod connection;
mod settings;

pub(crate) use accept::{Accept, AcceptLimits};
pub(crate) use activity::OpenCall;
pub use certificates::TlsError;
pub(crate) use certificates::{Limiting, LiveTls, expiry};
pub(crate) use connection::{Connection, ConnectionInfo};
pub use settings::server_config;
pub(crate) use settings::{live, renew};
