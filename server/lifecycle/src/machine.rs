//! The state machine: which transition follows from which event.

use airlock_domain::{
    CancelledBy, Cause, DeniedBy, ExecutionResult, ExecutionState, LinkState, OutputState, Started,
};

use crate::{
    effect::{Effects, Outcome},
    event::{Answer, Event, Offered},
    follow, output, owner,
    question::Redecision,
    record::{ExecutionRecord, LiveExecution, Micros},
    report,
    results::{began, cancelled, is_placed, lost_result},
    taken::{NotPermitted, taken},
    transition::Transition,
};

/// Returns the execution after an event, and the effects. `now` is the store's time. This is the whole machine, for an
/// execution with a single writer.
///
/// # Errors
/// [`NotPermitted`] if the transition is outside the table of transitions. No event leads to it.
pub fn step(
    before: &ExecutionRecord,
    event: &Event,
    now: Micros,
) -> Result<(ExecutionRecord, Effects), NotPermitted> {
    if let Event::Output(event) = event {
        let mut after = before.clone();
        output::keep(&mut after, event, now);
        return Ok((after, Effects::default()));
    }
    let Some(transition) = decide(before, event) else {
        return Ok((before.clone(), follow::effects(event, &Outcome::Left(before))));
    };
    let after = taken(before.clone(), &transition, now)?.record;
    let effects = follow::effects(event, &Outcome::Written { before, after: &after });
    Ok((after, effects))
}

/// Returns the transition that follows from an event, or `None` if the record stays. A writer that loses a race asks
/// again with the current record.
#[must_use]
pub fn decide(record: &ExecutionRecord, event: &Event) -> Option<Transition> {
    let state = record.state;
    let is_queued = state == ExecutionState::Queued;
    let is_waiting = is_queued || state == ExecutionState::PendingApproval;
    match event {
        Event::CancelRequested { by } => cancel(record, *by),
        Event::Answered { approval, answer } => {
            let waits_for_it =
                state == ExecutionState::PendingApproval && record.approval_id == Some(*approval);
            waits_for_it.then(|| answered(answer))
        }
        Event::SessionFailed { cause } => (state != ExecutionState::Finished).then(|| end(cause)),
        Event::SessionEnded { lost } => is_waiting.then(|| {
            let closed = || cancelled(CancelledBy::Session);
            Transition::finish(if *lost { lost_result(Started::No) } else { closed() })
        }),
        Event::NotPlaced { cause } => is_queued.then(|| end(cause)),
        Event::DecidedAgain { decision } => is_queued.then(|| Transition::decided(decision.clone())),
        Event::AskedAgain(question) => is_queued.then(|| Transition::asks((**question).clone())),
        Event::DeniedAgain { decision, by } => is_queued.then(|| denied(decision, *by)),
        Event::Offered(offered) => is_queued.then(|| offer(offered)),
        Event::TakenBack { attempt, by } => {
            let is_this_offer = state == ExecutionState::Starting && record.attempt == *attempt;
            is_this_offer.then(|| match record.cancel_requested {
                true => Transition::finish(cancelled(*by)),
                false => Transition::to(ExecutionState::Queued),
            })
        }
        Event::Reported(reported) => report::decide(record, reported),
        Event::LinkSeen(link) => (is_placed(state) && record.link != Some(*link))
            .then(|| Transition { link: Some(Some(*link)), ..Transition::default() }),
        // The output can still be on the runner, even if it is unknown whether the command began.
        Event::Lost { attempt, .. } => (is_placed(state) && record.attempt == *attempt).then(|| Transition {
            output: Some(OutputState::Live),
            ..Transition::finish(lost_result(began(state)))
        }),
        Event::Backgrounded { by } => {
            let in_foreground = state == ExecutionState::Running && record.backgrounded.is_none();
            in_foreground.then(|| Transition { backgrounded: Some(*by), ..Transition::default() })
        }
        Event::Owner(event) => owner::change_owner(&LiveExecution::from(record), event),
        Event::Output(_) => None,
    }
}

/// Requests the end of an execution. If it is not on a runner, it ends at once. Otherwise its runner ends it.
fn cancel(record: &ExecutionRecord, by: CancelledBy) -> Option<Transition> {
    if follow::is_let_go(record, by) {
        return None;
    }
    match record.state {
        ExecutionState::PendingApproval | ExecutionState::Queued => Some(Transition::finish(cancelled(by))),
        ExecutionState::Starting | ExecutionState::Running if !record.cancel_requested => {
            Some(Transition { cancel_requested: Some(true), ..Transition::default() })
        }
        ExecutionState::Starting | ExecutionState::Running | ExecutionState::Finished => None,
    }
}

fn answered(answer: &Answer) -> Transition {
    match answer {
        Answer::Allowed => Transition::to(ExecutionState::Queued),
        Answer::Denied { reason } => end(&Cause::Denied { by: DeniedBy::Person, reason: reason.clone() }),
        Answer::Expired => end(&Cause::ApprovalExpired),
    }
}

fn denied(decision: &Redecision, by: DeniedBy) -> Transition {
    let reason = decision.record.reason_message.clone();
    Transition { decision: Some(decision.clone().into_parts()), ..end(&Cause::Denied { by, reason }) }
}

fn offer(offered: &Offered) -> Transition {
    Transition {
        link: Some(Some(LinkState::Connected)),
        offer: Some((offered.runner.clone(), offered.epoch)),
        lease: Some(offered.lease.clone().into_parts()),
        decision: offered.decision.clone().map(Redecision::into_parts),
        ..Transition::to(ExecutionState::Starting)
    }
}

/// Ends an execution that was not started.
fn end(cause: &Cause) -> Transition {
    Transition::finish(ExecutionResult::not_started(cause.clone()))
}
