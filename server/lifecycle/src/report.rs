//! Reports of runners about their jobs. A report can be repeated, late, or on a different link than the previous one.
//! Each is compared with the record, and only new information changes it.

use airlock_domain::{
    CancelledBy, Cause, ExecutionResult, ExecutionState, JobPhase, JobReport, LinkState, OutputState,
    RunnerId, Started, ToRunner,
};

use crate::{
    effect::{JobEffect, Outcome},
    owner::Lease,
    question::Question,
    record::ExecutionRecord,
    refusal::{self, Refusal},
    results::{began, cancelled, is_placed, lost_result},
    transition::Transition,
};

/// A report of a runner, and the facts of the server that determine its consequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The runner.
    pub runner: RunnerId,
    /// Its report.
    pub report: JobReport,
    /// The question to a person, if an answer can lift the refusal.
    pub question: Option<Question>,
    /// The origin of a cancel request, if there was one.
    pub cancelled_by: CancelledBy,
    /// The maximum number of offers after refusals that do not concern the command.
    pub attempts: u32,
    /// The lease of this server. The server that records an end has the link for the output, so it stores the output.
    pub lease: Lease,
}

/// The relation of a report to the record.
#[derive(Debug, Clone, PartialEq)]
pub enum Reception {
    /// There is no such execution. It belongs to another store, or to this one before it was restored from a backup.
    /// Contains the message to the runner, as in the next variant.
    Unknown(Box<ToRunner>),
    /// The execution was not offered to this runner.
    NotOffered(Box<ToRunner>),
    /// The report belongs to another offer of the job. It is ignored.
    OtherOffer,
    /// The runner has the job of the current offer.
    OnRunner,
    /// The execution has ended.
    Over,
    /// The execution is not on the runner, or was offered again.
    Earlier,
}

/// Returns how a report relates to the stored record.
#[must_use]
pub fn received(record: Option<&ExecutionRecord>, runner: &RunnerId, report: &JobReport) -> Reception {
    let Some(record) = record else {
        let message = "the server has no such execution".to_owned();
        return Reception::Unknown(disowned(report, Cause::Internal { message }));
    };
    if record.runner_id.as_ref() != Some(runner) || report.attempt > record.attempt {
        let message = "the execution was not offered to this runner".to_owned();
        return Reception::NotOffered(disowned(report, Cause::Internal { message }));
    }
    if !is_of_its_offer(record, report) {
        return Reception::OtherOffer;
    }
    match record.state {
        ExecutionState::Finished => Reception::Over,
        // A refusal of an earlier attempt does not concern the current one.
        state if is_placed(state) && report.attempt == record.attempt => Reception::OnRunner,
        _ => Reception::Earlier,
    }
}

/// Returns the message that ends a job that should not run, or forgets a job that has ended.
fn disowned(report: &JobReport, cause: Cause) -> Box<ToRunner> {
    let execution_id = report.execution_id;
    Box::new(match report.phase {
        JobPhase::Accepted | JobPhase::Running => ToRunner::EndJob { execution_id, cause },
        JobPhase::Refused | JobPhase::Ended | JobPhase::Lost => ToRunner::ForgetJob { execution_id },
    })
}

/// Returns the transition that follows from a report.
pub(crate) fn decide(record: &ExecutionRecord, reported: &Reported) -> Option<Transition> {
    if !concerns(record, reported) {
        return None;
    }
    let connected = Transition { link: Some(Some(LinkState::Connected)), ..Transition::default() };
    let is_news = is_placed(record.state) && record.link != Some(LinkState::Connected);
    match reported.report.phase {
        JobPhase::Running if record.state == ExecutionState::Starting => Some(Transition {
            output: Some(OutputState::Live),
            link: connected.link,
            ..Transition::to(ExecutionState::Running)
        }),
        // The runner has accepted or runs the job, so its link is up.
        JobPhase::Accepted | JobPhase::Running => is_news.then_some(connected),
        JobPhase::Refused => refused(record, reported),
        JobPhase::Ended | JobPhase::Lost => ended(record, reported),
    }
}

fn refused(record: &ExecutionRecord, reported: &Reported) -> Option<Transition> {
    let report = &reported.report;
    let is_this_offer = record.state == ExecutionState::Starting && record.attempt == report.attempt;
    let refusal = Refusal::of(report);
    is_this_offer.then(|| {
        let started = refusal.started();
        if record.cancel_requested {
            Transition::finish(ExecutionResult { started, ..cancelled(reported.cancelled_by) })
        } else if let Some(question) = &reported.question {
            Transition::asks(question.clone())
        } else if refusal.is_full() || (refusal.passes() && record.attempt < reported.attempts) {
            Transition::to(ExecutionState::Queued)
        } else {
            Transition::finish(ExecutionResult { started, ..refusal.result })
        }
    })
}

fn ended(record: &ExecutionRecord, reported: &Reported) -> Option<Transition> {
    if record.state == ExecutionState::Finished {
        return None;
    }
    let result = end_of(record, &reported.report);
    let ran = result.started != Started::No;
    let output = (ran && record.output == OutputState::None).then_some(OutputState::Live);
    let lease = Some(reported.lease.clone().into_parts());
    Some(Transition { output, lease, ..Transition::finish(result) })
}

/// Returns the effects of a report on the job.
pub(crate) fn effects(outcome: &Outcome<'_>, reported: &Reported) -> Vec<JobEffect> {
    let record = outcome.record();
    if !concerns(record, reported) {
        return Vec::new();
    }
    match reported.report.phase {
        JobPhase::Accepted | JobPhase::Running => on_runner(outcome, &reported.report),
        JobPhase::Refused => refusal::after(record, &Refusal::of(&reported.report)),
        JobPhase::Ended | JobPhase::Lost => match outcome {
            Outcome::Written { after, .. } => vec![keep_output(after)],
            Outcome::Left(_) | Outcome::Raced(_) => late_end(record, &reported.report),
        },
    }
}

/// Returns the effects of a report that the runner has the job.
fn on_runner(outcome: &Outcome<'_>, report: &JobReport) -> Vec<JobEffect> {
    let record = outcome.record();
    if !is_placed(record.state) {
        // The execution has already ended or was offered again. This job must not continue.
        let cause = record.result.as_ref().map_or(Cause::RunnerLost, |result| result.cause.clone());
        return vec![JobEffect::Disown { attempt: report.attempt, message: disowned(report, cause) }];
    }
    let has_started = matches!(outcome, Outcome::Written { before, after } if before.state != after.state);
    let mut effects = Vec::new();
    effects.extend(has_started.then_some(JobEffect::MeasureStart));
    effects.push(JobEffect::TellBackgrounded);
    effects.extend(record.cancel_requested.then_some(JobEffect::RepeatEnd));
    effects
}

/// Returns the effects of an end that was reported after the result was stored.
fn late_end(record: &ExecutionRecord, report: &JobReport) -> Vec<JobEffect> {
    let stored = record.result.as_ref().map_or("", |result| result.cause.name());
    let reported = end_of(record, report).cause.name();
    let mut effects = vec![JobEffect::FreeSlot];
    effects.extend((stored != reported).then_some(JobEffect::LogLateEnd { stored, reported }));
    effects.push(keep_output(record));
    effects
}

/// Returns the effect that copies the output from the runner. If there is nothing to copy, the runner forgets the job.
fn keep_output(record: &ExecutionRecord) -> JobEffect {
    match record.output {
        OutputState::Live | OutputState::Storing | OutputState::Lost | OutputState::Partial { .. } => {
            JobEffect::KeepOutput
        }
        OutputState::None | OutputState::Stored => JobEffect::ForgetJob,
    }
}

/// Returns the reported result, or the result of an end without details.
fn end_of(record: &ExecutionRecord, report: &JobReport) -> ExecutionResult {
    let lost = lost_result(began(record.state));
    match &report.result {
        Some(result) => result.clone(),
        None if report.phase == JobPhase::Lost => lost,
        None => {
            let message = "the runner reported the end of the command without a result".to_owned();
            ExecutionResult { cause: Cause::Internal { message }, ..lost }
        }
    }
}

/// Reports whether a report is of the runner and the offer of the record.
fn concerns(record: &ExecutionRecord, reported: &Reported) -> bool {
    record.runner_id.as_ref() == Some(&reported.runner)
        && reported.report.attempt <= record.attempt
        && is_of_its_offer(record, &reported.report)
}

/// Reports whether a report answers the current offer. Only a refusal may be for an earlier attempt or another epoch.
fn is_of_its_offer(record: &ExecutionRecord, report: &JobReport) -> bool {
    let is_same = report.attempt == record.attempt && Some(report.epoch) == record.runner_epoch;
    is_same || report.phase == JobPhase::Refused
}
