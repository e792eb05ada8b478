//! Draining: no new work, either until a server undoes it, or permanently because the process is to end.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use airlock_domain::{CancelledBy, Cause, FromRunner};

use crate::reports::Reports;

/// The reasons why the runner refuses new work.
#[derive(Debug)]
pub(crate) struct Draining {
    reports: Arc<Reports>,
    /// The process is to end.
    stopping: AtomicBool,
    /// A server asked for it.
    by_server: AtomicBool,
    /// A local process asked for it.
    by_host: AtomicBool,
    /// Held from a change until the servers have received it, so that the last report matches the last change.
    telling: Mutex<()>,
    /// The number of commands that were ended by the drain.
    cut: AtomicUsize,
}

impl Draining {
    pub(super) fn new(reports: Arc<Reports>) -> Self {
        Self {
            reports,
            stopping: AtomicBool::default(),
            by_server: AtomicBool::default(),
            by_host: AtomicBool::default(),
            telling: Mutex::default(),
            cut: AtomicUsize::default(),
        }
    }

    /// Reports whether new work is refused.
    pub(crate) fn is_on(&self) -> bool {
        [&self.stopping, &self.by_server, &self.by_host].iter().any(|why| why.load(Ordering::Acquire))
    }

    /// Stops or resumes accepting new work on request of a server. Running commands continue. A runner that is to end
    /// does not resume.
    pub(crate) fn set_by_server(&self, on: bool) {
        tracing::info!(undo = !on, "drain requested by a server");
        self.set(&self.by_server, on);
    }

    /// Stops accepting new work. Running commands continue. No server can undo it.
    pub(crate) fn begin_by_host(&self) {
        tracing::info!("drain requested on this host");
        self.set(&self.by_host, true);
    }

    /// Stops accepting new work, because the process is to end.
    pub(crate) fn begin_stop(&self) {
        self.set(&self.stopping, true);
    }

    /// Counts the command if the drain ended it.
    pub(super) fn count_end(&self, cause: &Cause) {
        let is_cut = *cause == Cause::Cancelled(CancelledBy::Drain);
        self.cut.fetch_add(usize::from(is_cut), Ordering::Relaxed);
    }

    /// Returns the number of commands that the drain ended.
    pub(crate) fn cut(&self) -> usize {
        self.cut.load(Ordering::Relaxed)
    }

    fn set(&self, why: &AtomicBool, on: bool) {
        let _telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        why.store(on, Ordering::Release);
        self.reports.send(&FromRunner::Draining { over: !self.is_on() });
    }
}
