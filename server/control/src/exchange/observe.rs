//! The events of exchanges for telemetry. They contain counts only: no paths, names or IDs.

use airlock_domain::ExchangeOrder;

/// The purpose of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// Copies files into a session.
    Upload,
    /// Copies files out of a session.
    Download,
    /// Describes one file.
    Stat,
    /// Lists files.
    List,
    /// Compares the workspace with its initial state.
    Diff,
    /// Lists a quarantine.
    Quarantine,
    /// Restores a file from a quarantine.
    Restore,
    /// Computes the digests of files that a command would run.
    Digests,
    /// Computes the changes of a file edit.
    Preview,
    /// Writes to the input of a command.
    Stdin,
    /// Carries a connection to a port of a session.
    Forward,
}

impl ExchangeKind {
    /// Returns the stable name for metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Download => "download",
            Self::Stat => "stat",
            Self::List => "list",
            Self::Diff => "diff",
            Self::Quarantine => "quarantine",
            Self::Restore => "restore",
            Self::Digests => "digests",
            Self::Preview => "preview",
            Self::Stdin => "stdin",
            Self::Forward => "forward",
        }
    }

    /// Returns whether the exchange carries bytes from or to a client.
    #[must_use]
    pub fn is_transfer(self) -> bool {
        matches!(self, Self::Upload | Self::Download | Self::Stdin | Self::Forward)
    }
}

impl From<&ExchangeOrder> for ExchangeKind {
    fn from(order: &ExchangeOrder) -> Self {
        match order {
            ExchangeOrder::Upload(_) => Self::Upload,
            ExchangeOrder::Download(_) => Self::Download,
            ExchangeOrder::Stat { .. } => Self::Stat,
            ExchangeOrder::List(_) => Self::List,
            ExchangeOrder::Diff(_) => Self::Diff,
            ExchangeOrder::Quarantine(_) => Self::Quarantine,
            ExchangeOrder::Restore { .. } => Self::Restore,
            ExchangeOrder::Digests { .. } => Self::Digests,
            ExchangeOrder::Preview(_) => Self::Preview,
            ExchangeOrder::Stdin { .. } => Self::Stdin,
            ExchangeOrder::Forward { .. } => Self::Forward,
        }
    }
}

/// The outcome of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeOutcome {
    /// The order was completed.
    Done,
    /// The runner refused the order, or the server refused what the client sent.
    Refused,
    /// The client disconnected or was idle for too long.
    Left,
    /// The runner did not connect, disconnected or was silent for too long, or the server stopped.
    Cut,
    /// The runner violated the protocol.
    Misbehaved,
}

impl ExchangeOutcome {
    /// Returns the stable name for metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Left => "left",
            Self::Cut => "cut",
            Self::Misbehaved => "misbehaved",
        }
    }
}

/// Receives the events of exchanges. The calls are on the path of every chunk and must return at
/// once.
pub trait ExchangeObserver: Send + Sync {
    /// An exchange was requested.
    fn exchange_opened(&self, _kind: ExchangeKind) {}
    /// Bytes were transferred in an exchange.
    fn exchange_bytes(&self, _kind: ExchangeKind, _bytes: u64) {}
    /// An exchange has ended.
    fn exchange_ended(&self, _kind: ExchangeKind, _outcome: ExchangeOutcome) {}
}
