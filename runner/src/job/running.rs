//! The time in which a command runs: its clocks, the signals sent to it, and its end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_domain::{Cause, Signal, TimeoutKind};
use airlock_sandbox::{self as sandbox, Control, Ended};
use tokio::{
    sync::{mpsc, watch},
    task::{JoinError, JoinHandle},
    time::sleep,
};

use super::{disk::DiskWatch, handle::Job};
use crate::spool::{JobSpool, StreamSpool, StreamState};

/// A running command.
pub(super) struct RunningCommand<'a> {
    pub(super) control: &'a Control,
    pub(super) job: &'a Job,
    pub(super) spool: &'a JobSpool,
    pub(super) started: Instant,
    pub(super) disk: Option<&'a Arc<DiskWatch>>,
}

impl RunningCommand<'_> {
    /// Waits for the end. Ends the command when a limit is reached or a cause is set. All processes receive SIGTERM;
    /// after the grace period the kernel ends their pid namespace.
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

    /// Forwards signals until `over`, or until the end. A signal that was sent before `over` is delivered before the
    /// following steps, which keeps the order of signals and the end.
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
        // Bounded by the queue's size, because senders may continue.
        for _ in 0..signals.max_capacity() {
            let Ok(signal) = signals.try_recv() else { break };
            self.control.signal(of_sandbox(signal));
        }
        None
    }

    /// Returns when the wall time is over or, in the background, when the output exceeds its limit.
    async fn reaches_a_limit(&self) -> Cause {
        let timed_out = Cause::TimedOut(TimeoutKind::Wall);
        let timeout = tokio::select! {
            biased;
            timeout = self.job.handle.detached() => timeout,
            () = sleep(self.left(self.job.grant.command.timeout)) => return timed_out,
        };
        let cap = self.job.grant.profile.limits.output_bytes;
        tokio::select! {
            () = sleep(self.left(timeout)) => timed_out,
            () = passes(Some(&*self.spool.stdout), cap) => Cause::OutputLimit,
            () = passes(self.spool.stderr.as_deref(), cap) => Cause::OutputLimit,
        }
    }

    /// Returns once the command has written nothing for its idle timeout. This clock is independent of all others, and
    /// also applies in the background.
    async fn falls_silent(&self) -> Cause {
        let Some(patience) = self.job.grant.command.idle_timeout else { return std::future::pending().await };
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

    /// Returns the remaining duration. An `Instant` too far in the future would panic.
    fn left(&self, timeout: Duration) -> Duration {
        timeout.saturating_sub(self.started.elapsed())
    }
}

/// Returns once the stream is longer than `cap` bytes.
async fn passes(stream: Option<&StreamSpool>, cap: u64) {
    let passed = match stream {
        Some(stream) => stream.watch().wait_for(|state| state.total > cap).await.is_ok(),
        None => false,
    };
    if !passed {
        std::future::pending::<()>().await;
    }
}

/// Returns once no stream has grown for `patience`, counted from `since` at first. Cancel-safe.
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

/// Returns when the stream has grown since the last call. Never returns for a closed stream.
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
mod tests {
    use tokio::time::{Instant, advance};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    const ALMOST: Duration = Duration::from_secs(59);
    const REST: Duration = Duration::from_secs(1);

    fn stream() -> (watch::Sender<StreamState>, Option<watch::Receiver<StreamState>>) {
        let (sender, receiver) = watch::channel(StreamState { total: 0, complete: false });
        (sender, Some(receiver))
    }

    fn grow(stream: &watch::Sender<StreamState>) {
        stream.send_modify(|state| state.total += 1);
    }

    /// Lets all ready tasks run, and reports whether the wait is over.
    async fn is_over(waiting: &JoinHandle<()>) -> bool {
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
        waiting.is_finished()
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_over_after_its_time_and_counts_anew_with_every_byte_of_either_stream() {
        let ((stdout, out), (stderr, err)) = (stream(), stream());
        let waiting = tokio::spawn(silence(PATIENCE, Instant::now(), [out, err]));
        for stream in [&stdout, &stderr, &stdout, &stdout, &stderr] {
            assert!(!is_over(&waiting).await);
            advance(ALMOST).await;
            grow(stream);
            assert!(!is_over(&waiting).await, "a byte of output restarts the timeout");
            advance(ALMOST).await;
            assert!(!is_over(&waiting).await, "and the timeout counts from then on");
            grow(stream);
        }
        assert!(!is_over(&waiting).await);
        advance(ALMOST).await;
        assert!(!is_over(&waiting).await);
        advance(REST).await;
        assert!(is_over(&waiting).await, "control: without a byte, the timeout expires");
    }

    #[tokio::test(start_paused = true)]
    async fn neither_a_stream_that_is_closed_nor_one_that_is_told_of_without_a_byte_breaks_it() {
        let (stdout, out) = stream();
        let waiting = tokio::spawn(silence(PATIENCE, Instant::now(), [out, None]));
        assert!(!is_over(&waiting).await);
        advance(ALMOST).await;
        stdout.send_modify(|state| state.complete = true);
        assert!(!is_over(&waiting).await);
        drop(stdout);
        assert!(!is_over(&waiting).await);
        advance(REST).await;
        assert!(is_over(&waiting).await);
    }

    #[tokio::test(start_paused = true)]
    async fn it_counts_from_the_start_of_the_command() {
        let (_stdout, out) = stream();
        let started = Instant::now();
        advance(ALMOST).await;
        let waiting = tokio::spawn(silence(PATIENCE, started, [out, None]));
        assert!(!is_over(&waiting).await);
        advance(REST).await;
        assert!(is_over(&waiting).await);
    }
}
