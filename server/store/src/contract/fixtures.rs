//! Test records, and the usual steps of an execution.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::{
    ApprovalId, BoundFile, Cause, CommandSpec, Connection, ConnectionProtocol, ConnectionVerdict,
    DirectoryReport, Epoch, ExecutionResult, ExecutionState, FileState, Given, HookAnswer, HookBinding,
    HookOutcome, InlineOutput, InlineText, LinkState, Mode, NetworkRules, OutputState, Pty, RunnerId, Shell,
    Started, TerminalSize, Violation, ViolationAction,
};

use crate::{
    Cas, Created, NewExecution, PageQuery, Store, Transition,
    record::{
        ApprovalRecord, ApprovalState, DecisionRecord, ExecutionRecord, ExecutionSpec, Micros, SessionRecord,
        Verdict,
    },
};

pub(super) use crate::testing::ROOMY;
use crate::testing::records::record;
pub(crate) use crate::testing::records::session;

pub(crate) const TENANT: &str = "acme";
pub(super) const OTHER: &str = "other";
/// One hour in microseconds. Longer than any test.
pub(crate) const HOUR: i64 = 3_600_000_000;
/// More than any test creates.
pub(crate) const MANY: u64 = 1_000_000;

pub(crate) async fn opened(store: &dyn Store, tenant: &str) -> SessionRecord {
    match store.create_session(session(tenant), MANY).await.unwrap() {
        Created::New(session) => session,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn execution(session: &SessionRecord) -> ExecutionRecord {
    ExecutionRecord {
        version: 0,
        session_id: session.id,
        tenant: session.tenant.clone(),
        principal: session.principal.clone(),
        request_hash: [1; 32],
        spec: spec(),
        decision: decision(Verdict::Allow),
        owner_server: Some("server-1".to_owned()),
        lease_until: Micros(5),
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
        ..record(ExecutionState::Queued)
    }
}

/// Returns a specification in which most fields have a value other than their default.
pub(crate) fn spec() -> ExecutionSpec {
    ExecutionSpec {
        command: CommandSpec {
            text: b"printf '\xff' | wc -c".to_vec(),
            shell: Shell::Bash,
            directory: b"/workspace/\xfe".to_vec(),
            env: BTreeMap::from([("EMPTY".to_owned(), Vec::new()), ("A".to_owned(), vec![0x80])]),
            stdin: true,
            pty: Some(Pty { size: TerminalSize { rows: 50, cols: 132 }, term: "xterm".to_owned() }),
            separate_stderr: true,
            timeout: Duration::new(120, 1),
            idle_timeout: Some(Duration::new(60, 1_000)),
            inline_limit: 1234,
            umask: "027".parse().unwrap(),
            network: Some(NetworkRules { allow: vec!["github".to_owned()], ..NetworkRules::default() }),
        },
        given: Given { timeout: true, ..Given::default() },
        background: false,
        yield_after: Some(Duration::from_secs(15)),
        description: "Count \u{202e}bytes".to_owned(),
        wait_for_approval: true,
        mode: Mode::Plan,
        allow_concurrent: false,
        dangerously_disable_sandbox: false,
        labels: labels(&[("job", "7"), ("team", "blue")]),
    }
}

/// Returns a serial execution, which moves its session.
pub(crate) fn serial(session: &SessionRecord) -> ExecutionRecord {
    let mut record = execution(session);
    record.decision.concurrency_safe = false;
    record
}

pub(crate) fn new(record: ExecutionRecord) -> NewExecution {
    NewExecution {
        record,
        peer: "127.0.0.1:4444".to_owned(),
        approval: None,
        approval_valid_micros: 0,
        session: None,
        room: ROOMY,
    }
}

/// Returns an execution with an approval that is valid for `valid` microseconds.
pub(super) fn waiting(session: &SessionRecord, valid: i64) -> NewExecution {
    let mut record = execution(session);
    record.state = ExecutionState::PendingApproval;
    record.decision = decision(Verdict::Ask);
    let approval = Some(approval(&record));
    NewExecution { approval, approval_valid_micros: valid, ..new(record) }
}

/// Returns an execution that policy denied.
pub(crate) fn denied(session: &SessionRecord) -> NewExecution {
    let mut record = execution(session);
    record.state = ExecutionState::Finished;
    record.decision = decision(Verdict::Deny);
    record.result = Some(ExecutionResult::not_started(Cause::Denied {
        by: airlock_domain::DeniedBy::Policy,
        reason: "a rule".to_owned(),
    }));
    new(record)
}

pub(super) fn approval(record: &ExecutionRecord) -> ApprovalRecord {
    ApprovalRecord {
        id: ApprovalId::new(),
        execution_id: record.id,
        session_id: record.session_id,
        tenant: record.tenant.clone(),
        principal: record.principal.clone(),
        state: ApprovalState::Open,
        binding: [9; 32],
        command: record.spec.command.text.clone(),
        shell: record.spec.command.shell,
        directory: record.spec.command.directory.clone(),
        description: record.spec.description.clone(),
        decision: record.decision.clone(),
        files: vec![
            BoundFile { path: b"/workspace/\xfe".to_vec(), state: FileState::Digest([6; 32]) },
            BoundFile { path: b"/a".to_vec(), state: FileState::Absent },
            BoundFile { path: b"/b".to_vec(), state: FileState::Other },
            BoundFile { path: b"/c".to_vec(), state: FileState::TooLarge },
            BoundFile { path: b"/d".to_vec(), state: FileState::Unknown },
            BoundFile { path: b"/e".to_vec(), state: FileState::Any },
        ],
        terms: vec![1, 0, 0xff],
        connection: None,
        created: Micros(0),
        expires: Micros(0),
        decided_by: String::new(),
        reason: String::new(),
    }
}

pub(super) fn decision(verdict: Verdict) -> DecisionRecord {
    DecisionRecord {
        verdict,
        reason_code: "RULE".to_owned(),
        reason_message: "a rule says so".to_owned(),
        reason_span: Some((3, 7)),
        read_only: true,
        concurrency_safe: true,
        policy_version: vec![0, 255],
        encoded: vec![1, 2, 0x80],
        hooks: vec![HookAnswer {
            hook: "classifier".to_owned(),
            binding: HookBinding([7; 32]),
            outcome: HookOutcome::Ask,
            reason: "it is unusual".to_owned(),
            required: true,
            in_effect: true,
        }],
    }
}

pub(super) fn result(cause: Cause) -> ExecutionResult {
    ExecutionResult {
        violations: vec![Violation {
            layer: "protected_names".to_owned(),
            kind: "changed".to_owned(),
            path: b"/workspace/\xff".to_vec(),
            action: ViolationAction::Quarantined,
            detail: "a line".to_owned(),
            quarantine_id: "7".to_owned(),
        }],
        scrubbed_env: vec!["NPM_TOKEN".to_owned()],
        limits_not_enforced: vec!["memory".to_owned()],
        unsandboxed: true,
        landlock_abi: 7,
        inline: Some(Arc::new(InlineOutput {
            stdout: InlineText { text: "caf\u{e9}".to_owned(), ..InlineText::default() },
            hints: vec!["<airlock-hint/>".to_owned()],
            ..InlineOutput::default()
        })),
        snapshot_problem: "it is gone".to_owned(),
        network_problem: "the runner permits none".to_owned(),
        connections: vec![connection()],
        connections_left_out: 5,
        cause,
        started: Started::Yes,
        directory: b"/workspace/src".to_vec(),
        directory_report: DirectoryReport::Reported,
        leftovers_killed: true,
        cpu_time: Duration::from_nanos(1_234_567_891),
        peak_memory: 1 << 40,
        run_time: Duration::from_millis(17),
        stdout_bytes: u64::MAX,
        stderr_bytes: 3,
        stdout_cut_bytes: 2,
        stderr_cut_bytes: 1,
    }
}

pub(super) fn connection() -> Connection {
    Connection {
        host: "refused.example".to_owned(),
        port: 443,
        protocol: ConnectionProtocol::Connect,
        verdict: ConnectionVerdict::Refused,
        rule: "*.example".to_owned(),
        layer: "session".to_owned(),
        other_layers: vec!["floor".to_owned()],
        address_kind: "private".to_owned(),
        reason: "a remedy".to_owned(),
        bytes_up: 1,
        bytes_down: 2,
        started_micros: 1_700_000_000_000_001,
        duration: Duration::from_micros(7),
    }
}

pub(crate) async fn create(store: &dyn Store, new: NewExecution) -> ExecutionRecord {
    match store.create_execution(new).await.unwrap() {
        Created::New(record) => record,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn queued(store: &dyn Store, session: &SessionRecord) -> ExecutionRecord {
    create(store, new(execution(session))).await
}

pub(super) async fn step(store: &dyn Store, record: &ExecutionRecord, step: Transition) -> ExecutionRecord {
    match store.transition(record.id, record.version, &step).await.unwrap() {
        Cas::Done(record) => record,
        other => panic!("{other:?}"),
    }
}

pub(super) fn offer() -> Transition {
    Transition {
        state: Some(ExecutionState::Starting),
        link: Some(Some(LinkState::Connected)),
        offer: Some((runner("runner-1"), Epoch::from_bytes([3; 16]))),
        ..Transition::default()
    }
}

pub(super) fn run() -> Transition {
    Transition {
        state: Some(ExecutionState::Running),
        output: Some(OutputState::Live),
        ..Transition::default()
    }
}

pub(super) fn end(result: ExecutionResult) -> Transition {
    Transition { state: Some(ExecutionState::Finished), result: Some(result), ..Transition::default() }
}

pub(crate) async fn finished(store: &dyn Store, session: &SessionRecord) -> ExecutionRecord {
    let record = queued(store, session).await;
    step(store, &record, end(ExecutionResult::not_started(Cause::QueueExpired))).await
}

/// Sets the output state of an ended execution without the checks of `set_output`.
pub(crate) async fn put_output(store: &dyn Store, ended: &ExecutionRecord, output: OutputState) {
    step(store, ended, Transition { output: Some(output), ..Transition::default() }).await;
}

pub(super) fn runner(name: &str) -> RunnerId {
    name.parse().unwrap()
}

pub(super) fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn first(size: u32) -> PageQuery {
    PageQuery { size, token: None }
}
