//! An accepted job, and the operations on it from its acceptance to its end. Others can end it, signal it, send it to
//! the background, write to its input, and change the size of its terminal.
//!
//! Must not block. The job's own task does the work.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use airlock_domain::{Cause, ExecutionId, Grant, Shell, Signal, TerminalSize};
use airlock_sandbox::Profile;
use airlock_sandbox::env::Scrubbed;
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::sync::{mpsc, watch};

use crate::egress::{ExecutionQuestions, LiveLayers};
use crate::floor::Network;
use crate::secrets::Replacer;
use crate::session::OpenSession;
use crate::stdin::Input;

/// The maximum number of queued signals of one job. Further ones are dropped.
const SIGNALS: usize = 16;

/// The handle of one job.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) switch: EndSwitch,
    /// `None` if the grant provides no input.
    pub(crate) input: Option<Input>,
    /// The layers of its network. `None` if it has no network.
    pub(crate) network: Option<LiveLayers>,
    /// The questions about its connections. `None` if it has no network.
    pub(crate) questions: Option<Arc<ExecutionQuestions>>,
    /// The queue of signals, while the job runs.
    signals: Mutex<Option<mpsc::Sender<Signal>>>,
    background: watch::Sender<Option<Duration>>,
    /// The reason why its output could not be kept, if that happened.
    unkept: OnceLock<String>,
    /// The controlling end of its terminal, while the job runs on one.
    terminal: Mutex<Option<OwnedFd>>,
}

impl Handle {
    /// Creates the handle of a newly accepted job.
    pub(crate) fn new(
        input: Option<Input>,
        network: Option<LiveLayers>,
        questions: Option<Arc<ExecutionQuestions>>,
    ) -> Self {
        Self {
            switch: EndSwitch::new(),
            input,
            network,
            questions,
            signals: Mutex::default(),
            background: watch::Sender::new(None),
            unkept: OnceLock::new(),
            terminal: Mutex::default(),
        }
    }

    /// Sends a signal to all processes of the job. Does nothing unless the job runs. Returns false if the queue is
    /// full.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |queue: &mpsc::Sender<_>| {
            matches!(queue.try_send(signal), Err(mpsc::error::TrySendError::Full(_)))
        };
        !signals.as_ref().is_some_and(full)
    }

    /// Opens the queue of signals when the job starts. Signals are ignored after the receiver is dropped.
    pub(super) fn signals(&self) -> mpsc::Receiver<Signal> {
        let (queue, signals) = mpsc::channel(SIGNALS);
        *self.signals.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
        signals
    }

    /// Sets the terminal of the running job. `None`: the job has ended.
    pub(super) fn set_terminal(&self, terminal: Option<OwnedFd>) {
        *self.terminal.lock().unwrap_or_else(PoisonError::into_inner) = terminal;
    }

    /// Changes the size of the job's terminal; the kernel then signals its programs. Does nothing unless the job runs
    /// on a terminal.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let terminal = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(terminal) = &*terminal else { return Ok(()) };
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(terminal, size)?)
    }

    /// Sends the job to the background, with this wall time counted from its start. Only the first call has an effect.
    pub(crate) fn detach(&self, timeout: Duration) {
        self.background.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(timeout);
            }
            first
        });
    }

    /// Records why its output cannot be kept from now on. Only the first call has an effect.
    pub(super) fn set_unkept(&self, why: String) {
        let _ = self.unkept.set(why);
    }

    pub(super) fn unkept(&self) -> Option<&str> {
        self.unkept.get().map(String::as_str)
    }

    pub(super) fn is_detached(&self) -> bool {
        self.background.borrow().is_some()
    }

    /// Waits until the job is sent to the background, and returns its wall time there.
    pub(super) async fn detached(&self) -> Duration {
        // The sender is part of `self`, so the wait cannot fail.
        match self.background.subscribe().wait_for(Option::is_some).await.map(|timeout| *timeout) {
            Ok(Some(timeout)) => timeout,
            _ => std::future::pending().await,
        }
    }
}

/// The end switch of one job. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct EndSwitch(Arc<watch::Sender<Option<Cause>>>);

impl EndSwitch {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Sets the cause. Does nothing if there is one already.
    pub(crate) fn end(&self, cause: Cause) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(cause);
            }
            first
        });
    }

    /// Returns the cause, if there is one.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.0.borrow().clone()
    }

    /// Sets `own` if there is no cause yet, and returns the cause.
    pub(crate) fn settle(&self, own: Cause) -> Cause {
        self.end(own.clone());
        self.cause().unwrap_or(own)
    }

    /// Waits until there is a cause.
    pub(crate) async fn ended(&self) {
        // The sender is part of `self`, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}

/// One accepted job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: ExecutionId,
    pub(crate) grant: Grant,
    /// The grant's profile, within the floor.
    pub(crate) profile: Profile,
    /// The grant's network, within the floor.
    pub(crate) network: Network,
    /// The variables passed from the runner's environment, and the names of those removed.
    pub(crate) scrubbed: Scrubbed,
    /// Replaces, in the command's output, the secrets that the profile names.
    pub(crate) replacer: Option<Replacer>,
    /// The session's shell snapshot, if the command sources it.
    pub(crate) snapshot: Option<Vec<u8>>,
    pub(crate) session: Arc<OpenSession>,
    pub(crate) traceparent: String,
    pub(crate) handle: Arc<Handle>,
}

impl Job {
    /// Returns the reason why the job runs without the session's shell snapshot. Empty if the job has the snapshot or
    /// does not need it.
    pub(super) fn missed_snapshot(&self) -> String {
        let sources =
            !self.grant.read_only && !self.grant.unsandboxed && self.grant.command.shell == Shell::Bash;
        if sources && self.snapshot.is_none() { self.session.snapshot().problem } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_count_only_while_the_job_runs_and_are_bounded() {
        let handle = Handle::new(None, None, None);
        assert!(handle.signal(Signal::Kill), "before it runs");
        let mut signals = handle.signals();
        assert!(signals.try_recv().is_err(), "a signal from before is not kept");
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
        let handle = Handle::new(None, None, None);
        assert!(!handle.is_detached());
        handle.detach(Duration::from_secs(1));
        handle.detach(Duration::from_secs(2));
        assert!(handle.is_detached());
        assert_eq!(handle.detached().await, Duration::from_secs(1));
    }
}
