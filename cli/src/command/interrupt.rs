//! Ctrl-C and its kin, as something that can be awaited.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;

/// SIGINT and SIGTERM, from now on.
#[derive(Debug)]
pub(super) struct Interrupts {
    int: Signal,
    term: Signal,
}

impl Interrupts {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::new(format!("signals cannot be caught: {error}")));
        Ok(Self { int: listen(SignalKind::interrupt())?, term: listen(SignalKind::terminate())? })
    }

    /// The next one. Cancel-safe.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
        }
    }
}
