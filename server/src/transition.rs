//! The steps of executions: every change of an execution's state is made here.
//!
//! A step is a compare-and-set on the version. The first writer wins. Later writers receive the current record.

use std::sync::Arc;

use airlock_domain::{
    CancelledBy, Cause, DirectoryReport, ExecutionId, ExecutionResult, ExecutionState, LinkState,
    OutputState, SessionId, Started, ToRunner,
};

use crate::{
    changes::Changes,
    control::{Clock, Hints, Observer, RunnerSlots, TransientState},
    fleet::Fleet,
    limits::EXECUTIONS_PER_SESSION_MOST,
    links::{Link, Links},
    model::{ExecutionRecord, LiveExecution},
    store::{Cas, Store, StoreError, Transition},
};

/// The maximum number of attempts of one step after lost races with other writers.
const TRIES: u32 = 100;
/// The states of an execution that is on a runner.
pub(crate) const PLACED: [ExecutionState; 2] = [ExecutionState::Starting, ExecutionState::Running];

/// The outcome of a step.
pub(crate) enum Advanced {
    /// The step was made. Contains the new record.
    Taken(ExecutionRecord),
    /// The step was no longer applicable. Contains the current record.
    Left(ExecutionRecord),
    /// The execution does not exist.
    Missing,
}

/// Makes the steps of executions, and tells those who wait for them.
pub(crate) struct Transitions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) changes: Changes,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) slots: Arc<RunnerSlots>,
    pub(crate) hints: Arc<Hints>,
    pub(crate) transient: Arc<TransientState>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) observer: Arc<dyn Observer>,
}

impl Transitions {
    /// Returns the unfinished executions of a session, oldest first.
    pub(crate) async fn live_of_session(&self, id: SessionId) -> Result<Vec<LiveExecution>, StoreError> {
        self.store.live_executions(Some(id), None, EXECUTIONS_PER_SESSION_MOST).await
    }

    /// Makes the transition that `step` returns for the current record. Retries after a lost race until
    /// `step` returns `None`.
    pub(crate) async fn advance(
        &self,
        id: ExecutionId,
        step: impl Fn(&ExecutionRecord) -> Option<Transition>,
    ) -> Result<Advanced, StoreError> {
        match self.store.execution(id).await? {
            Some(record) => self.advance_from(record, step).await,
            None => Ok(Advanced::Missing),
        }
    }

    /// As [`Transitions::advance`], with a record that the caller has just read. Fields that change without a new
    /// version can be out of date in it.
    pub(crate) async fn advance_from(
        &self,
        mut record: ExecutionRecord,
        step: impl Fn(&ExecutionRecord) -> Option<Transition>,
    ) -> Result<Advanced, StoreError> {
        for _ in 0..TRIES {
            let Some(transition) = step(&record) else {
                return Ok(Advanced::Left(record));
            };
            match self.store.transition(record.id, record.version, &transition).await? {
                Cas::Done(after) => {
                    self.took_step(&record, &after);
                    return Ok(Advanced::Taken(after));
                }
                Cas::Stale(now) => record = now,
                Cas::Missing => return Ok(Advanced::Missing),
            }
        }
        Err(StoreError::Unavailable("too many concurrent changes of one execution".to_owned()))
    }

    /// Makes the follow-up notifications of a step.
    pub(crate) fn took_step(&self, before: &ExecutionRecord, after: &ExecutionRecord) {
        if before.state != after.state {
            self.changed_state(before, after);
        }
        if before.is_serial() && !after.is_serial() {
            // It no longer blocks later commands of its session.
            self.hints.sessions.insert(after.session_id);
        }
        if before.backgrounded != after.backgrounded {
            self.changes.notify_tenant(&after.tenant);
        }
        self.changes.notify(after.id);
    }

    fn changed_state(&self, before: &ExecutionRecord, after: &ExecutionRecord) {
        let observer = &self.observer;
        if PLACED.contains(&before.state) && !PLACED.contains(&after.state) {
            if let (ExecutionState::Finished, Some(runner)) = (after.state, &before.runner_id) {
                self.slots.has_room(runner);
            }
            self.free_slot(before);
        }
        match after.state {
            ExecutionState::Starting => {
                observer.placed(self.clock.since(after.queued));
                self.transient.left_queue(after.id);
            }
            ExecutionState::Running => {
                self.transient.placed_for_good(after.id);
                self.changes.notify_tenant(&after.tenant);
            }
            // After a refusal, the caller decides when to look at the queue again. The reconcile loop also
            // does it.
            ExecutionState::Queued if before.state == ExecutionState::Starting => {}
            ExecutionState::Queued => self.hints.sessions.insert(after.session_id),
            ExecutionState::PendingApproval => {
                self.transient.left_queue(after.id);
                self.transient.placed_for_good(after.id);
            }
            ExecutionState::Finished => {
                self.transient.forget(after.id);
                self.changes.notify_tenant(&after.tenant);
                if let Some(result) = &after.result {
                    observer.finished(&result.cause, result.run_time);
                }
                self.hints.sessions.insert(after.session_id);
            }
        }
    }

    /// Ends an execution that has not ended yet.
    pub(crate) async fn finish(
        &self,
        id: ExecutionId,
        result: ExecutionResult,
    ) -> Result<Advanced, StoreError> {
        self.advance(id, |record| {
            (record.state != ExecutionState::Finished).then(|| finish_with(result.clone()))
        })
        .await
    }

    /// Requests the end of an execution. If it is not on a runner, it ends at once. Otherwise its runner ends
    /// it.
    pub(crate) async fn cancel_as(
        &self,
        id: ExecutionId,
        by: CancelledBy,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        let cause = Cause::Cancelled(by);
        let advanced = self
            .advance(id, |record| match record.state {
                _ if is_let_go(record, by) => None,
                ExecutionState::PendingApproval | ExecutionState::Queued => {
                    Some(finish_with(ExecutionResult::not_started(cause.clone())))
                }
                ExecutionState::Starting | ExecutionState::Running if !record.cancel_requested => {
                    Some(Transition { cancel_requested: Some(true), ..Transition::default() })
                }
                ExecutionState::Starting | ExecutionState::Running | ExecutionState::Finished => None,
            })
            .await?;
        let record = match advanced {
            Advanced::Taken(record) | Advanced::Left(record) => record,
            Advanced::Missing => return Ok(None),
        };
        if PLACED.contains(&record.state) && !is_let_go(&record, by) {
            self.transient.note_cancel(id, by);
            self.send_end(&record).await;
        }
        Ok(Some(record))
    }

    /// Tells the runner of an execution to end it. If the runner cannot be reached, it is told on its next
    /// link.
    pub(crate) async fn send_end(&self, record: &ExecutionRecord) {
        let by = self.transient.cancelled_by(record.id).unwrap_or(CancelledBy::Client);
        self.send_to_runner_of(
            record,
            ToRunner::EndJob { execution_id: record.id, cause: Cause::Cancelled(by) },
        )
        .await;
    }

    /// Sends a message if this server or another one has a link to the runner. Such messages are repeated on
    /// a new link.
    pub(crate) async fn send_to_runner_of(&self, record: &ExecutionRecord, message: ToRunner) {
        if let Some(runner) = &record.runner_id {
            // If this fails, the link has ended, and the message is repeated on the next one.
            let _ = self.fleet.tell(runner, message).await;
        }
    }

    /// Releases the slot of an execution and notifies executions that wait for a slot.
    pub(crate) fn free_slot(&self, record: &ExecutionRecord) {
        let Some(runner) = &record.runner_id else { return };
        match self.links.get(runner) {
            Some(link) => self.free_slot_on(&link, record),
            None => self.slots.release(runner, record.id),
        }
    }

    pub(crate) fn free_slot_on(&self, link: &Link, record: &ExecutionRecord) {
        self.slots.release(&link.hello.runner_id, record.id);
        link.forget(record.id, record.attempt);
        self.hints.notify_waiting(&self.slots, &link.hello.runner_id, link.hello.slots);
    }

    /// Records whether the runner of an execution can be reached. `seen` is the last known state and link.
    pub(crate) async fn set_link(
        &self,
        id: ExecutionId,
        seen: (ExecutionState, Option<LinkState>),
        link: LinkState,
    ) -> Result<(), StoreError> {
        let is_news = |state, known| PLACED.contains(&state) && known != Some(link);
        if is_news(seen.0, seen.1) {
            self.advance(id, |now| {
                let step = Transition { link: Some(Some(link)), ..Transition::default() };
                is_news(now.state, now.link).then_some(step)
            })
            .await?;
        }
        Ok(())
    }

    /// Marks an execution as lost. The output is set to `LIVE`, because the runner can return with it, even if it
    /// is unknown whether the command began.
    pub(crate) async fn lose(
        &self,
        id: ExecutionId,
        attempt: u32,
        started: Started,
    ) -> Result<Advanced, StoreError> {
        self.advance(id, |now| {
            let is_same = PLACED.contains(&now.state) && now.attempt == attempt;
            is_same
                .then(|| Transition { output: Some(OutputState::Live), ..finish_with(lost_result(started)) })
        })
        .await
    }
}

/// Reports whether the execution was moved to the background, so that the end of the stream that started it
/// does not end it.
fn is_let_go(record: &ExecutionRecord, by: CancelledBy) -> bool {
    by == CancelledBy::Disconnect && record.backgrounded.is_some()
}

/// Returns the transition that ends an execution with this result.
pub(crate) fn finish_with(result: ExecutionResult) -> Transition {
    Transition { state: Some(ExecutionState::Finished), result: Some(result), ..Transition::default() }
}

/// Returns the result of an execution that was lost with its runner.
pub(crate) fn lost_result(started: Started) -> ExecutionResult {
    ExecutionResult {
        started,
        directory_report: DirectoryReport::Unchanged,
        ..ExecutionResult::not_started(Cause::RunnerLost)
    }
}
