//! What the exchanges tell the telemetry. Only counts: no path, no name, no id.

use airlock_proto::domain::ExchangeOrder;

/// What an exchange is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// Files into a session.
    Upload,
    /// Files out of it.
    Download,
    /// One file's description.
    Stat,
    /// A listing.
    List,
    /// A comparison.
    Diff,
    /// A listing of a quarantine.
    Quarantine,
    /// Giving something back from it.
    Restore,
    /// What files hold that a command would run.
    Digests,
    /// Input of a command.
    Stdin,
}

impl ExchangeKind {
    /// Its stable name.
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
            Self::Stdin => "stdin",
        }
    }

    /// Whether bytes go to or from a client in it.
    #[must_use]
    pub fn is_transfer(self) -> bool {
        matches!(self, Self::Upload | Self::Download | Self::Stdin)
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
            ExchangeOrder::Stdin { .. } => Self::Stdin,
        }
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeOutcome {
    /// The order was done.
    Done,
    /// The runner, or the server by what the client sent, refused it.
    Refused,
    /// The client went away, or did nothing for too long.
    Left,
    /// The runner did not come, went away, or said nothing for too long; or the server stops.
    Cut,
    /// The runner said what it must not say.
    Misbehaved,
}

impl ExchangeOutcome {
    /// Its stable name.
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

/// Told what happens in exchanges. Called on the way of every chunk, so it must return at once.
pub trait ExchangeObserver: Send + Sync {
    /// One was asked for.
    fn exchange_opened(&self, _kind: ExchangeKind) {}
    /// So many bytes went through one.
    fn exchange_bytes(&self, _kind: ExchangeKind, _bytes: u64) {}
    /// One has ended.
    fn exchange_ended(&self, _kind: ExchangeKind, _outcome: ExchangeOutcome) {}
}
