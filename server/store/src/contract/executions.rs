//! Tests of creating and reading executions.

use airlock_domain::{
    BoundFile, CancelledBy, Cause, DeniedBy, DirectoryReport, ExecutionId, ExecutionState, FileState,
    OutputState, SessionId, Started, TimeoutKind,
};

use super::{
    fixtures::{
        HOUR, OTHER, ROOMY, TENANT, approval, create, denied, end, execution, finished, new, offer, opened,
        put_output, queued, result, run, serial, session, step, waiting,
    },
    sessions::later,
};
use crate::{
    ApprovalAnswer, Created, NewExecution, Room, Store, StoreError, Transition,
    record::{ApprovalState, ExecutionRecord, LiveExecution, StateChange},
};

pub(crate) async fn an_execution_reads_back_as_it_was_written(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let before = store.now().await.unwrap();
    let mut wanted = execution(&session);
    wanted.request_id = Some("key \u{1f511}".to_owned());
    let made = create(store, new(wanted.clone())).await;
    assert!(made.created >= before);
    wanted.version = 1;
    wanted.created = made.created;
    wanted.queued = made.created;
    assert_eq!(made, wanted);
    assert_eq!(store.execution(wanted.id).await.unwrap(), Some(wanted.clone()));
    let by_key = store.execution_by_request(TENANT, "alice", "key \u{1f511}").await.unwrap();
    assert_eq!(by_key, Some(wanted.clone()));
    assert_eq!(store.execution(ExecutionId::new()).await.unwrap(), None);
    let first = StateChange {
        backgrounded_by: None,
        version: 1,
        state: ExecutionState::Queued,
        link: None,
        at: made.created,
        approval_id: None,
    };
    assert_eq!(store.state_changes(wanted.id, 0).await.unwrap(), vec![first]);
}

pub(crate) async fn every_cause_and_output_state_reads_back(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let text = || "why \" \\ \u{0}".to_owned();
    let mut causes = vec![
        Cause::Exited { code: 255 },
        Cause::Signaled { signal: 11, core: true },
        Cause::OomKilled,
        Cause::OutputLimit,
        Cause::DiskLimit,
        Cause::ApprovalExpired,
        Cause::QueueExpired,
        Cause::Refused {
            reason: text(),
            message: text(),
            files: vec![BoundFile { path: b"/workspace/x".to_vec(), state: FileState::Digest([5; 32]) }],
        },
        Cause::SandboxFailed { step: text(), message: text(), hint: text() },
        Cause::ShellUnavailable { message: text() },
        Cause::RunnerLost,
        Cause::Internal { message: text() },
    ];
    causes.extend([TimeoutKind::Wall, TimeoutKind::Idle].map(Cause::TimedOut));
    use CancelledBy::{Admin, Client, Disconnect, Drain, Session};
    causes.extend([Client, Admin, Disconnect, Session, Drain].map(Cause::Cancelled));
    let denials = [DeniedBy::Policy, DeniedBy::Person, DeniedBy::NobodyToAsk];
    causes.extend(denials.map(|by| Cause::Denied { by, reason: text() }));
    let outputs = [
        OutputState::None,
        OutputState::Live,
        OutputState::Storing,
        OutputState::Stored,
        OutputState::Partial { from: 1 << 40 },
        OutputState::Lost,
    ];
    let reports = [DirectoryReport::Unchanged, DirectoryReport::SnappedBack, DirectoryReport::NotKept];
    let started = [Started::No, Started::Unknown];
    for (number, cause) in causes.into_iter().enumerate() {
        let record = create(store, new(serial(&session))).await;
        let mut wanted = result(cause);
        wanted.directory_report = reports[number % reports.len()];
        wanted.started = started[number % started.len()];
        let ended = step(store, &record, end(wanted.clone())).await;
        assert_eq!(ended.result, Some(wanted));
        let output = outputs[number % outputs.len()];
        put_output(store, &ended, output).await;
        let read = store.execution(record.id).await.unwrap().unwrap();
        assert_eq!(read, ExecutionRecord { output, ..ended });
    }
}

pub(crate) async fn the_same_key_and_request_give_the_same_execution(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let with_key = || ExecutionRecord { request_id: Some("key".to_owned()), ..execution(&session) };
    let made = create(store, new(with_key())).await;
    let again = store.create_execution(new(with_key())).await.unwrap();
    assert_eq!(again, Created::Existing(made.clone()));
    let started = step(store, &made, offer()).await;
    let again = store.create_execution(new(with_key())).await.unwrap();
    assert_eq!(again, Created::Existing(started));
    let other = ExecutionRecord { request_hash: [2; 32], ..with_key() };
    assert_eq!(store.create_execution(new(other)).await.unwrap(), Created::Conflict);
    assert_eq!(store.audit(0, 10).await.unwrap().len(), 1);
}

pub(crate) async fn a_key_belongs_to_one_tenant_and_principal(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let with_key = || ExecutionRecord { request_id: Some("key".to_owned()), ..execution(&session) };
    let made = create(store, new(with_key())).await;
    create(store, new(ExecutionRecord { principal: "bob".to_owned(), ..with_key() })).await;
    create(store, new(ExecutionRecord { tenant: OTHER.to_owned(), ..with_key() })).await;
    let found = store.execution_by_request(TENANT, "alice", "key").await.unwrap();
    assert_eq!(found, Some(made));
    assert_eq!(store.execution_by_request(TENANT, "carol", "key").await.unwrap(), None);
    assert_eq!(store.execution_by_request(TENANT, "alice", "KEY").await.unwrap(), None);
    // Without a request ID, each call creates a new execution.
    create(store, new(execution(&session))).await;
    create(store, new(execution(&session))).await;
}

pub(crate) async fn an_execution_needs_a_session(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let orphan = ExecutionRecord { session_id: SessionId::new(), ..execution(&session) };
    let refused = store.create_execution(new(orphan.clone())).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    assert_eq!(store.execution(orphan.id).await.unwrap(), None);
    assert_eq!(store.audit(0, 10).await.unwrap(), vec![]);
}

pub(crate) async fn impossible_beginnings_are_refused(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let base = || execution(&session);
    let in_state = |state| new(ExecutionRecord { state, ..base() });
    let queued_with_result = new(ExecutionRecord { result: Some(result(Cause::RunnerLost)), ..base() });
    let queued_with_approval = NewExecution { approval: Some(approval(&base())), ..new(base()) };
    for impossible in [
        in_state(ExecutionState::Starting),
        in_state(ExecutionState::Running),
        in_state(ExecutionState::Finished),
        in_state(ExecutionState::PendingApproval),
        queued_with_result,
        queued_with_approval,
    ] {
        let id = impossible.record.id;
        let error = store.create_execution(impossible).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
        assert_eq!(store.execution(id).await.unwrap(), None);
    }
    let twice = base();
    create(store, new(twice.clone())).await;
    let error = store.create_execution(new(twice)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
}

pub(crate) async fn live_executions_are_counted_per_tenant(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let other = opened(store, OTHER).await;
    queued(store, &other).await;
    let record = queued(store, &session).await;
    let record = step(store, &record, offer()).await;
    step(store, &record, run()).await;
    create(store, waiting(&session, HOUR)).await;
    create(store, denied(&session)).await;
    finished(store, &session).await;
    let two = NewExecution { room: Room { executions_per_tenant: 2, ..ROOMY }, ..new(execution(&session)) };
    let full = Created::Full { limit: "executions_per_tenant", value: 2 };
    assert_eq!(store.create_execution(two.clone()).await.unwrap(), full);
    assert_eq!(store.execution(two.record.id).await.unwrap(), None);
    let denied = NewExecution { room: two.room, ..denied(&session) };
    create(store, denied).await;
    let of_other = NewExecution { room: two.room, ..new(execution(&other)) };
    create(store, of_other).await;
}

pub(crate) async fn room_in_a_session_and_in_the_queue_is_counted(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let other = opened(store, OTHER).await;
    let placed = queued(store, &session).await;
    step(store, &placed, offer()).await;
    queued(store, &session).await;
    let with = |session, room| NewExecution { room, ..new(execution(session)) };
    let of_session = Room { executions_per_session: 2, ..ROOMY };
    let full = Created::Full { limit: "executions_per_session", value: 2 };
    assert_eq!(store.create_execution(with(&session, of_session)).await.unwrap(), full);
    let of_queue = Room { queue: 1, ..ROOMY };
    let full = Created::Full { limit: "queue", value: 1 };
    assert_eq!(store.create_execution(with(&other, of_queue)).await.unwrap(), full);
    create(store, with(&other, Room { queue: 2, ..of_session })).await;
}

pub(crate) async fn a_session_made_with_its_execution_is_there_with_it_or_not_at_all(store: &dyn Store) {
    let room = Room { sessions_per_tenant: 1, ..ROOMY };
    let with_session = || {
        let session = session(TENANT);
        NewExecution { session: Some(session.clone()), room, ..new(execution(&session)) }
    };
    let made = create(store, with_session()).await;
    assert_eq!(store.session(made.session_id).await.unwrap().unwrap().version, 1);
    let second = with_session();
    let full = Created::Full { limit: "sessions_per_tenant", value: 1 };
    assert_eq!(store.create_execution(second.clone()).await.unwrap(), full);
    assert_eq!(store.session(second.record.session_id).await.unwrap(), None);
    let mut closed = with_session();
    closed.session.as_mut().unwrap().state = crate::record::SessionState::Closed;
    create(store, closed).await;
}

pub(crate) async fn a_creation_uses_the_session(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    later(store, 3_000).await;
    let record = queued(store, &session).await;
    let used = store.session(session.id).await.unwrap().unwrap();
    assert_eq!(used.last_used, record.created);
    assert_eq!(used.version, session.version);
}

pub(crate) async fn what_lives_is_found_oldest_first_with_what_is_next_for_it(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    finished(store, &session).await;
    create(store, denied(&session)).await;
    let placed = create(store, new(serial(&session))).await;
    let placed = step(store, &placed, offer()).await;
    let asked = create(store, waiting(&session, HOUR)).await;
    let mut apart = execution(&session);
    apart.decision.concurrency_safe = false;
    apart.spec.allow_concurrent = true;
    let apart = create(store, new(apart)).await;
    let elsewhere = queued(store, &opened(store, OTHER).await).await;
    let all = [&placed, &asked, &apart, &elsewhere].map(LiveExecution::from);
    assert_eq!(store.live_executions(None, None, 10).await.unwrap(), all);
    assert_eq!(all.iter().map(|live| live.serial).collect::<Vec<_>>(), [true, false, false, false]);
    assert_eq!(store.live_executions(Some(session.id), None, 10).await.unwrap(), all[..3]);
    assert_eq!(store.live_executions(None, Some(placed.id), 2).await.unwrap(), all[1..3]);

    let answer = ApprovalAnswer {
        state: ApprovalState::Denied,
        decided_by: "bob".to_owned(),
        reason: String::new(),
        remember: None,
    };
    store.answer_approval(asked.approval_id.unwrap(), &answer).await.unwrap();
    let answered: Vec<_> =
        store.live_executions(None, None, 10).await.unwrap().iter().map(|live| live.is_answered).collect();
    assert_eq!(answered, [false, true, false, false]);
    // A new decision can change whether the execution is serial.
    let mut safe = placed.decision.clone();
    safe.concurrency_safe = true;
    let decision = Some((safe, placed.spec.command.directory.clone()));
    step(store, &placed, Transition { decision, ..Transition::default() }).await;
    assert!(!store.live_executions(None, None, 1).await.unwrap()[0].serial);
}
