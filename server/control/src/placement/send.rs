//! The sending of an offer, and the handling of offers that were not answered.

use std::sync::Arc;

use airlock_domain::{ExecutionState, StartJob, ToRunner};
use airlock_lifecycle::{Absence, Event, JobEffect, Settlement, is_placed, settle};
use airlock_store::{
    StoreError,
    record::{ExecutionRecord, LiveExecution},
};
use tracing::Instrument as _;

use super::Placement;
use crate::{
    decision::Offer,
    links::{JobOnLink, Link, vouches_for},
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
            && is_placed(now.state)
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
        let epoch = link.hello.epoch;
        let is_current = record.runner_epoch == Some(epoch) || self.runners.is_current(link).await?;
        let is_surely_absent = is_current
            && record.state == ExecutionState::Running
            // If this is uncertain, it also schedules a probe.
            && link.is_surely_absent(record.id);
        let absence = Absence {
            epoch,
            is_current,
            is_surely_absent,
            vouches: record.runner_epoch.is_some_and(|epoch| vouches_for(&link.hello, epoch)),
        };
        match settle(record, &absence) {
            Settlement::Leave => Ok(()),
            Settlement::Probe => {
                self.runners.send_probe(link).await;
                Ok(())
            }
            Settlement::Lose => self.lose_unknown(record).await,
            Settlement::SendAgain => self.settle_sent(link, (record, not_after)).await,
            Settlement::TakeBack => self.take_back(record).await,
        }
    }

    /// Handles an execution of the same epoch that was not reported. The offer has not arrived yet, or was lost.
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
        // The job must no longer run. An earlier offer can still be in transit until its deadline on the runner's
        // clock.
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
        let by = self.transitions.cancelled_by(record.id);
        let taken_back = Event::TakenBack { attempt: record.attempt, by };
        self.transitions.advance(record.id, &taken_back).await.map(drop)
    }

    /// Marks an execution as lost, because its runner has reconnected without it. Then asks the runner for the output.
    async fn lose_unknown(&self, record: &ExecutionRecord) -> Result<(), StoreError> {
        let lost = Event::Lost { attempt: record.attempt, is_back: true };
        if let Some(advanced) = self.transitions.advance(record.id, &lost).await?
            && advanced.job.contains(&JobEffect::KeepOutput)
        {
            self.output.ended(&advanced.record).await;
        }
        Ok(())
    }
}
