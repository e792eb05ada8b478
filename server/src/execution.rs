//! Executions: reads and ends them, and makes every change of their state.
//!
//! Every change goes through [`Core::advance`], a compare-and-set on the version. The first writer wins.
//! Later writers receive the current record.

mod control;
mod report;
mod spec;
mod start;

use std::time::Duration;

use airlock_domain::{
    CancelledBy, Cause, DirectoryReport, ExecutionId, ExecutionResult, ExecutionState, Started, ToRunner,
};

use crate::{
    api::{ApiError, FieldViolation},
    engine::Core,
    links::Link,
    model::{ExecutionRecord, Principal},
    store::{Cas, ExecutionQuery, Page, PageQuery, StoreError, Transition},
};

/// The interval at which a wait reads the store without a notification.
const POLL: Duration = Duration::from_secs(1);
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

impl Core {
    pub(crate) async fn execution(
        &self,
        who: &Principal,
        id: ExecutionId,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.store().execution(id).await?;
        record.filter(|record| record.tenant == who.tenant).ok_or_else(|| no_such_execution(id))
    }

    pub(crate) async fn running_execution(
        &self,
        who: &Principal,
        id: ExecutionId,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.execution(who, id).await?;
        if record.state == ExecutionState::Running { Ok(record) } else { Err(not_running(&record)) }
    }

    /// Waits until an execution runs, and returns it. The execution can wait for its turn, for a person or
    /// for its runner. Dropping the future cancels the wait.
    pub(crate) async fn started_execution(
        &self,
        who: &Principal,
        id: ExecutionId,
    ) -> Result<ExecutionRecord, ApiError> {
        let begun = |state| matches!(state, ExecutionState::Running | ExecutionState::Finished);
        let record = self.wait_until(who, id, None, begun).await?;
        if record.state == ExecutionState::Running { Ok(record) } else { Err(not_running(&record)) }
    }

    pub(crate) async fn list_executions(
        &self,
        who: &Principal,
        mut query: ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, ApiError> {
        query.tenant = Some(who.tenant.clone());
        Ok(self.store().executions(&query, page).await?)
    }

    pub(crate) async fn wait(
        &self,
        who: &Principal,
        id: ExecutionId,
        timeout: Duration,
    ) -> Result<ExecutionRecord, ApiError> {
        let deadline = tokio::time::Instant::now() + timeout;
        self.wait_until(who, id, Some(deadline), |state| state == ExecutionState::Finished).await
    }

    /// Waits until the execution is in a wanted state, the deadline has passed, or the server shuts down.
    /// Returns the current record.
    async fn wait_until(
        &self,
        who: &Principal,
        id: ExecutionId,
        deadline: Option<tokio::time::Instant>,
        is_wanted: impl Fn(ExecutionState) -> bool,
    ) -> Result<ExecutionRecord, ApiError> {
        let mut watch = self.parts.changes.watch(id);
        loop {
            let record = self.execution(who, id).await?;
            let now = tokio::time::Instant::now();
            if is_wanted(record.state) || deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(record);
            }
            let pause = deadline.map_or(POLL, |deadline| POLL.min(deadline - now));
            tokio::select! {
                () = watch.changed() => {}
                () = tokio::time::sleep(pause) => {}
                () = self.stop.cancelled() => return Ok(record),
            }
        }
    }

    pub(crate) async fn cancel(
        &self,
        who: &Principal,
        id: ExecutionId,
        by: CancelledBy,
    ) -> Result<ExecutionRecord, ApiError> {
        self.execution(who, id).await?;
        self.cancel_as(id, by).await?.ok_or_else(|| no_such_execution(id))
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
            self.note_cancel(id, by);
            self.send_end(&record).await;
        }
        Ok(Some(record))
    }

    /// Tells the runner of an execution to end it. If the runner cannot be reached, it is told on its next
    /// link.
    pub(crate) async fn send_end(&self, record: &ExecutionRecord) {
        let by = self.cancelled_by(record.id).unwrap_or(CancelledBy::Client);
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
            let _ = self.parts.fleet.tell(runner, message).await;
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

    /// Makes the transition that `step` returns for the current record. Retries after a lost race until
    /// `step` returns `None`.
    pub(crate) async fn advance(
        &self,
        id: ExecutionId,
        step: impl Fn(&ExecutionRecord) -> Option<Transition>,
    ) -> Result<Advanced, StoreError> {
        match self.store().execution(id).await? {
            Some(record) => self.advance_from(record, step).await,
            None => Ok(Advanced::Missing),
        }
    }

    /// As [`Core::advance`], with a record that the caller has just read. Fields that change without a new
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
            match self.store().transition(record.id, record.version, &transition).await? {
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
            self.wake.wake(after.session_id);
        }
        if before.backgrounded != after.backgrounded {
            self.parts.changes.notify_tenant(&after.tenant);
        }
        self.parts.changes.notify(after.id);
    }

    fn changed_state(&self, before: &ExecutionRecord, after: &ExecutionRecord) {
        let observer = &self.parts.observer;
        if PLACED.contains(&before.state) && !PLACED.contains(&after.state) {
            if let (ExecutionState::Finished, Some(runner)) = (after.state, &before.runner_id) {
                self.seats.has_room(runner);
            }
            self.free_slot(before);
        }
        match after.state {
            ExecutionState::Starting => {
                observer.placed(self.since(after.queued));
                self.left_queue(after.id);
            }
            ExecutionState::Running => {
                self.placed_for_good(after.id);
                self.parts.changes.notify_tenant(&after.tenant);
            }
            // After a refusal, the caller decides when to look at the queue again. The reconcile loop also
            // does it.
            ExecutionState::Queued if before.state == ExecutionState::Starting => {}
            ExecutionState::Queued => self.wake.wake(after.session_id),
            ExecutionState::PendingApproval => {
                self.left_queue(after.id);
                self.placed_for_good(after.id);
            }
            ExecutionState::Finished => {
                self.forget(after.id);
                self.parts.changes.notify_tenant(&after.tenant);
                if let Some(result) = &after.result {
                    observer.finished(&result.cause, result.run_time);
                }
                self.wake.wake(after.session_id);
            }
        }
    }

    /// Releases the slot of an execution and notifies executions that wait for a slot.
    pub(crate) fn free_slot(&self, record: &ExecutionRecord) {
        let Some(runner) = &record.runner_id else { return };
        match self.parts.links.get(runner) {
            Some(link) => self.free_slot_on(&link, record),
            None => self.seats.release(runner, record.id),
        }
    }

    pub(crate) fn free_slot_on(&self, link: &Link, record: &ExecutionRecord) {
        self.seats.release(&link.hello.runner_id, record.id);
        link.forget(record.id, record.attempt);
        self.wake_waiting(link);
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

pub(crate) fn no_such_execution(id: ExecutionId) -> ApiError {
    ApiError::NotFound { what: "execution", id: id.to_string() }
}

/// Returns the error for an execution that has not started or has ended.
pub(crate) fn not_running(record: &ExecutionRecord) -> ApiError {
    let state = match record.state {
        ExecutionState::PendingApproval => "it waits for an approval",
        ExecutionState::Queued => "it waits in the queue",
        ExecutionState::Starting => "it is starting",
        ExecutionState::Running => "it is running",
        ExecutionState::Finished => "it has ended",
    };
    let how = record.result.as_ref().map(|result| format!(" ({})", result.cause.name()));
    ApiError::FailedPrecondition {
        reason: "NOT_RUNNING",
        message: format!("execution `{}` is not running: {state}{}", record.id, how.unwrap_or_default()),
    }
}

/// Returns the error for a limit that is currently reached.
pub(crate) fn exhausted(limit: &'static str, value: u64) -> ApiError {
    ApiError::Exhausted { limit, value, retry_after: Duration::from_secs(1) }
}

/// Returns the error for a limit per second or per day.
pub(crate) fn exhausted_for(limit: &'static str, value: u64, wait_micros: i64) -> ApiError {
    ApiError::Exhausted { limit, value, retry_after: Duration::from_micros(wait_micros.unsigned_abs()) }
}

/// Returns a violation for one field.
pub(crate) fn violation(field: &str, description: String) -> FieldViolation {
    FieldViolation { field: field.to_owned(), description }
}
