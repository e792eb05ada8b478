//! The steps of executions: the loop around the state machine of `airlock_lifecycle`. Every change of an execution's
//! state is written here or by the store.
//!
//! A step is a compare-and-set on the version. The first writer wins. Later writers receive the current record, and ask
//! the state machine again.

use std::sync::Arc;

use airlock_domain::{CancelledBy, Cause, ExecutionId, LinkState, SessionId, ToRunner};
use airlock_lifecycle::{
    Effect, Effects, Event, JobEffect, Lease, Outcome, OwnerEvent, change_owner, decide, effects, entered,
    is_placed,
};
use airlock_store::{
    Cas, Store, StoreError,
    changes::Changes,
    record::{ExecutionRecord, LiveExecution},
};

use crate::{
    fleet::Fleet,
    limits::{EXECUTIONS_PER_SESSION_MOST, ServiceLimits},
    links::{Link, Links},
    shared::{Clock, Hints, Observer, RunnerSlots, TransientState, micros},
};

/// The maximum number of attempts of one step after lost races with other writers.
const TRIES: u32 = 100;

/// An execution after an event.
pub(crate) struct Advanced {
    /// The current record.
    pub(crate) record: ExecutionRecord,
    /// Whether the event changed it.
    pub(crate) is_changed: bool,
    /// The effects on the job at the runner, which the caller performs.
    pub(crate) job: Vec<JobEffect>,
}

/// Makes the steps of executions, and notifies the tasks that wait for them.
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

    /// Takes the step that follows from an event, and performs its effects on this server. Asks the state machine again
    /// after a lost race. Returns `None` if the execution does not exist.
    pub(crate) async fn advance(
        &self,
        id: ExecutionId,
        event: &Event,
    ) -> Result<Option<Advanced>, StoreError> {
        match self.store.execution(id).await? {
            Some(record) => Box::pin(self.advance_from(record, event)).await,
            None => Ok(None),
        }
    }

    /// Like [`Transitions::advance`], with a record that the caller has just read. Fields that change without a new
    /// version can be out of date in it.
    pub(crate) async fn advance_from(
        &self,
        mut record: ExecutionRecord,
        event: &Event,
    ) -> Result<Option<Advanced>, StoreError> {
        for _ in 0..TRIES {
            let Some(transition) = decide(&record, event) else {
                let effects = effects(event, &Outcome::Left(&record));
                return Ok(Some(self.follow(record, false, effects).await));
            };
            match self.store.transition(record.id, record.version, &transition).await? {
                Cas::Done(after) => {
                    let effects = effects(event, &Outcome::Written { before: &record, after: &after });
                    return Ok(Some(self.follow(after, true, effects).await));
                }
                Cas::Stale(now) if event.is_single() => {
                    let effects = effects(event, &Outcome::Raced(&now));
                    return Ok(Some(self.follow(now, false, effects).await));
                }
                Cas::Stale(now) => record = now,
                Cas::Missing => return Ok(None),
            }
        }
        Err(StoreError::Unavailable("too many concurrent changes of one execution".to_owned()))
    }

    /// Performs the effects on this server.
    async fn follow(&self, record: ExecutionRecord, is_changed: bool, effects: Effects) -> Advanced {
        for effect in effects.server {
            self.perform(&record, effect).await;
        }
        Advanced { record, is_changed, job: effects.job }
    }

    /// Performs the effects of the creation of an execution.
    pub(crate) async fn entered(&self, record: &ExecutionRecord) {
        for effect in entered(record) {
            self.perform(record, effect).await;
        }
    }

    async fn perform(&self, record: &ExecutionRecord, effect: Effect) {
        let id = record.id;
        match effect {
            Effect::Notify => self.changes.notify(id),
            Effect::NotifyTenant => self.changes.notify_tenant(&record.tenant),
            Effect::LookAtSession => self.hints.sessions.insert(record.session_id),
            Effect::Reconcile => self.hints.reconcile_now(),
            Effect::RunnerHasRoom => {
                if let Some(runner) = &record.runner_id {
                    self.slots.has_room(runner);
                }
            }
            Effect::FreeSlot => self.free_slot(record),
            Effect::EnterQueue => self.transient.open_queue_span(id, tracing::info_span!("queue")),
            Effect::LeaveQueue => self.transient.left_queue(id),
            Effect::ForgetTurn => self.transient.placed_for_good(id),
            Effect::Forget => self.transient.forget(id),
            Effect::NoteCancel(by) => self.transient.note_cancel(id, by),
            Effect::SendEnd => self.send_end(record).await,
            Effect::MeasureQueue => self.observer.placed(self.clock.since(record.queued)),
            Effect::MeasureResult => {
                if let Some(result) = &record.result {
                    self.observer.finished(&result.cause, result.run_time);
                }
            }
        }
    }

    /// Changes the owner of an execution if the event requires it. Returns whether the change was attempted. There is a
    /// single attempt by version: if another step came first, the next reconciliation tries again.
    pub(crate) async fn change_owner(
        &self,
        record: &LiveExecution,
        event: &OwnerEvent,
    ) -> Result<bool, StoreError> {
        let Some(transition) = change_owner(record, event) else { return Ok(false) };
        self.store.transition(record.id, record.version, &transition).await?;
        Ok(true)
    }

    /// Requests the end of an execution. If it is not on a runner, it ends at once. Otherwise its runner ends
    /// it.
    pub(crate) async fn cancel_as(
        &self,
        id: ExecutionId,
        by: CancelledBy,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        let advanced = self.advance(id, &Event::CancelRequested { by }).await?;
        Ok(advanced.map(|advanced| advanced.record))
    }

    /// Returns the origin of a cancel request, as far as this server knows it.
    pub(crate) fn cancelled_by(&self, id: ExecutionId) -> CancelledBy {
        self.transient.cancelled_by(id).unwrap_or(CancelledBy::Client)
    }

    /// Tells the runner of an execution to end it. If the runner cannot be reached, it is informed on its next link.
    pub(crate) async fn send_end(&self, record: &ExecutionRecord) {
        let by = self.cancelled_by(record.id);
        self.send_to_runner_of(
            record,
            ToRunner::EndJob { execution_id: record.id, cause: Cause::Cancelled(by) },
        )
        .await;
    }

    /// Sends a message if this server or another one has a link to the runner. Such messages are repeated on
    /// a new link.
    async fn send_to_runner_of(&self, record: &ExecutionRecord, message: ToRunner) {
        if let Some(runner) = &record.runner_id {
            // If this fails, the link has ended, and the message is repeated on the next one.
            let _ = self.fleet.tell(runner, message).await;
        }
    }

    /// Releases the slot of an execution and notifies executions that wait for a slot.
    fn free_slot(&self, record: &ExecutionRecord) {
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

    /// Records whether the runner of an execution can be reached. `seen` is its last known state.
    pub(crate) async fn set_link(&self, seen: &LiveExecution, link: LinkState) -> Result<(), StoreError> {
        if is_placed(seen.state) && seen.link != Some(link) {
            self.advance(seen.id, &Event::LinkSeen(link)).await?;
        }
        Ok(())
    }
}

/// Returns a new lease of a server.
pub(crate) fn lease_of(server: &str, limits: &ServiceLimits) -> Lease {
    Lease { server: server.to_owned(), micros: micros(limits.lease) }
}
