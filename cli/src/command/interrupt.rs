//! Ctrl-C and the other termination signals as a future.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;

/// Receives SIGINT, SIGTERM and, unless it is ignored (`nohup`), SIGHUP.
#[derive(Debug)]
pub(super) struct Interrupts {
    int: Signal,
    term: Signal,
    hup: Option<Signal>,
}

impl Interrupts {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::new(format!("cannot install the signal handlers: {error}")))
        };
        let hup = if hangup_is_ignored() { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Self { int: listen(SignalKind::interrupt())?, term: listen(SignalKind::terminate())?, hup })
    }

    /// Waits for the next signal. Cancel-safe.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
            Some(_) = async { self.hup.as_mut()?.recv().await } => {}
        }
    }
}

/// Reports whether SIGHUP is ignored, because the parent process wants this one to outlive its
/// terminal.
fn hangup_is_ignored() -> bool {
    const SIGHUP_BIT: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & SIGHUP_BIT != 0)
}
