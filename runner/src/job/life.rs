//! The time of a running command: its clocks, the signals that are sent to it, and its end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_proto::domain::{Cause, Signal, TimeoutKind};
use airlock_sandbox::{self as sandbox, Control, Ended};
use tokio::{
    sync::{mpsc, watch},
    task::{JoinError, JoinHandle},
    time::sleep,
};

use super::{Job, disk::DiskWatch};
use crate::spool::{JobSpool, StreamSpool, StreamState};

/// A command that runs.
pub(super) struct Life<'a> {
    pub(super) control: &'a Control,
    pub(super) job: &'a Job,
    pub(super) spool: &'a JobSpool,
    pub(super) started: Instant,
    pub(super) disk: Option<&'a Arc<DiskWatch>>,
}

impl Life<'_> {
    /// Waits for the end, and brings it about when a limit is reached or somebody wants it: SIGTERM to all
    /// of it, the grace, then the end of its pid namespace.
    pub(super) async fn until_ended(
        &self,
        wait: &mut JoinHandle<Ended>,
        mut signals: mpsc::Receiver<Signal>,
    ) -> Result<Ended, JoinError> {
        let switch = &self.job.handle.switch;
        let wanted = async {
            tokio::select! {
                () = switch.ended() => {}
                cause = self.reaches_a_limit() => switch.end(cause),
                cause = self.falls_silent() => switch.end(cause),
                cause = self.fills_the_disk() => switch.end(cause),
            }
        };
        if let Some(ended) = self.attend(wait, &mut signals, wanted).await {
            return ended;
        }
        self.control.terminate();
        let grace = sleep(self.job.grant.profile.limits.grace);
        if let Some(ended) = self.attend(wait, &mut signals, grace).await {
            return ended;
        }
        self.control.kill();
        wait.await
    }

    /// Passes signals on until `over`, or the end. What was sent before it was over comes before what
    /// follows: a stop must not come after the end that it came before.
    async fn attend(
        &self,
        wait: &mut JoinHandle<Ended>,
        signals: &mut mpsc::Receiver<Signal>,
        over: impl Future<Output = ()>,
    ) -> Option<Result<Ended, JoinError>> {
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                ended = &mut *wait => return Some(ended),
                () = &mut over => break,
                Some(signal) = signals.recv() => self.control.signal(of_sandbox(signal)),
            }
        }
        // No more than there is room for: others may go on sending.
        for _ in 0..signals.max_capacity() {
            let Ok(signal) = signals.try_recv() else { break };
            self.control.signal(of_sandbox(signal));
        }
        None
    }

    /// Returns once its wall time is over, or in the background its output more than is kept.
    async fn reaches_a_limit(&self) -> Cause {
        let timed_out = Cause::TimedOut(TimeoutKind::Wall);
        let timeout = tokio::select! {
            biased;
            timeout = self.job.handle.detached() => timeout,
            () = sleep(self.left(self.job.grant.timeout)) => return timed_out,
        };
        let cap = self.job.grant.profile.limits.output_bytes;
        tokio::select! {
            () = sleep(self.left(timeout)) => timed_out,
            () = passes(Some(&*self.spool.stdout), cap) => Cause::OutputLimit,
            () = passes(self.spool.stderr.as_deref(), cap) => Cause::OutputLimit,
        }
    }

    /// Returns once it has written nothing for as long as it may. Its own clock: no other one moves it, and
    /// where the command runs does not matter.
    async fn falls_silent(&self) -> Cause {
        let Some(patience) = self.job.grant.idle_timeout else { return std::future::pending().await };
        let stderr = self.spool.stderr.as_ref().map(|stream| stream.watch());
        silence(patience, self.started.into(), [Some(self.spool.stdout.watch()), stderr]).await;
        Cause::TimedOut(TimeoutKind::Idle)
    }

    async fn fills_the_disk(&self) -> Cause {
        match self.disk {
            Some(disk) => Arc::clone(disk).exceeded().await,
            None => std::future::pending().await,
        }
    }

    /// Not a moment in time: one that is too far away would be a panic.
    fn left(&self, timeout: Duration) -> Duration {
        timeout.saturating_sub(self.started.elapsed())
    }
}

/// Returns once there is more of the stream than `cap` bytes.
async fn passes(stream: Option<&StreamSpool>, cap: u64) {
    let passed = match stream {
        Some(stream) => stream.watch().wait_for(|state| state.total > cap).await.is_ok(),
        None => false,
    };
    if !passed {
        std::future::pending::<()>().await;
    }
}

/// Returns once no stream has grown for so long, counted from `since` at first. Cancel-safe.
async fn silence(
    patience: Duration,
    since: tokio::time::Instant,
    [mut stdout, mut stderr]: [Option<watch::Receiver<StreamState>>; 2],
) {
    let mut last = since;
    loop {
        tokio::select! {
            biased;
            () = grows(&mut stdout) => {}
            () = grows(&mut stderr) => {}
            () = sleep(patience.saturating_sub(last.elapsed())) => return,
        }
        last = tokio::time::Instant::now();
    }
}

/// Returns when the stream has grown since it was last asked about. One that is closed never does.
async fn grows(stream: &mut Option<watch::Receiver<StreamState>>) {
    let Some(state) = stream else { return std::future::pending().await };
    let before = state.borrow_and_update().total;
    if state.wait_for(|state| state.total > before).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn of_sandbox(signal: Signal) -> sandbox::Signal {
    match signal {
        Signal::Hup => sandbox::Signal::Hup,
        Signal::Int => sandbox::Signal::Int,
        Signal::Quit => sandbox::Signal::Quit,
        Signal::Usr1 => sandbox::Signal::Usr1,
        Signal::Usr2 => sandbox::Signal::Usr2,
        Signal::Term => sandbox::Signal::Term,
        Signal::Kill => sandbox::Signal::Kill,
        Signal::Stop => sandbox::Signal::Stop,
        Signal::Cont => sandbox::Signal::Cont,
    }
}

#[cfg(test)]
mod tests;
