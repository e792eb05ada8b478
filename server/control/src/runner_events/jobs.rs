//! Reports of runners about their jobs. A report can be repeated, late, or on a different link than the previous one.
//! The state machine compares each report with the stored record. This module performs the effects.

use std::sync::Arc;

use airlock_domain::{ExecutionId, JobPhase, JobReport, ToRunner};
use airlock_lifecycle::{Event, JobEffect, Reception, Refusal, Reported, before_refusal, received};
use airlock_store::{Store, StoreError, changes::Changes, record::ExecutionRecord};

use crate::{
    approval::Approvals,
    background::Background,
    limits::ServiceLimits,
    links::Link,
    session::Sessions,
    shared::{Hints, Observer, OutputKeeper, RunnerSlots},
    transition::{Advanced, Transitions, lease_of},
};

/// Processes the reports of runners about jobs.
pub(crate) struct JobReports {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) background: Arc<Background>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) changes: Changes,
    pub(crate) hints: Arc<Hints>,
    pub(crate) slots: Arc<RunnerSlots>,
    /// Copies the output of ended executions.
    pub(crate) output: Arc<dyn OutputKeeper>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) limits: ServiceLimits,
    /// The name of this server in leases.
    pub(crate) server_id: String,
}

impl JobReports {
    /// Processes a report. Returns after it is stored.
    pub(crate) async fn reported(&self, link: &Arc<Link>, report: JobReport) -> Result<(), StoreError> {
        let (id, attempt, runner) = (report.execution_id, report.attempt, &link.hello.runner_id);
        let record = self.store.execution(id).await?;
        let reception = received(record.as_ref(), runner, &report);
        let is_running = matches!(reception, Reception::OnRunner) && report.phase == JobPhase::Running;
        let record = match (reception, record) {
            (Reception::Unknown(message), _) | (Reception::NotOffered(message), None) => {
                self.disown(link, (id, attempt), *message).await;
                return Ok(());
            }
            (Reception::NotOffered(message), Some(_)) => {
                tracing::warn!(execution_id = %id, %runner, "report rejected: the job was not offered to this runner");
                self.disown(link, (id, attempt), *message).await;
                return Ok(());
            }
            (Reception::OtherOffer, _) | (_, None) => {
                tracing::warn!(execution_id = %id, %runner, "report ignored: it belongs to another offer of the job");
                return Ok(());
            }
            (Reception::OnRunner, Some(record)) => {
                link.set_reported(id, attempt);
                // Recorded regardless of the server that made the offer.
                self.slots.note(runner, id);
                record
            }
            (Reception::Over, Some(record)) => {
                self.transitions.free_slot_on(link, &record);
                record
            }
            (Reception::Earlier, Some(record)) => {
                link.forget(id, attempt);
                record
            }
        };
        let tenant = record.tenant.clone();
        // A command with a read-only verdict has no network.
        let networked = (is_running && !record.decision.read_only).then_some(record.session_id);
        Box::pin(self.take_in(link, record, report)).await?;
        // The step may have been made by another server, which does not notify tasks here.
        self.changes.notify(id);
        self.changes.notify_tenant(&tenant);
        // Last, so that it delays no step of the command.
        if let Some(session) = networked {
            self.sessions.repeat_network(link, session).await?;
        }
        Ok(())
    }

    /// Passes a report to the state machine, and performs the effects on the job.
    async fn take_in(
        &self,
        link: &Link,
        record: ExecutionRecord,
        report: JobReport,
    ) -> Result<(), StoreError> {
        let is_refused = report.phase == JobPhase::Refused;
        let mut question = None;
        if is_refused {
            for effect in before_refusal(&record, &report) {
                self.perform(link, &record, effect).await?;
            }
            let cause = Refusal::of(&report).result.cause;
            question = self.approvals.question_of_refusal(&record, &cause).await?;
        }
        let event = Event::Reported(Box::new(Reported {
            runner: link.hello.runner_id.clone(),
            report,
            question,
            cancelled_by: self.transitions.cancelled_by(record.id),
            attempts: self.limits.attempts,
            lease: lease_of(&self.server_id, &self.limits),
        }));
        // After a refusal the record is read again, because the question took time.
        let advanced = match is_refused {
            true => self.transitions.advance(record.id, &event).await?,
            false => self.transitions.advance_from(record, &event).await?,
        };
        let Some(Advanced { record, job, .. }) = advanced else { return Ok(()) };
        for effect in job {
            self.perform(link, &record, effect).await?;
        }
        Ok(())
    }

    async fn perform(
        &self,
        link: &Link,
        record: &ExecutionRecord,
        effect: JobEffect,
    ) -> Result<(), StoreError> {
        match effect {
            JobEffect::MeasureStart => self.observer.started(link.starting_for(record.id)),
            JobEffect::TellBackgrounded => self.background.tell_backgrounded(link, record).await?,
            JobEffect::RepeatEnd => self.transitions.send_end(record).await,
            JobEffect::KeepOutput => self.output.ended(record).await,
            JobEffect::ForgetJob => {
                let forget = ToRunner::ForgetJob { execution_id: record.id };
                // Without a link, the job is reported again and forgotten on the next one.
                self.disown(link, (record.id, record.attempt), forget).await;
            }
            JobEffect::Disown { attempt, message } => {
                self.disown(link, (record.id, attempt), *message).await;
            }
            JobEffect::FreeSlot => self.transitions.free_slot_on(link, record),
            JobEffect::LogLateEnd { stored, reported } => {
                tracing::info!(execution_id = %record.id, said = stored, reported, "late result ignored: the execution already has a result");
            }
            JobEffect::SetFull => self.slots.set_full(&link.hello.runner_id),
            JobEffect::SetBackDirectory => self.sessions.set_back(link, record.session_id).await?,
            JobEffect::LoseSession => {
                self.sessions.lose_session(record.session_id, "its runner no longer has it").await?;
            }
            JobEffect::LookAtSession => self.hints.sessions.insert(record.session_id),
        }
        Ok(())
    }

    /// Ends a job that should not run, or forgets a job that has ended.
    async fn disown(&self, link: &Link, (id, attempt): (ExecutionId, u32), message: ToRunner) {
        link.forget(id, attempt);
        let _ = link.send(message, self.limits.send_wait).await;
    }
}
