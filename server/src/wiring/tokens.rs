//! The steps of a shutdown.

use tokio_util::sync::CancellationToken;

/// The steps of a shutdown that tasks wait for.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    /// No new calls. Waiting calls end.
    pub(super) closed: CancellationToken,
    /// No new connections. Open calls end with a status.
    pub(super) draining: CancellationToken,
    /// All connections end.
    pub(super) cut: CancellationToken,
}
