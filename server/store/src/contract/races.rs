//! Tests of concurrent calls and of cancelled calls.

use std::{collections::BTreeSet, time::Duration};

use airlock_domain::{Cause, ExecutionId, ExecutionResult, ExecutionState, LinkState};
use futures::future::join_all;

use super::{
    approvals::answer,
    fixtures::{
        HOUR, ROOMY, TENANT, create, end, execution, first, new, offer, opened, queued, result, run, step,
        waiting,
    },
};
use crate::{
    Cas, Created, ExecutionQuery, NewExecution, Room, Store, Transition,
    record::{ApprovalState, AuditRecord, ExecutionRecord, SessionRecord, StateChange},
};

pub(crate) async fn one_of_many_steps_from_a_version_wins(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    let ends = (0..20u8).map(|code| {
        let id = record.id;
        async move { store.transition(id, 3, &end(result(Cause::Exited { code }))).await.unwrap() }
    });
    let mut won = Vec::new();
    let mut seen = Vec::new();
    for outcome in join_all(ends).await {
        match outcome {
            Cas::Done(record) => won.push(record),
            Cas::Stale(record) => seen.push(record),
            Cas::Missing => panic!("missing"),
        }
    }
    assert_eq!((won.len(), seen.len()), (1, 19));
    assert!(seen.iter().all(|record| *record == won[0]));
    assert_eq!(store.execution(record.id).await.unwrap(), won.pop());
    assert_eq!(store.state_changes(record.id, 0).await.unwrap().len(), 4);
}

pub(crate) async fn one_of_many_equal_requests_creates(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let with_key = || ExecutionRecord { request_id: Some("key".to_owned()), ..execution(&session) };
    let mut new_ones = 0;
    let mut ids = BTreeSet::new();
    for outcome in join_all((0..20).map(|_| store.create_execution(new(with_key())))).await {
        match outcome.unwrap() {
            Created::New(record) => {
                new_ones += 1;
                ids.insert(record.id);
            }
            Created::Existing(record) => {
                ids.insert(record.id);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((new_ones, ids.len()), (1, 1));
    assert_eq!(store.audit(0, 100).await.unwrap().len(), 1);
}

pub(crate) async fn many_at_once_do_not_pass_a_limit(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let one = || NewExecution { room: Room { queue: 3, ..ROOMY }, ..new(execution(&session)) };
    let made = join_all((0..20).map(|_| store.create_execution(one()))).await;
    let new_ones = made.into_iter().filter(|made| matches!(made, Ok(Created::New(_)))).count();
    assert_eq!(new_ones, 3);
}

pub(crate) async fn no_step_is_lost_among_many(store: &dyn Store) {
    const WRITERS: u64 = 8;
    const STEPS: u64 = 10;
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let record = step(store, &record, offer()).await;
    // Each writer flips the link until it has taken its number of steps.
    let writers = (0..WRITERS).map(|_| {
        let mut seen = record.clone();
        async move {
            let mut taken = 0;
            while taken < STEPS {
                let link = match seen.link {
                    Some(LinkState::Connected) => LinkState::Unreachable,
                    _ => LinkState::Connected,
                };
                let flip = Transition { link: Some(Some(link)), ..Transition::default() };
                match store.transition(seen.id, seen.version, &flip).await.unwrap() {
                    Cas::Done(now) => {
                        taken += 1;
                        seen = now;
                    }
                    Cas::Stale(now) => seen = now,
                    Cas::Missing => panic!("missing"),
                }
            }
        }
    });
    join_all(writers).await;
    let after = store.execution(record.id).await.unwrap().unwrap();
    assert_eq!(after.version, record.version + WRITERS * STEPS);
    let versions: Vec<_> =
        store.state_changes(record.id, 0).await.unwrap().iter().map(|change| change.version).collect();
    assert_eq!(versions, (1..=after.version).collect::<Vec<_>>());
}

pub(crate) async fn a_dropped_call_happened_or_did_not(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for round in 0..120u64 {
        let record = execution(&session);
        let patience = Duration::from_micros(round * 17 % 1_500);
        let _ = tokio::time::timeout(patience, store.create_execution(new(record.clone()))).await;
        whole(store, &session, &record).await;
        if store.execution(record.id).await.unwrap().is_some() {
            let over = end(ExecutionResult::not_started(Cause::QueueExpired));
            let _ = tokio::time::timeout(patience, store.transition(record.id, 1, &over)).await;
            whole(store, &session, &record).await;
        }
    }
    // The store is still usable.
    let record = queued(store, &session).await;
    step(store, &record, end(result(Cause::RunnerLost))).await;
}

/// All rows of an execution.
#[derive(Debug, PartialEq)]
struct Whole {
    record: Option<ExecutionRecord>,
    history: Vec<StateChange>,
    entry: Option<AuditRecord>,
    entries: usize,
    executions: usize,
}

async fn look(store: &dyn Store, session: &SessionRecord, id: ExecutionId) -> Whole {
    let entries = store.audit(0, 1_000).await.unwrap();
    let all = ExecutionQuery { session_id: Some(session.id), ..ExecutionQuery::default() };
    Whole {
        record: store.execution(id).await.unwrap(),
        history: store.state_changes(id, 0).await.unwrap(),
        entries: entries.len(),
        entry: entries.into_iter().find(|entry| entry.execution_id == id),
        executions: store.executions(&all, &first(1_000)).await.unwrap().items.len(),
    }
}

/// Checks that an existing execution has its history and audit entry, and that a missing one has neither. A
/// cancelled call may still be in progress, so this reads until two consecutive results are equal.
async fn whole(store: &dyn Store, session: &SessionRecord, record: &ExecutionRecord) {
    let mut seen = look(store, session, record.id).await;
    loop {
        let again = look(store, session, record.id).await;
        if again == seen {
            break;
        }
        seen = again;
    }
    let Whole { record, history, entry, entries, executions } = seen;
    match record {
        None => assert!(history.is_empty() && entry.is_none()),
        Some(now) => {
            assert_eq!(history.len() as u64, now.version);
            let closed = entry.unwrap().closed;
            assert_eq!(closed, now.ended);
            assert_eq!(now.state == ExecutionState::Finished, closed.is_some());
        }
    }
    assert_eq!(executions, entries);
}

pub(crate) async fn an_answer_and_an_end_agree(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for _ in 0..20 {
        let record = create(store, waiting(&session, HOUR)).await;
        let id = record.approval_id.unwrap();
        let allow = answer(ApprovalState::Allowed);
        let over = end(ExecutionResult::not_started(Cause::QueueExpired));
        let (answered, ended) =
            tokio::join!(store.answer_approval(id, &allow), store.transition(record.id, 1, &over));
        assert!(matches!(ended.unwrap(), Cas::Done(_)));
        let state = store.approval(id).await.unwrap().unwrap().state;
        match answered.unwrap() {
            Cas::Done(_) => assert_eq!(state, ApprovalState::Allowed),
            Cas::Stale(_) => assert_eq!(state, ApprovalState::Withdrawn),
            Cas::Missing => panic!("missing"),
        }
    }
}
