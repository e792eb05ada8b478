//! Records for tests.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    CommandSpec, Epoch, ExecutionId, ExecutionState, Given, Mode, OutputState, RunnerHello, SessionId,
};
use airlock_proto::LINK_PROTOCOL_VERSION;

use crate::model::{DecisionRecord, ExecutionRecord, ExecutionSpec, LiveExecution, Micros, Verdict};

/// Returns an execution of `true` in this state.
pub(crate) fn record(state: ExecutionState) -> ExecutionRecord {
    ExecutionRecord {
        id: ExecutionId::new(),
        version: 1,
        session_id: SessionId::new(),
        tenant: "t".to_owned(),
        principal: "p".to_owned(),
        request_id: None,
        request_hash: [0; 32],
        spec: ExecutionSpec {
            command: CommandSpec {
                text: b"true".to_vec(),
                directory: b"/workspace".to_vec(),
                timeout: Duration::from_secs(1),
                inline_limit: 30_000,
                ..CommandSpec::default()
            },
            given: Given { timeout: true, ..Given::default() },
            background: false,
            yield_after: None,
            description: String::new(),
            wait_for_approval: false,
            mode: Mode::Default,
            allow_concurrent: false,
            dangerously_disable_sandbox: false,
            labels: BTreeMap::new(),
        },
        state,
        link: None,
        decision: DecisionRecord {
            verdict: Verdict::Allow,
            reason_code: String::new(),
            reason_message: String::new(),
            reason_span: None,
            read_only: false,
            concurrency_safe: false,
            policy_version: Vec::new(),
            encoded: Vec::new(),
        },
        runner_id: None,
        runner_epoch: None,
        attempt: 0,
        owner_server: None,
        lease_until: Micros(0),
        approval_id: None,
        cancel_requested: false,
        backgrounded: None,
        output: OutputState::None,
        result: None,
        traceparent: String::new(),
        created: Micros(0),
        queued: Micros(0),
        started: None,
        ended: None,
    }
}

/// Returns the live part of an execution in this state.
pub(crate) fn live_execution(state: ExecutionState) -> LiveExecution {
    (&record(state)).into()
}

/// Returns the hello of a correct runner.
pub(crate) fn hello(name: &str, epoch: Epoch) -> RunnerHello {
    RunnerHello {
        protocol_version: LINK_PROTOCOL_VERSION,
        runner_id: name.parse().expect("an id"),
        epoch,
        version: "0.1.0".to_owned(),
        labels: BTreeMap::new(),
        slots: 4,
        bases: vec!["repo".to_owned()],
        capabilities: Vec::new(),
        shells: BTreeMap::new(),
        clock_ms: 1000,
        vouched_epochs: Vec::new(),
        answers_probes: false,
    }
}
