//! The result of a transition: the table of permitted transitions and its constraints, shared by all stores. Pure
//! functions that read no clock and write nothing.

use airlock_domain::{BackgroundedBy, DirectoryReport, ExecutionResult, ExecutionState, LinkState};

use crate::{
    record::{ApprovalRecord, ApprovalState, ExecutionRecord, Micros, Milestone, StateChange},
    transition::Transition,
};

/// A transition that is never valid: it is outside the table of state transitions, or violates a constraint of the
/// record. This is an error of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotPermitted(pub String);

/// The writes of a transition.
#[derive(Debug)]
pub struct Taken {
    /// The new row.
    pub record: ExecutionRecord,
    /// The new entry of the history, if any.
    pub change: Option<StateChange>,
    /// The milestone of the transition, if any.
    pub milestone: Option<Milestone>,
    /// A new approval.
    pub approval: Option<ApprovalRecord>,
    /// Whether open approvals must be withdrawn, before the new one is added.
    pub withdraw: bool,
    /// Whether the execution has just become `FINISHED`.
    pub finished: bool,
}

/// Returns the first row of an execution and its dependent writes. An approval comes with its validity in
/// microseconds.
///
/// # Errors
/// [`NotPermitted`] if the state is not a valid first state, or if the parts contradict each
/// other.
pub fn created(
    mut record: ExecutionRecord,
    approval: Option<(ApprovalRecord, i64)>,
    now: Micros,
) -> Result<Taken, NotPermitted> {
    let finished = record.state == ExecutionState::Finished;
    if finished != record.result.is_some() {
        return refused("an execution has a result exactly when it is FINISHED");
    }
    if !matches!(record.backgrounded, None | Some(BackgroundedBy::Request)) {
        return refused("only its request can start an execution in the background");
    }
    match record.state {
        ExecutionState::PendingApproval if approval.is_none() => {
            return refused("PENDING_APPROVAL needs an approval");
        }
        ExecutionState::Queued | ExecutionState::Finished if approval.is_some() => {
            return refused("an approval needs PENDING_APPROVAL");
        }
        ExecutionState::Starting | ExecutionState::Running => {
            return refused("no execution is created as STARTING or RUNNING");
        }
        ExecutionState::PendingApproval | ExecutionState::Queued | ExecutionState::Finished => {}
    }
    record.version = 1;
    record.created = now;
    record.queued = now;
    record.started = None;
    record.ended = finished.then_some(now);
    record.link = None;
    let approval = approval.map(|(approval, valid)| opened(&mut record, approval, valid, now));
    let change = Some(change(&record, now));
    let milestone = finished.then_some(Milestone::Finished);
    Ok(Taken { record, change, milestone, approval, withdraw: false, finished })
}

/// Returns the writes of a transition. `now` is the store's time.
///
/// # Errors
/// [`NotPermitted`] if the transition is not permitted from the record's state.
pub fn taken(mut record: ExecutionRecord, step: &Transition, now: Micros) -> Result<Taken, NotPermitted> {
    let from = record.state;
    let to = step.state.unwrap_or(from);
    check(from, to, step)?;
    let finished = to == ExecutionState::Finished && from != to;
    let leaves_foreground = step.backgrounded.is_some() && record.backgrounded.is_none();
    let bumps = to != from
        || leaves_foreground
        || step.offer.is_some()
        || step.approval.is_some()
        || owner_changes(&record, step)
        || record.link != link(&record, to, step);

    record.link = link(&record, to, step);
    record.state = to;
    if let Some((runner, epoch)) = &step.offer {
        record.runner_id = Some(runner.clone());
        record.runner_epoch = Some(*epoch);
        record.attempt = record.attempt.saturating_add(1);
    }
    if let Some((server, micros)) = &step.lease {
        record.owner_server = Some(server.clone());
        record.lease_until = Micros(now.0.saturating_add(*micros));
    }
    if let Some((decision, directory)) = &step.decision {
        record.decision = decision.clone();
        record.spec.command.directory.clone_from(directory);
    }
    if let Some(output) = step.output {
        record.output = output;
    }
    record.cancel_requested = step.cancel_requested.unwrap_or(record.cancel_requested);
    record.backgrounded = record.backgrounded.or(step.backgrounded);
    record.version = record.version.saturating_add(u64::from(bumps));
    if from != to {
        match to {
            ExecutionState::Queued => record.queued = now,
            ExecutionState::Running => record.started = Some(now),
            ExecutionState::Finished => {
                record.ended = Some(now);
                let moves = record.moves_session();
                record.result = step.result.clone().map(|result| kept(result, moves));
            }
            ExecutionState::PendingApproval | ExecutionState::Starting => {}
        }
    }
    let leaves = from == ExecutionState::PendingApproval && to != from;
    let withdraw = leaves || finished || step.approval.is_some();
    let approval = step.approval.clone().map(|(approval, valid)| opened(&mut record, approval, valid, now));
    let change = bumps.then(|| change(&record, now));
    let milestone = match to {
        ExecutionState::Running if from != to => Some(Milestone::Started),
        ExecutionState::Finished if from != to => Some(Milestone::Finished),
        _ => leaves_foreground.then_some(Milestone::Backgrounded),
    };
    Ok(Taken { record, change, milestone, approval, withdraw, finished })
}

/// Returns the writes of a question about a connection of an execution on its runner. The execution does not wait for the
/// answer, so that only its history names the approval. `valid` is the validity in microseconds.
#[must_use]
pub fn asks_about_connection(
    mut record: ExecutionRecord,
    approval: ApprovalRecord,
    valid: i64,
    now: Micros,
) -> Taken {
    record.version = record.version.saturating_add(1);
    let approval = open(&record, approval, valid, now);
    let change = StateChange { approval_id: Some(approval.id), ..change(&record, now) };
    let (change, approval) = (Some(change), Some(approval));
    Taken { record, change, milestone: None, approval, withdraw: false, finished: false }
}

fn check(from: ExecutionState, to: ExecutionState, step: &Transition) -> Result<(), NotPermitted> {
    if from != to && !from.may_become(to) {
        return Err(NotPermitted(format!("{from:?} cannot change to {to:?}")));
    }
    if from == ExecutionState::Finished {
        let Transition {
            state: _,
            lease: _,
            output: _,
            link,
            offer,
            decision,
            approval,
            cancel_requested,
            backgrounded,
            result,
        } = step;
        let touched = link.is_some()
            || offer.is_some()
            || decision.is_some()
            || approval.is_some()
            || cancel_requested.is_some()
            || backgrounded.is_some()
            || result.is_some();
        return if touched { refused("a FINISHED execution cannot be changed") } else { Ok(()) };
    }
    if (to == ExecutionState::Finished) != step.result.is_some() {
        return refused("an execution has a result exactly when it is FINISHED");
    }
    if step.offer.is_some() && to != ExecutionState::Starting {
        return refused("an offer needs STARTING");
    }
    if from != to && to == ExecutionState::Starting && step.offer.is_none() {
        return refused("STARTING needs an offer");
    }
    if step.backgrounded.is_some() && (from, to) != (ExecutionState::Running, ExecutionState::Running) {
        return refused("only an execution that is RUNNING and stays RUNNING can move to the background");
    }
    if step.approval.is_some() && to != ExecutionState::PendingApproval {
        return refused("an approval needs PENDING_APPROVAL");
    }
    if from != to && to == ExecutionState::PendingApproval && step.approval.is_none() {
        return refused("PENDING_APPROVAL needs an approval");
    }
    Ok(())
}

fn link(record: &ExecutionRecord, to: ExecutionState, step: &Transition) -> Option<LinkState> {
    match to {
        ExecutionState::Starting | ExecutionState::Running => step.link.unwrap_or(record.link),
        ExecutionState::PendingApproval | ExecutionState::Queued | ExecutionState::Finished => None,
    }
}

fn owner_changes(record: &ExecutionRecord, step: &Transition) -> bool {
    step.lease.as_ref().is_some_and(|(server, _)| record.owner_server.as_ref() != Some(server))
}

/// Returns the result to store. If the execution does not move its session, the directory is marked
/// as not kept.
fn kept(mut result: ExecutionResult, moves_session: bool) -> ExecutionResult {
    let says_so = matches!(result.directory_report, DirectoryReport::Reported | DirectoryReport::SnappedBack);
    if says_so && !moves_session {
        result.directory_report = DirectoryReport::NotKept;
    }
    result
}

/// Completes a new approval and makes the execution wait for it.
fn opened(record: &mut ExecutionRecord, approval: ApprovalRecord, valid: i64, now: Micros) -> ApprovalRecord {
    record.approval_id = Some(approval.id);
    open(record, approval, valid, now)
}

/// Completes a new approval.
fn open(record: &ExecutionRecord, mut approval: ApprovalRecord, valid: i64, now: Micros) -> ApprovalRecord {
    approval.execution_id = record.id;
    approval.state = ApprovalState::Open;
    approval.created = now;
    approval.expires = Micros(now.0.saturating_add(valid));
    approval.decided_by.clear();
    approval.reason.clear();
    approval
}

fn change(record: &ExecutionRecord, at: Micros) -> StateChange {
    StateChange {
        version: record.version,
        state: record.state,
        link: record.link,
        at,
        approval_id: record.approval_id.filter(|_| record.state == ExecutionState::PendingApproval),
        backgrounded_by: record.backgrounded,
    }
}

fn refused<T>(why: &str) -> Result<T, NotPermitted> {
    Err(NotPermitted(why.to_owned()))
}
