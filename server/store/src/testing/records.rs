//! Records for tests.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    CommandSpec, ExecutionId, ExecutionState, Given, Mode, NetworkRules, OutputState, SessionId,
    SessionSnapshot, Shell,
};

use crate::record::{
    DecisionRecord, ExecutionRecord, ExecutionSpec, LiveExecution, Micros, SessionRecord, SessionState,
    Verdict,
};

/// Returns an execution of `true` in this state.
#[must_use]
pub fn record(state: ExecutionState) -> ExecutionRecord {
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
            hooks: Vec::new(),
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
#[must_use]
pub fn live_execution(state: ExecutionState) -> LiveExecution {
    (&record(state)).into()
}

/// Returns an open session in which most fields have a value other than their default.
#[must_use]
pub fn session(tenant: &str) -> SessionRecord {
    SessionRecord {
        id: SessionId::new(),
        version: 0,
        tenant: tenant.to_owned(),
        principal: "alice".to_owned(),
        request_id: None,
        request_hash: [7; 32],
        state: SessionState::Open,
        state_message: String::new(),
        profile: "default".to_owned(),
        mode: Mode::AcceptEdits,
        shell: Shell::Bash,
        directory: b"/workspace".to_vec(),
        env: BTreeMap::from([("BYTES".to_owned(), vec![0xff, 0x00, b'=', b'"'])]),
        runner_id: "runner-1".parse().unwrap(),
        base: "repo".to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "blue".to_owned())]),
        runner_labels: BTreeMap::from([("zone".to_owned(), "north".to_owned())]),
        idle_timeout: Duration::from_secs(3600),
        throwaway: false,
        snapshot: SessionSnapshot { text: b"# PATH=/bin\nalias a=b\n".to_vec(), problem: String::new() },
        network: Some(NetworkRules {
            any: false,
            allow: vec!["pypi".to_owned(), "*.example.com:8080".to_owned()],
            deny: vec!["files.example.com".to_owned()],
            warn: true,
            ask: vec!["api.example.com".to_owned()],
        }),
        created: Micros(0),
        last_used: Micros(0),
    }
}
