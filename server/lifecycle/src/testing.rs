//! Records and events for tests.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    ApprovalId, CancelledBy, Cause, CommandSpec, Epoch, ExecutionId, ExecutionResult, ExecutionState, Given,
    JobPhase, JobReport, LinkState, Mode, OutputState, RunnerId, SessionId, Shell, Started,
};

use crate::{
    event::{Event, Offered},
    owner::Lease,
    question::{Question, Redecision},
    record::{
        ApprovalRecord, ApprovalState, DecisionRecord, ExecutionRecord, ExecutionSpec, Micros, Verdict,
    },
    report::Reported,
    results::is_placed,
};

/// The time of events. The lease of [`record`] is over.
pub(crate) const NOW: Micros = Micros(200);

pub(crate) fn runner(name: &str) -> RunnerId {
    name.parse().expect("an ID")
}

pub(crate) fn decision(verdict: Verdict) -> DecisionRecord {
    DecisionRecord {
        verdict,
        reason_code: String::new(),
        reason_message: "a reason".to_owned(),
        reason_span: None,
        read_only: false,
        concurrency_safe: false,
        policy_version: Vec::new(),
        encoded: Vec::new(),
        hooks: Vec::new(),
    }
}

/// Returns an execution in this state. A placed one has an unreachable runner, and an ended one an output there.
pub(crate) fn record(state: ExecutionState) -> ExecutionRecord {
    let was_placed = is_placed(state) || state == ExecutionState::Finished;
    let ended = state == ExecutionState::Finished;
    ExecutionRecord {
        id: ExecutionId::new(),
        version: 1,
        session_id: SessionId::new(),
        tenant: "t".to_owned(),
        principal: "p".to_owned(),
        request_id: None,
        request_hash: [0; 32],
        spec: spec(),
        state,
        link: is_placed(state).then_some(LinkState::Unreachable),
        decision: decision(Verdict::Allow),
        runner_id: was_placed.then(|| runner("r")),
        runner_epoch: was_placed.then(Epoch::new),
        attempt: u32::from(was_placed),
        owner_server: Some("one".to_owned()),
        lease_until: Micros(100),
        approval_id: (state == ExecutionState::PendingApproval).then(ApprovalId::new),
        cancel_requested: false,
        backgrounded: None,
        output: if ended { OutputState::Live } else { OutputState::None },
        result: ended.then(|| result(Cause::Exited { code: 0 })),
        traceparent: String::new(),
        created: Micros(0),
        queued: Micros(0),
        started: (state == ExecutionState::Running).then_some(Micros(1)),
        ended: ended.then_some(Micros(2)),
    }
}

fn spec() -> ExecutionSpec {
    ExecutionSpec {
        command: CommandSpec {
            text: b"true".to_vec(),
            directory: b"/workspace".to_vec(),
            timeout: Duration::from_secs(1),
            ..CommandSpec::default()
        },
        given: Given::default(),
        background: false,
        yield_after: None,
        description: String::new(),
        wait_for_approval: true,
        mode: Mode::Default,
        allow_concurrent: false,
        dangerously_disable_sandbox: false,
        labels: BTreeMap::new(),
    }
}

pub(crate) fn result(cause: Cause) -> ExecutionResult {
    ExecutionResult { started: Started::Yes, ..ExecutionResult::not_started(cause) }
}

pub(crate) fn lease(server: &str) -> Lease {
    Lease { server: server.to_owned(), micros: 50 }
}

pub(crate) fn redecision(verdict: Verdict) -> Redecision {
    Redecision { record: decision(verdict), directory: b"/workspace/x".to_vec() }
}

pub(crate) fn question(record: &ExecutionRecord) -> Question {
    let decision = redecision(Verdict::Ask);
    let approval = ApprovalRecord {
        id: ApprovalId::new(),
        execution_id: record.id,
        session_id: record.session_id,
        tenant: record.tenant.clone(),
        principal: record.principal.clone(),
        state: ApprovalState::Open,
        binding: [0; 32],
        command: record.spec.command.text.clone(),
        shell: Shell::Bash,
        directory: decision.directory.clone(),
        description: String::new(),
        decision: decision.record.clone(),
        created: Micros(0),
        expires: Micros(0),
        decided_by: String::new(),
        reason: String::new(),
        files: Vec::new(),
        terms: Vec::new(),
        connection: None,
    };
    Question { decision, approval, valid_micros: 1000 }
}

pub(crate) fn offered(name: &str) -> Event {
    let (runner, epoch) = (runner(name), Epoch::new());
    Event::Offered(Box::new(Offered { runner, epoch, lease: lease("one"), decision: None }))
}

/// Returns a report of the current offer.
pub(crate) fn reported(
    record: &ExecutionRecord,
    phase: JobPhase,
    result: Option<ExecutionResult>,
) -> Reported {
    Reported {
        runner: record.runner_id.clone().unwrap_or_else(|| runner("r")),
        report: JobReport {
            execution_id: record.id,
            attempt: record.attempt,
            epoch: record.runner_epoch.unwrap_or_else(Epoch::new),
            phase,
            result,
        },
        question: None,
        cancelled_by: CancelledBy::Client,
        attempts: 3,
        lease: lease("one"),
    }
}

/// Returns a refusal of the current offer.
pub(crate) fn refused(record: &ExecutionRecord, reason: &str) -> Reported {
    let cause = Cause::refused(reason, String::new());
    reported(record, JobPhase::Refused, Some(ExecutionResult::not_started(cause)))
}
