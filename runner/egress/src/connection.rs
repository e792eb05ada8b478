//! The report of one connection or request.

use std::time::{Duration, SystemTime};

use airlock_network::{AddressKind, LayerName};

/// A connection or plain HTTP request that ended, or that was refused. It contains no path, header or credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The normalized name or address that the command asked for. An invalid name is escaped and cut.
    pub host: String,
    /// The port that the command asked for. 0: the target was invalid.
    pub port: u16,
    /// What happened to it.
    pub outcome: Outcome,
    /// The rule that allowed it, or the deny rule that refused it. `None`: no rule allows it.
    pub rule: Option<String>,
    /// The first layer that refused it, or that warned about it.
    pub layer: Option<LayerName>,
    /// The other layers that refused it, or that warned about it.
    pub others: Vec<LayerName>,
    /// The kind of the address that was refused, if the host itself was allowed.
    pub address: Option<AddressKind>,
    /// The change that would allow it, or the reason of a failure.
    pub remedy: Option<String>,
    /// How the command asked for it.
    pub protocol: Protocol,
    /// Bytes from the command to the target.
    pub bytes_up: u64,
    /// Bytes from the target to the command.
    pub bytes_down: u64,
    /// The time of the request.
    pub started: SystemTime,
    /// The time from the request to its end.
    pub duration: Duration,
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rules allowed it, and it was connected.
    Allowed,
    /// The rules do not allow it, and it was let through because they only warn.
    Warned,
    /// It was refused, or closed because a change of the rules no longer allows it.
    Refused,
    /// The name could not be resolved, or no address accepted the connection.
    Failed,
}

/// How a command asked for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A tunnel by HTTP CONNECT.
    Connect,
    /// A plain HTTP request.
    Http,
    /// A tunnel by SOCKS5.
    Socks5,
}
