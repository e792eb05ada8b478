//! No new work: for as long as a server wants it so, or for good because the process is to end.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_proto::domain::{CancelledBy, Cause, FromRunner};

use super::Core;
use crate::journal::Phase;

/// Why there is no new work.
#[derive(Debug, Default)]
pub(super) struct Draining {
    /// The process is to end.
    stopping: AtomicBool,
    /// A server asked for it.
    asked: AtomicBool,
    /// Somebody on this host did.
    by_hand: AtomicBool,
    /// Held from a change until servers are told of it, so that the last word is the last change.
    telling: Mutex<()>,
    /// Commands that the end of the drain has ended.
    cut: AtomicUsize,
}

impl Draining {
    /// Counts a command that the end of the drain has ended.
    pub(super) fn count_end(&self, cause: &Cause) {
        let is_cut = *cause == Cause::Cancelled(CancelledBy::Drain);
        self.cut.fetch_add(usize::from(is_cut), Ordering::Relaxed);
    }

    /// Whether new work is refused.
    pub(super) fn is_on(&self) -> bool {
        [&self.stopping, &self.asked, &self.by_hand].iter().any(|why| why.load(Ordering::Acquire))
    }
}

impl Core {
    /// Takes no new work until a server says otherwise, or takes it again. What runs goes on. A runner
    /// that is to end does not take any again.
    pub(super) fn drain_for_server(&self, undo: bool) {
        tracing::info!(undo, "a server wants this runner to drain");
        self.set_draining(&self.draining.asked, !undo);
    }

    /// Takes no new work from now on. What runs goes on. No server can undo it.
    pub(crate) fn drain_for_host(&self) {
        tracing::info!("this host wants the runner to drain");
        self.set_draining(&self.draining.by_hand, true);
        self.let_offers_in();
    }

    /// Commands that have begun and not ended.
    pub(crate) fn running(&self) -> usize {
        self.live().len()
    }

    /// An offer that came before a change of draining is in the table once the journal is free.
    fn let_offers_in(&self) {
        drop(self.journal());
    }

    fn set_draining(&self, why: &AtomicBool, on: bool) {
        let _telling = self.draining.telling.lock().unwrap_or_else(PoisonError::into_inner);
        why.store(on, Ordering::Release);
        self.reports.send(&FromRunner::Draining { over: !self.draining.is_on() });
    }

    /// Takes no new work, lets what runs go on for `drain.grace`, ends the rest, and gives servers
    /// `drain.handover` to fetch its output. Returns how many jobs were cut.
    pub(crate) async fn drain(&self) -> usize {
        self.set_draining(&self.draining.stopping, true);
        self.let_offers_in();
        wait_for(self.config.drain.grace, || self.running() == 0).await;
        self.end_all(&Cause::Cancelled(CancelledBy::Drain));
        self.sessions.cancel_openings();
        self.tasks.close();
        self.tasks.wait().await;
        let unclaimed = || {
            let journal = self.journal();
            journal.jobs().all(|(_, job)| matches!(job.phase, Phase::Refused(_)))
        };
        if self.clock.is_linked() {
            wait_for(self.config.drain.handover, || unclaimed() || !self.clock.is_linked()).await;
            wait_for(self.config.drain.handover, || self.reports.all_sent()).await;
        }
        self.draining.cut.load(Ordering::Relaxed)
    }

    /// Waits for what servers asked for at the very last.
    pub(crate) async fn settle(&self) {
        self.tasks.wait().await;
    }
}

async fn wait_for(at_most: Duration, done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // Past the bound it goes on without.
    let _ = tokio::time::timeout(at_most, wait).await;
}
