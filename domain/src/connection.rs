//! The connections of an execution to other hosts.

use std::time::Duration;

/// A connection of a command through the runner's proxy. It contains no path, query, header or credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The name or address that the command asked for.
    pub host: String,
    /// The port that the command asked for. 0: the target was invalid.
    pub port: u16,
    /// How the command asked for it.
    pub protocol: ConnectionProtocol,
    /// The outcome.
    pub verdict: ConnectionVerdict,
    /// The entry that allowed or denied it. Empty: no entry matches.
    pub rule: String,
    /// The first layer that refused it, or that warned about it: `profile`, `session`, `request` or `floor`. Empty if
    /// none did.
    pub layer: String,
    /// The other layers that refused it, or that warned about it.
    pub other_layers: Vec<String>,
    /// The kind of the address that was refused, such as `private`, if the host itself was allowed. Empty otherwise.
    pub address_kind: String,
    /// The remedy for a refusal, or the reason for a failure.
    pub reason: String,
    /// Bytes from the command to the host.
    pub bytes_up: u64,
    /// Bytes from the host to the command.
    pub bytes_down: u64,
    /// The start, in microseconds since 1970.
    pub started_micros: i64,
    /// The time from the start to the end.
    pub duration: Duration,
}

/// How a command asked for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionProtocol {
    /// A request of plain HTTP.
    Http,
    /// A tunnel by HTTP CONNECT.
    Connect,
    /// A tunnel by SOCKS5.
    Socks,
}

/// The outcome of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionVerdict {
    /// The rules allowed it, and the host was connected.
    Allowed,
    /// The rules do not allow it, and it was only reported.
    Warned,
    /// The rules refused it, or no longer allow it.
    Refused,
    /// The rules allowed it, and the host was not reached.
    Failed,
}

impl ConnectionProtocol {
    /// Returns the stable name, as in metrics and the audit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Connect => "connect",
            Self::Socks => "socks",
        }
    }
}

impl ConnectionVerdict {
    /// Returns the stable name, as in metrics and the audit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}
