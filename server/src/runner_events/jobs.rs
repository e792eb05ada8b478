//! Reports of runners about their jobs. A report can be repeated, late, or on a different link than the
//! previous one. Each is compared with the store, and only new information changes it.

use std::sync::Arc;

use airlock_domain::{
    CancelledBy, Cause, ExecutionResult, ExecutionState, JobPhase, JobReport, LinkState, OutputState,
    Started, ToRunner,
};

use crate::{
    approval::Approvals,
    background::Background,
    changes::Changes,
    control::{Hints, Observer, OutputKeeper, RunnerSlots, TransientState, micros},
    limits::ServiceLimits,
    links::Link,
    model::ExecutionRecord,
    session::Sessions,
    store::{Store, StoreError, Transition},
    transition::{Advanced, PLACED, Transitions, finish_with, lost_result},
};

/// Refusals that do not concern the command. Another offer is made at once, with the current directory, epoch
/// and snapshot.
const PASSING: [&str; 4] = ["past_not_after", "stale_epoch", NO_DIRECTORY, "no_snapshot"];
/// The session's directory does not exist. The runner reported the new directory just before.
const NO_DIRECTORY: &str = "no_such_directory";
/// Refusals that also do not concern the command, but for which the runner needs time. The reconcile loop
/// makes the next offer.
const FULL: [&str; 2] = ["no_slots", "jobs_kept"];
/// The runner no longer has the session.
const NO_SESSION: &str = "no_such_session";
/// The job was accepted under another attempt and may have run.
const ALREADY_ACCEPTED: &str = "already_accepted";

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
    pub(crate) transient: Arc<TransientState>,
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
        let Some(record) = self.store.execution(report.execution_id).await? else {
            // The execution belongs to another store, or to this one before it was restored from a backup.
            self.disown(
                link,
                &report,
                Cause::Internal { message: "the server has no such execution".to_owned() },
            )
            .await;
            return Ok(());
        };
        if record.runner_id.as_ref() != Some(&link.hello.runner_id) || report.attempt > record.attempt {
            tracing::warn!(execution_id = %record.id, runner = %link.hello.runner_id, "report rejected: the job was not offered to this runner");
            self.disown(
                link,
                &report,
                Cause::Internal { message: "the execution was not offered to this runner".to_owned() },
            )
            .await;
            return Ok(());
        }
        if !is_of_its_offer(&record, &report) {
            tracing::warn!(execution_id = %record.id, runner = %link.hello.runner_id, "report ignored: it belongs to another offer of the job");
            return Ok(());
        }
        match record.state {
            // A refusal of an earlier attempt does not concern the current one.
            ExecutionState::Starting | ExecutionState::Running if report.attempt == record.attempt => {
                link.set_reported(record.id, report.attempt);
                // Recorded regardless of the server that made the offer.
                self.slots.note(&link.hello.runner_id, record.id);
            }
            ExecutionState::Finished => self.transitions.free_slot_on(link, &record),
            ExecutionState::Starting
            | ExecutionState::Running
            | ExecutionState::PendingApproval
            | ExecutionState::Queued => link.forget(record.id, report.attempt),
        }
        let (id, tenant) = (record.id, record.tenant.clone());
        self.take_in_phase(link, record, report).await?;
        // The step may have been made by another server, which does not notify tasks here.
        self.changes.notify(id);
        self.changes.notify_tenant(&tenant);
        Ok(())
    }

    async fn take_in_phase(
        &self,
        link: &Arc<Link>,
        record: ExecutionRecord,
        report: JobReport,
    ) -> Result<(), StoreError> {
        match report.phase {
            JobPhase::Accepted => self.still_there(link, record, &report).await,
            JobPhase::Running => self.job_runs(link, record, &report).await,
            JobPhase::Refused => self.job_refused(link, &record, report).await,
            JobPhase::Ended => {
                let result = report.result.unwrap_or_else(|| unknown_end(&record));
                self.job_ended(link, record, result).await
            }
            JobPhase::Lost => {
                let started =
                    if record.state == ExecutionState::Running { Started::Yes } else { Started::Unknown };
                let result = report.result.unwrap_or_else(|| lost_result(started));
                self.job_ended(link, record, result).await
            }
        }
    }

    /// The runner has accepted or runs the job, so its link is up.
    async fn still_there(
        &self,
        link: &Link,
        record: ExecutionRecord,
        report: &JobReport,
    ) -> Result<(), StoreError> {
        self.transitions.set_link(record.id, (record.state, record.link), LinkState::Connected).await?;
        if PLACED.contains(&record.state) {
            self.background.tell_backgrounded(link, &record).await?;
            if record.cancel_requested {
                self.transitions.send_end(&record).await;
            }
        } else {
            // The execution has already ended or was offered again. This job must not continue.
            let cause = record.result.map_or(Cause::RunnerLost, |result| result.cause);
            self.disown(link, report, cause).await;
        }
        Ok(())
    }

    async fn job_runs(
        &self,
        link: &Link,
        record: ExecutionRecord,
        report: &JobReport,
    ) -> Result<(), StoreError> {
        let advanced = self
            .transitions
            .advance_from(record, |record| {
                (record.state == ExecutionState::Starting).then(|| Transition {
                    state: Some(ExecutionState::Running),
                    link: Some(Some(LinkState::Connected)),
                    output: Some(OutputState::Live),
                    ..Transition::default()
                })
            })
            .await?;
        match advanced {
            Advanced::Taken(after) => {
                self.observer.started(link.starting_for(after.id));
                self.background.tell_backgrounded(link, &after).await?;
                if after.yields_at().is_some() {
                    // The reconcile loop computes the time of its next check.
                    self.hints.reconcile_now();
                }
                if after.cancel_requested {
                    self.transitions.send_end(&after).await;
                }
                Ok(())
            }
            Advanced::Left(record) => self.still_there(link, record, report).await,
            Advanced::Missing => Ok(()),
        }
    }

    async fn job_refused(
        &self,
        link: &Link,
        record: &ExecutionRecord,
        report: JobReport,
    ) -> Result<(), StoreError> {
        let result = report.result.unwrap_or_else(|| {
            let message = "the runner gave no reason".to_owned();
            ExecutionResult::not_started(Cause::refused("unknown", message))
        });
        let reason = match &result.cause {
            Cause::Refused { reason, .. } => reason.clone(),
            _ => String::new(),
        };
        // A runner counts its own slots. The limit of the queue bounds how often this repeats.
        let is_full = FULL.contains(&reason.as_str());
        let passes = PASSING.contains(&reason.as_str());
        let started = if reason == ALREADY_ACCEPTED { Started::Unknown } else { Started::No };
        let is_news = record.state == ExecutionState::Starting && record.attempt == report.attempt;
        if is_full && is_news {
            self.slots.set_full(&link.hello.runner_id);
        }
        if reason == NO_DIRECTORY && is_news {
            self.sessions.set_back(link, record.session_id).await?;
        }
        let question = self.approvals.question_of_refusal(record, &result.cause).await?;
        let attempts = self.limits.attempts;
        let by = self.transient.cancelled_by(record.id).unwrap_or(CancelledBy::Client);
        let advanced = self
            .transitions
            .advance(record.id, |record| {
                let is_this_offer =
                    record.state == ExecutionState::Starting && record.attempt == report.attempt;
                is_this_offer.then(|| {
                    if record.cancel_requested {
                        let cause = Cause::Cancelled(by);
                        finish_with(ExecutionResult { started, ..ExecutionResult::not_started(cause) })
                    } else if let Some(question) = &question {
                        question.clone()
                    } else if is_full || (passes && record.attempt < attempts) {
                        Transition { state: Some(ExecutionState::Queued), ..Transition::default() }
                    } else {
                        finish_with(ExecutionResult { started, ..result.clone() })
                    }
                })
            })
            .await?;
        if reason == NO_SESSION {
            self.sessions.lose_session(record.session_id, "its runner no longer has it").await?;
        }
        if passes {
            self.hints.sessions.insert(record.session_id);
        }
        if let Advanced::Taken(record) | Advanced::Left(record) = advanced
            && record.state == ExecutionState::Finished
        {
            self.forget_job(link, &record).await;
        }
        Ok(())
    }

    async fn job_ended(
        &self,
        link: &Link,
        record: ExecutionRecord,
        result: ExecutionResult,
    ) -> Result<(), StoreError> {
        let ran = result.started != Started::No;
        let advanced = self
            .transitions
            .advance_from(record, |record| {
                if record.state == ExecutionState::Finished {
                    return None;
                }
                let output = (ran && record.output == OutputState::None).then_some(OutputState::Live);
                // The server that records the end has the link for the output, so it stores the output.
                let lease = Some((self.server_id.clone(), micros(self.limits.lease)));
                Some(Transition { output, lease, ..finish_with(result.clone()) })
            })
            .await?;
        match advanced {
            Advanced::Taken(record) => self.keep_output(link, &record).await,
            Advanced::Left(record) => {
                self.transitions.free_slot_on(link, &record);
                self.note_late_end(&record, &result);
                self.keep_output(link, &record).await;
            }
            Advanced::Missing => {}
        }
        Ok(())
    }

    /// Starts the copy of the output from the runner. If there is nothing to copy, the runner is told to
    /// forget the job.
    async fn keep_output(&self, link: &Link, record: &ExecutionRecord) {
        match record.output {
            OutputState::Live | OutputState::Storing | OutputState::Lost | OutputState::Partial { .. } => {
                self.output.ended(record).await;
            }
            OutputState::None | OutputState::Stored => self.forget_job(link, record).await,
        }
    }

    /// Logs an end that was reported after the result was stored. It does not replace the result.
    fn note_late_end(&self, record: &ExecutionRecord, result: &ExecutionResult) {
        let said = record.result.as_ref().map_or("", |result| result.cause.name());
        if said != result.cause.name() {
            tracing::info!(execution_id = %record.id, said, reported = result.cause.name(), "late result ignored: the execution already has a result");
        }
    }

    async fn forget_job(&self, link: &Link, record: &ExecutionRecord) {
        link.forget(record.id, record.attempt);
        // Without a link, the job is reported again and forgotten on the next one.
        let _ = link.send(ToRunner::ForgetJob { execution_id: record.id }, self.limits.send_wait).await;
    }

    /// Ends a job that should not run, and forgets a job that has ended.
    async fn disown(&self, link: &Link, report: &JobReport, cause: Cause) {
        let execution_id = report.execution_id;
        link.forget(execution_id, report.attempt);
        let message = match report.phase {
            JobPhase::Accepted | JobPhase::Running => ToRunner::EndJob { execution_id, cause },
            JobPhase::Refused | JobPhase::Ended | JobPhase::Lost => ToRunner::ForgetJob { execution_id },
        };
        let _ = link.send(message, self.limits.send_wait).await;
    }
}

/// Reports whether a report answers the current offer. Only a refusal may be for an earlier attempt or
/// another epoch.
fn is_of_its_offer(record: &ExecutionRecord, report: &JobReport) -> bool {
    let is_same = report.attempt == record.attempt && Some(report.epoch) == record.runner_epoch;
    is_same || report.phase == JobPhase::Refused
}

/// Returns the result for an end without details.
fn unknown_end(record: &ExecutionRecord) -> ExecutionResult {
    let started = if record.state == ExecutionState::Running { Started::Yes } else { Started::Unknown };
    let message = "the runner reported the end of the command without a result".to_owned();
    ExecutionResult { cause: Cause::Internal { message }, ..lost_result(started) }
}
