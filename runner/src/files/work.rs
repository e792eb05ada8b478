//! Blocking work on a session's files. It runs on separate threads with a bounded number. It ends if no caller waits
//! for it, if its session closes, or if the runner stops.

use std::{sync::Arc, time::Duration};

use airlock_archive::Cancel;
use airlock_domain::ExchangeFailed;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::baseline::BaselineLimits;
use super::failure::{internal, session_closed, shutting_down, unavailable};
use super::transfers::Transfers;
use crate::session::OpenSession;

/// The maximum number of listings at once, over all sessions. Each is short.
const LISTS_AT_ONCE: usize = 8;
/// The maximum number of comparisons at once, over all sessions. They may read whole workspaces.
const DIFFS_AT_ONCE: usize = 4;
/// The time for which short work waits for its turn.
const TURN_WAIT: Duration = Duration::from_secs(30);

/// Tracks all work, and stops it.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
    lists: Semaphore,
    diffs: Semaphore,
}

/// The kinds of short work.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turn {
    List,
    Diff,
}

/// Marks work as active while it exists.
#[derive(Debug)]
pub(super) struct Registered {
    _session: TaskTrackerToken,
    _runner: TaskTrackerToken,
}

impl Work {
    pub(super) fn new() -> Self {
        Self {
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            lists: Semaphore::new(LISTS_AT_ONCE),
            diffs: Semaphore::new(DIFFS_AT_ONCE),
        }
    }

    /// Registers work.
    ///
    /// # Errors
    /// If the session or the runner accepts no more work.
    pub(super) fn register(&self, session: &OpenSession) -> Result<Registered, ExchangeFailed> {
        let runner = self.tasks.token();
        if self.stop.is_cancelled() {
            return Err(shutting_down());
        }
        let session = session.file_work().ok_or_else(session_closed)?;
        Ok(Registered { _session: session, _runner: runner })
    }

    /// Runs short work when it is its turn. If the future is dropped, the work ends soon after.
    ///
    /// # Errors
    /// The error of the work, or the reason why it was ended.
    pub(super) async fn in_turn<T: Send + 'static>(
        &self,
        turn: Turn,
        session: &Arc<OpenSession>,
        work: impl FnOnce(&OpenSession, &Cancel) -> Result<T, ExchangeFailed> + Send + 'static,
    ) -> Result<T, ExchangeFailed> {
        let turns = match turn {
            Turn::List => &self.lists,
            Turn::Diff => &self.diffs,
        };
        // The session's own turn is taken first, so that waiting for it does not occupy a turn of other sessions.
        let both = async { (session.file_turns().acquire().await, turns.acquire().await) };
        let _turn = tokio::select! {
            turn = timeout(TURN_WAIT, both) => turn.map_err(|_| {
                unavailable("BUSY", "the session or the runner is busy with other file operations; try again")
            })?,
            () = self.stop.cancelled() => return Err(shutting_down()),
            () = session.closing().cancelled() => return Err(session_closed()),
        };
        let cancel = Cancel::new();
        let guard = CancelOnDrop(cancel.clone());
        let shared = Arc::clone(session);
        let result = self.run(session, &cancel.clone(), move || work(&shared, &cancel)).await;
        drop(guard);
        result
    }

    /// Runs work that `cancel` ends. If the future is dropped, the work continues.
    ///
    /// # Errors
    /// The error of the work, or the reason why it was ended.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        session: &OpenSession,
        cancel: &Cancel,
        work: impl FnOnce() -> Result<T, ExchangeFailed> + Send + 'static,
    ) -> Result<T, ExchangeFailed> {
        let registered = self.register(session)?;
        let mut thread = spawn_blocking(move || {
            let result = work();
            drop(registered);
            result
        });
        let early = tokio::select! {
            done = &mut thread => return done.unwrap_or_else(|error| Err(internal("file work", &error))),
            () = self.stop.cancelled() => shutting_down(),
            () = session.closing().cancelled() => session_closed(),
        };
        cancel.cancel();
        match thread.await {
            Ok(Ok(done)) => Ok(done),
            _ => Err(early),
        }
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The parts that all file work shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) work: Work,
    pub(super) transfers: Transfers,
    pub(super) baseline: BaselineLimits,
}
