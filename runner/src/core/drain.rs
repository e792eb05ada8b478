//! Draining: no new work, either until a server undoes it, or permanently because the process is to end.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_domain::{CancelledBy, Cause, FromRunner};

use super::Core;
use crate::journal::Phase;

/// The reasons why the runner refuses new work.
#[derive(Debug, Default)]
pub(super) struct Draining {
    /// The process is to end.
    stopping: AtomicBool,
    /// A server asked for it.
    asked: AtomicBool,
    /// A local process asked for it.
    by_hand: AtomicBool,
    /// Held from a change until servers are told, so that the last report matches the last change.
    telling: Mutex<()>,
    /// The number of commands that were ended by the drain.
    cut: AtomicUsize,
}

impl Draining {
    /// Counts the command if the drain ended it.
    pub(super) fn count_end(&self, cause: &Cause) {
        let is_cut = *cause == Cause::Cancelled(CancelledBy::Drain);
        self.cut.fetch_add(usize::from(is_cut), Ordering::Relaxed);
    }

    /// Reports whether new work is refused.
    pub(super) fn is_on(&self) -> bool {
        [&self.stopping, &self.asked, &self.by_hand].iter().any(|why| why.load(Ordering::Acquire))
    }
}

impl Core {
    /// Stops or resumes accepting new work on request of a server. Running commands continue. A runner that is to end
    /// does not resume.
    pub(super) fn drain_for_server(&self, undo: bool) {
        tracing::info!(undo, "drain requested by a server");
        self.set_draining(&self.draining.asked, !undo);
    }

    /// Stops accepting new work. Running commands continue. No server can undo it.
    pub(crate) fn drain_for_host(&self) {
        tracing::info!("drain requested on this host");
        self.set_draining(&self.draining.by_hand, true);
        self.let_offers_in();
    }

    /// Returns the number of commands that have started and not ended.
    pub(crate) fn running(&self) -> usize {
        self.live().len()
    }

    /// Waits until every offer that was admitted before a change of draining is in the table of live jobs.
    fn let_offers_in(&self) {
        drop(self.journal());
    }

    fn set_draining(&self, why: &AtomicBool, on: bool) {
        let _telling = self.draining.telling.lock().unwrap_or_else(PoisonError::into_inner);
        why.store(on, Ordering::Release);
        self.reports.send(&FromRunner::Draining { over: !self.draining.is_on() });
    }

    /// Refuses new work, lets running commands continue for `drain.grace`, ends the others, and gives servers
    /// `drain.handover` to fetch the output. Returns the number of jobs that were ended early.
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

    /// Waits for all remaining tasks.
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
    // After the timeout, continue regardless.
    let _ = tokio::time::timeout(at_most, wait).await;
}
