//! What others can do to a job from its acceptance to its end: end it, signal it, send it to the
//! background, write to its input, change the size of its terminal.
//!
//! Must not wait: whoever asks goes on at once, and the job's own task does it.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use airlock_proto::domain::{Signal, TerminalSize};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::sync::{mpsc, watch};

use super::EndSwitch;
use crate::stdin::Input;

/// Signals on their way to one job; what comes beyond them before it took any is dropped.
const SIGNALS: usize = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) switch: EndSwitch,
    /// None where the grant gives it none.
    pub(crate) input: Option<Input>,
    /// There is somebody to take them while the job runs.
    signals: Mutex<Option<mpsc::Sender<Signal>>>,
    background: watch::Sender<Option<Duration>>,
    /// Why its output could not be kept, where it could not.
    unkept: OnceLock<String>,
    /// While it runs, the controlling end of its terminal, where it has one.
    terminal: Mutex<Option<OwnedFd>>,
}

impl Handle {
    /// Of a job that was accepted just now.
    pub(crate) fn new(input: Option<Input>) -> Self {
        Self {
            switch: EndSwitch::new(),
            input,
            signals: Mutex::default(),
            background: watch::Sender::new(None),
            unkept: OnceLock::new(),
            terminal: Mutex::default(),
        }
    }

    /// Sends a signal to all of it. Does nothing unless it runs. False: more came than it could take.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |queue: &mpsc::Sender<_>| {
            matches!(queue.try_send(signal), Err(mpsc::error::TrySendError::Full(_)))
        };
        !signals.as_ref().is_some_and(full)
    }

    /// It runs: the signals that come from now on. They are no longer taken once the receiver is dropped.
    pub(super) fn signals(&self) -> mpsc::Receiver<Signal> {
        let (queue, signals) = mpsc::channel(SIGNALS);
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
        signals
    }

    /// It runs on this terminal; none: it has ended.
    pub(super) fn set_terminal(&self, terminal: Option<OwnedFd>) {
        *self.terminal.lock().unwrap_or_else(PoisonError::into_inner) = terminal;
    }

    /// Changes the size of its terminal, and has the kernel tell its programs. Does nothing unless it runs on
    /// one.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let terminal = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(terminal) = &*terminal else { return Ok(()) };
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(terminal, size)?)
    }

    /// Sends it to the background, where it has so much wall time from its start. The first time counts.
    pub(crate) fn detach(&self, timeout: Duration) {
        self.background.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(timeout);
            }
            first
        });
    }

    /// Notes why its output cannot be kept from here on. The first time counts.
    pub(super) fn set_unkept(&self, why: String) {
        let _ = self.unkept.set(why);
    }

    pub(super) fn unkept(&self) -> Option<&str> {
        self.unkept.get().map(String::as_str)
    }

    pub(super) fn is_detached(&self) -> bool {
        self.background.borrow().is_some()
    }

    /// Returns its wall time in the background once it was sent there.
    pub(super) async fn detached(&self) -> Duration {
        // The sender lives in `self`, so that the wait cannot fail.
        match self.background.subscribe().wait_for(Option::is_some).await.map(|timeout| *timeout) {
            Ok(Some(timeout)) => timeout,
            _ => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_count_only_while_the_job_runs_and_are_bounded() {
        let handle = Handle::new(None);
        assert!(handle.signal(Signal::Kill), "before it runs");
        let mut signals = handle.signals();
        assert!(signals.try_recv().is_err(), "what came before is not kept");
        for _ in 0..SIGNALS {
            assert!(handle.signal(Signal::Usr1));
        }
        assert!(!handle.signal(Signal::Usr1));
        assert_eq!(signals.try_recv(), Ok(Signal::Usr1));
        drop(signals);
        assert!(handle.signal(Signal::Kill), "after its end");
    }

    #[tokio::test]
    async fn the_first_detach_counts() {
        let handle = Handle::new(None);
        assert!(!handle.is_detached());
        handle.detach(Duration::from_secs(1));
        handle.detach(Duration::from_secs(2));
        assert!(handle.is_detached());
        assert_eq!(handle.detached().await, Duration::from_secs(1));
    }
}
