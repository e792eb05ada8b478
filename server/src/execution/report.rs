//! What runners report of their jobs. Reports may come twice, late, and through another link than the
//! one before; each is held against the store, and only what is news changes it.

use std::sync::Arc;

use airlock_proto::domain::{
    CancelledBy, Cause, ExecutionId, ExecutionResult, ExecutionState, JobPhase, JobReport, LinkState,
    OutputState, Started, ToRunner,
};

use super::{Advanced, PLACED, finish_with, lost_result};
use crate::{
    engine::{Core, micros},
    links::Link,
    model::ExecutionRecord,
    store::{StoreError, Transition},
};

/// Refusals that say nothing of the command: another offer of it is made at once, with the directory,
/// the epoch and the snapshot of then.
const PASSING: [&str; 4] = ["past_not_after", "stale_epoch", NO_DIRECTORY, "no_snapshot"];
/// The session's directory has vanished; where it is now was said just before.
const NO_DIRECTORY: &str = "no_such_directory";
/// Likewise, but not before the runner had time to make room: the poll makes the next offer.
const FULL: [&str; 2] = ["no_slots", "jobs_kept"];
/// The runner does not have the session any more.
const NO_SESSION: &str = "no_such_session";
/// It was accepted before, under another attempt, and may have run.
const ALREADY_ACCEPTED: &str = "already_accepted";

impl Core {
    /// Takes in a report. Returns when the store has it.
    pub(crate) async fn job_reported(&self, link: &Arc<Link>, report: JobReport) -> Result<(), StoreError> {
        let Some(record) = self.store().execution(report.execution_id).await? else {
            // Made in another store, or in this one before it was restored from an older state.
            self.disown(link, &report, Cause::Internal { message: "the server does not know it".to_owned() })
                .await;
            return Ok(());
        };
        if record.runner_id.as_ref() != Some(&link.hello.runner_id) || report.attempt > record.attempt {
            tracing::warn!(execution_id = %record.id, runner = %link.hello.runner_id, "a report of a job that was never offered so");
            self.disown(
                link,
                &report,
                Cause::Internal { message: "it was not offered to this runner".to_owned() },
            )
            .await;
            return Ok(());
        }
        if !is_of_its_offer(&record, &report) {
            tracing::warn!(execution_id = %record.id, runner = %link.hello.runner_id, "a report of another offer of the job, which says nothing of this one");
            return Ok(());
        }
        match record.state {
            // A refusal of an earlier attempt says nothing of this one.
            ExecutionState::Starting | ExecutionState::Running if report.attempt == record.attempt => {
                link.set_reported(record.id, report.attempt);
                // Whichever server has offered it.
                self.seats.note(&link.hello.runner_id, record.id);
            }
            ExecutionState::Finished => self.free_slot_on(link, &record),
            ExecutionState::Starting
            | ExecutionState::Running
            | ExecutionState::PendingApproval
            | ExecutionState::Queued => link.forget(record.id, report.attempt),
        }
        let (id, tenant) = (record.id, record.tenant.clone());
        self.take_in_phase(link, record, report).await?;
        // The step may be another server's, which wakes nobody here.
        self.parts.changes.notify(id);
        self.parts.changes.notify_tenant(&tenant);
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

    /// The runner will start it, or runs it: its link is there.
    async fn still_there(
        &self,
        link: &Link,
        record: ExecutionRecord,
        report: &JobReport,
    ) -> Result<(), StoreError> {
        self.set_link(record.id, (record.state, record.link), LinkState::Connected).await?;
        if PLACED.contains(&record.state) {
            self.tell_backgrounded(link, &record).await?;
            if record.cancel_requested {
                self.send_end(&record).await;
            }
        } else {
            // Its end was said already, or it was offered anew: it must not go on.
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
                self.parts.observer.started(link.starting_for(after.id));
                self.tell_backgrounded(link, &after).await?;
                if after.yields_at().is_some() {
                    // It knows the time of the next look at what is due.
                    self.poll_now.notify_one();
                }
                if after.cancel_requested {
                    self.send_end(&after).await;
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
        // The slots of a runner are its own to count; how long that may go on is the queue's limit.
        let is_full = FULL.contains(&reason.as_str());
        let passes = PASSING.contains(&reason.as_str());
        let started = if reason == ALREADY_ACCEPTED { Started::Unknown } else { Started::No };
        let is_news = record.state == ExecutionState::Starting && record.attempt == report.attempt;
        if is_full && is_news {
            self.seats.set_full(&link.hello.runner_id);
        }
        if reason == NO_DIRECTORY && is_news {
            self.set_back(link, record.session_id).await?;
        }
        let question = self.question_of_refusal(record, &result.cause).await?;
        let attempts = self.parts.limits.attempts;
        let by = self.cancelled_by(record.id).unwrap_or(CancelledBy::Client);
        let advanced = self
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
            self.lose_session(record.session_id, "its runner does not have it any more").await?;
        }
        if passes {
            self.wake.wake(record.session_id);
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
            .advance_from(record, |record| {
                if record.state == ExecutionState::Finished {
                    return None;
                }
                let output = (ran && record.output == OutputState::None).then_some(OutputState::Live);
                // Who takes the end in has the link by which the output comes, so it stores that.
                let lease = Some((self.parts.server_id.clone(), micros(self.parts.limits.lease)));
                Some(Transition { output, lease, ..finish_with(result.clone()) })
            })
            .await?;
        match advanced {
            Advanced::Taken(record) => self.keep_output(link, &record).await,
            Advanced::Left(record) => {
                self.free_slot_on(link, &record);
                self.note_late_end(&record, &result);
                self.keep_output(link, &record).await;
            }
            Advanced::Missing => {}
        }
        Ok(())
    }

    /// Has the output taken from the runner, or the job forgotten where there is nothing to take.
    async fn keep_output(&self, link: &Link, record: &ExecutionRecord) {
        match record.output {
            OutputState::Live | OutputState::Storing | OutputState::Lost | OutputState::Partial { .. } => {
                self.parts.output.ended(record).await;
            }
            OutputState::None | OutputState::Stored => self.forget_job(link, record).await,
        }
    }

    /// An end that was reported after the result was said does not replace it.
    fn note_late_end(&self, record: &ExecutionRecord, result: &ExecutionResult) {
        let said = record.result.as_ref().map_or("", |result| result.cause.name());
        if said != result.cause.name() {
            tracing::info!(execution_id = %record.id, said, reported = result.cause.name(), "an end was reported late; the result stands");
        }
    }

    async fn forget_job(&self, link: &Link, record: &ExecutionRecord) {
        link.forget(record.id, record.attempt);
        // Without a link it is reported, and forgotten, on the next one.
        let _ = link.send(ToRunner::ForgetJob { execution_id: record.id }, self.parts.limits.send_wait).await;
    }

    /// Ends what should not run, and forgets what has ended.
    async fn disown(&self, link: &Link, report: &JobReport, cause: Cause) {
        let execution_id = report.execution_id;
        link.forget(execution_id, report.attempt);
        let message = match report.phase {
            JobPhase::Accepted | JobPhase::Running => ToRunner::EndJob { execution_id, cause },
            JobPhase::Refused | JobPhase::Ended | JobPhase::Lost => ToRunner::ForgetJob { execution_id },
        };
        let _ = link.send(message, self.parts.limits.send_wait).await;
    }

    /// Notes whether the runner of an execution can be reached, of which this state and link were seen.
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
}

/// Whether a report answers the offer that the store has. Only a refusal may be of an earlier attempt, or
/// of a life of the runner that the offer was not made to.
fn is_of_its_offer(record: &ExecutionRecord, report: &JobReport) -> bool {
    let is_same = report.attempt == record.attempt && Some(report.epoch) == record.runner_epoch;
    is_same || report.phase == JobPhase::Refused
}

/// For an end that says nothing of how.
fn unknown_end(record: &ExecutionRecord) -> ExecutionResult {
    let started = if record.state == ExecutionState::Running { Started::Yes } else { Started::Unknown };
    let message = "the runner reported an end without a result".to_owned();
    ExecutionResult { cause: Cause::Internal { message }, ..lost_result(started) }
}
