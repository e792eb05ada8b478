//! The sending of an offer, and the handling of offers that were not answered.

use std::sync::Arc;

use airlock_domain::{CancelledBy, Cause, ExecutionResult, ExecutionState, StartJob, Started, ToRunner};
use tracing::Instrument as _;

use super::Placement;
use crate::{
    decision::Offer,
    links::{JobOnLink, Link, vouches_for},
    model::{ExecutionRecord, LiveExecution},
    store::{StoreError, Transition},
    transition::{Advanced, PLACED, finish_with},
};

impl Placement {
    /// Creates the span of a placement in the trace of the request.
    pub(super) fn place_span(&self, record: &ExecutionRecord) -> tracing::Span {
        let span = tracing::info_span!("place", execution_id = %record.id);
        (self.trace.adopt)(&span, &record.traceparent);
        span
    }

    /// Sends the stored offer. If it does not arrive, the next link detects this.
    ///
    /// `not_after` was read from the runner's clock before the last check of the ownership. If this server is
    /// delayed in between, the offer is void at the time at which another server may withdraw it.
    pub(super) async fn send_start(
        &self,
        link: &Arc<Link>,
        (record, not_after): (&ExecutionRecord, u64),
        offer: Offer,
    ) {
        let limits = &self.limits;
        let (grant, binding) = offer.into_parts();
        let here = (self.trace.current)();
        let job = StartJob {
            execution_id: record.id,
            attempt: record.attempt,
            epoch: link.hello.epoch,
            not_after_clock_ms: not_after,
            grant,
            binding,
            // If no spans are recorded, the caller's context is passed on unchanged.
            traceparent: if here.is_empty() { record.traceparent.clone() } else { here },
        };
        link.set_sent(record.id, record.attempt);
        // If sending fails, the link has ended. The next link shows which jobs the runner has.
        let _ = link.send(ToRunner::StartJob(Box::new(job)), limits.send_wait).await;
        self.end_if_asked_meanwhile(record).await;
    }

    /// Sends a cancellation that was requested between the offer and its sending.
    async fn end_if_asked_meanwhile(&self, record: &ExecutionRecord) {
        if let Ok(Some(now)) = self.store.execution(record.id).await
            && now.cancel_requested
            && PLACED.contains(&now.state)
        {
            self.transitions.send_end(&now).await;
        }
    }

    /// Settles an execution that the store assigns to a runner, if the runner's link is reconciled and does
    /// not report it.
    pub(crate) async fn settle_unreported(
        &self,
        link: &Arc<Link>,
        seen: &LiveExecution,
    ) -> Result<(), StoreError> {
        let not_after = link.clock_in(self.limits.start_window);
        // `seen` can come from an older list.
        let now = self.store.execution(seen.id).await?;
        let same = |now: &ExecutionRecord| {
            now.state == seen.state && now.attempt == seen.attempt && now.owner_server == seen.owner_server
        };
        let Some(record) = now.filter(same) else { return Ok(()) };
        let record = &record;
        let is_of_this_life = record.runner_epoch == Some(link.hello.epoch);
        // A link of an earlier epoch cannot tell what a later one was offered.
        if !is_of_this_life && !self.runners.is_current(link).await? {
            return Ok(());
        }
        if record.state == ExecutionState::Running {
            if !link.is_surely_absent(record.id) {
                self.runners.send_probe(link).await;
                return Ok(());
            }
            return self.lose_unknown(record, Started::Yes).await;
        }
        if is_of_this_life {
            return self.settle_sent(link, (record, not_after)).await;
        }
        if !record.runner_epoch.is_some_and(|epoch| vouches_for(&link.hello, epoch)) {
            return self.lose_unknown(record, Started::Unknown).await;
        }
        // It was never accepted, and that epoch has ended, so it can be offered again.
        self.take_back(record).await
    }

    /// Settles an execution of the same epoch that was not reported: the offer has not arrived yet, or never
    /// will.
    async fn settle_sent(
        &self,
        link: &Arc<Link>,
        (record, not_after): (&ExecutionRecord, u64),
    ) -> Result<(), StoreError> {
        if !record.cancel_requested
            && link.job(record.id, record.attempt).is_none()
            && self.send_again(link, (record, not_after)).instrument(self.place_span(record)).await?
        {
            return Ok(());
        }
        // The job must not run any more. An earlier offer can still be in transit until its deadline on the
        // runner's clock.
        match link.withdraw(record.id, record.attempt, self.limits.start_window) {
            JobOnLink::Withdrawn { over: true } => self.take_back(record).await,
            JobOnLink::Withdrawn { over: false } => {
                self.transitions.send_end(record).await;
                Ok(())
            }
            JobOnLink::Sent | JobOnLink::Reported => Ok(()),
        }
    }

    /// Sends the same offer again if it can still be placed.
    async fn send_again(
        &self,
        link: &Arc<Link>,
        (record, not_after): (&ExecutionRecord, u64),
    ) -> Result<bool, StoreError> {
        let Some(offer) = self.offer_again(record).await? else { return Ok(false) };
        self.send_start(link, (record, not_after), *offer).await;
        Ok(true)
    }

    /// Returns the execution to the queue, where it is decided again, or ends it if a cancellation was
    /// requested.
    async fn take_back(&self, record: &ExecutionRecord) -> Result<(), StoreError> {
        let by = self.transient.cancelled_by(record.id).unwrap_or(CancelledBy::Client);
        self.transitions
            .advance(record.id, |now| {
                let is_same = now.state == ExecutionState::Starting && now.attempt == record.attempt;
                is_same.then(|| {
                    if now.cancel_requested {
                        finish_with(ExecutionResult::not_started(Cause::Cancelled(by)))
                    } else {
                        Transition { state: Some(ExecutionState::Queued), ..Transition::default() }
                    }
                })
            })
            .await?;
        self.hints.sessions.insert(record.session_id);
        Ok(())
    }

    /// Marks an execution as lost, because its runner is back and does not have it. Then asks the runner for
    /// the output.
    async fn lose_unknown(&self, record: &ExecutionRecord, started: Started) -> Result<(), StoreError> {
        if let Advanced::Taken(record) = self.transitions.lose(record.id, record.attempt, started).await? {
            self.output.ended(&record).await;
        }
        Ok(())
    }
}
