//! The effects of events.

use airlock_domain::{CancelledBy, ExecutionState};

use crate::{
    effect::{Effect, Effects, JobEffect, Outcome},
    event::Event,
    record::ExecutionRecord,
    report,
    results::is_placed,
};

/// Returns the effects of an event that had this outcome. The record after a write is the stored one: it can contain
/// changes of other writers that left the version unchanged.
#[must_use]
pub fn effects(event: &Event, outcome: &Outcome<'_>) -> Effects {
    if matches!(event, Event::Owner(_) | Event::Output(_)) {
        return Effects::default();
    }
    let mut server = match outcome {
        Outcome::Written { before, after } => written(before, after),
        Outcome::Left(_) | Outcome::Raced(_) => Vec::new(),
    };
    server.extend(further(event, outcome));
    Effects { server, job: job(event, outcome) }
}

/// Returns the effects of the creation of an execution.
#[must_use]
pub fn entered(record: &ExecutionRecord) -> Vec<Effect> {
    let further: &[Effect] = match record.state {
        ExecutionState::Finished => &[Effect::NotifyTenant, Effect::MeasureResult],
        ExecutionState::Queued => &[Effect::EnterQueue, Effect::LookAtSession],
        ExecutionState::PendingApproval | ExecutionState::Starting | ExecutionState::Running => &[],
    };
    [&[Effect::Notify], further].concat()
}

/// Reports whether the execution was moved to the background, so that the end of the stream that started it does not
/// end it.
pub(crate) fn is_let_go(record: &ExecutionRecord, by: CancelledBy) -> bool {
    by == CancelledBy::Disconnect && record.backgrounded.is_some()
}

/// Returns the effects of a written transition, whatever its event.
fn written(before: &ExecutionRecord, after: &ExecutionRecord) -> Vec<Effect> {
    let mut effects = if before.state == after.state { Vec::new() } else { changed_state(before, after) };
    // It no longer blocks later commands of its session.
    effects.extend((before.is_serial() && !after.is_serial()).then_some(Effect::LookAtSession));
    effects.extend((before.backgrounded != after.backgrounded).then_some(Effect::NotifyTenant));
    effects.push(Effect::Notify);
    effects
}

fn changed_state(before: &ExecutionRecord, after: &ExecutionRecord) -> Vec<Effect> {
    let mut effects = Vec::new();
    if is_placed(before.state) && !is_placed(after.state) {
        effects.extend((after.state == ExecutionState::Finished).then_some(Effect::RunnerHasRoom));
        effects.push(Effect::FreeSlot);
    }
    match after.state {
        ExecutionState::Starting => effects.extend([Effect::MeasureQueue, Effect::LeaveQueue]),
        ExecutionState::Running => effects.extend([Effect::ForgetTurn, Effect::NotifyTenant]),
        // After a refusal, the event determines when to look at the queue again. The reconcile loop also does it.
        ExecutionState::Queued if before.state == ExecutionState::Starting => {}
        ExecutionState::Queued => effects.push(Effect::LookAtSession),
        ExecutionState::PendingApproval => effects.extend([Effect::LeaveQueue, Effect::ForgetTurn]),
        ExecutionState::Finished => {
            let ended = [Effect::Forget, Effect::NotifyTenant, Effect::MeasureResult, Effect::LookAtSession];
            effects.extend(ended);
        }
    }
    effects
}

/// Returns the effects on the server that depend on the event.
fn further(event: &Event, outcome: &Outcome<'_>) -> Vec<Effect> {
    let record = outcome.record();
    match event {
        Event::CancelRequested { by } if is_placed(record.state) && !is_let_go(record, *by) => {
            vec![Effect::NoteCancel(*by), Effect::SendEnd]
        }
        Event::TakenBack { .. } | Event::DecidedAgain { .. } => vec![Effect::LookAtSession],
        Event::Offered(_) if matches!(outcome, Outcome::Raced(_)) => vec![Effect::LookAtSession],
        // The reconcile loop computes the time of its next check.
        Event::Reported(_) if has_started(outcome) && record.yields_at().is_some() => vec![Effect::Reconcile],
        _ => Vec::new(),
    }
}

fn has_started(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Outcome::Written { before, after }
        if before.state != after.state && after.state == ExecutionState::Running)
}

fn job(event: &Event, outcome: &Outcome<'_>) -> Vec<JobEffect> {
    let is_written = matches!(outcome, Outcome::Written { .. });
    match event {
        Event::Reported(reported) => report::effects(outcome, reported),
        Event::Backgrounded { .. } if is_written => vec![JobEffect::TellBackgrounded],
        Event::Lost { is_back: true, .. } if is_written => vec![JobEffect::KeepOutput],
        _ => Vec::new(),
    }
}
