//! Tests of the queue: the executions that are taken, their order, and the accounting per tenant.

use airlock_domain::{Cause, ExecutionId, ExecutionState};

use super::fixtures::*;
use crate::{
    Created, NewExecution, Room, Store, TakeQueued, Transition, fair,
    record::{ExecutionRecord, SessionRecord},
};

pub(super) fn taking(server: &str, at_most: u32) -> TakeQueued {
    TakeQueued {
        server_id: server.to_owned(),
        runner: runner("runner-1"),
        at_most,
        lease_micros: HOUR,
        hold_micros: HOUR,
    }
}

async fn take(store: &dyn Store, server: &str, at_most: u32) -> Vec<ExecutionId> {
    let taken = store.take_queued(&taking(server, at_most)).await.unwrap();
    taken.into_iter().map(|(id, _)| id).collect()
}

/// Creates a queued execution in a new session.
async fn waits(store: &dyn Store, tenant: &str, weight: u32) -> ExecutionRecord {
    let session = opened(store, tenant).await;
    let mut record = execution(&session);
    record.owner_server = Some("server-1".to_owned());
    create(store, NewExecution { room: Room { weight, ..ROOMY }, ..new(record) }).await
}

async fn in_session(store: &dyn Store, session: &SessionRecord) -> ExecutionRecord {
    create(store, new(serial(session))).await
}

pub(crate) async fn the_next_of_a_runner_is_whose_tenant_stands_furthest_back(store: &dyn Store) {
    let mut heavy = Vec::new();
    for _ in 0..12 {
        heavy.push(waits(store, TENANT, 1).await);
    }
    let light = waits(store, OTHER, 1).await;
    assert_eq!(
        take(store, "server-1", 2).await,
        [heavy[0].id, light.id],
        "one of each tenant, the oldest first"
    );
    assert_eq!(store.execution(heavy[0].id).await.unwrap().unwrap().state, ExecutionState::Queued);

    // Compare each placement with the pure functions, with two different weights.
    let weighty = [waits(store, "c", 4).await, waits(store, "c", 4).await, waits(store, "c", 4).await];
    step(store, &light, offer()).await;
    let mut served = [(TENANT, 0, 1), ("c", 0, 4), (OTHER, fair::cost(1), 1)];
    let mut left =
        [heavy.iter().map(|record| record.id).collect::<Vec<_>>(), weighty.map(|r| r.id).to_vec(), vec![]];
    for _ in 0..12 {
        let head = served.iter().map(|(_, served, _)| *served).max().unwrap();
        let after = |index: &usize| fair::after(served[*index].1, head, fair::cost(served[*index].2));
        let next = [0, 1].into_iter().filter(|index| !left[*index].is_empty()).min_by_key(after).unwrap();
        let expected = left[next].remove(0);
        assert_eq!(take(store, "server-1", 1).await, [expected], "{served:?}");
        let record = store.execution(expected).await.unwrap().unwrap();
        step(store, &record, offer()).await;
        served[next].1 = after(&next);
    }
}

pub(crate) async fn only_what_has_its_turn_is_taken(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let (first, second) = (in_session(store, &session).await, in_session(store, &session).await);
    let beside = create(store, new(execution(&session))).await;
    assert_eq!(
        take(store, "server-1", 9).await,
        [first.id, beside.id],
        "not the commands after the first one"
    );
    let elsewhere = TakeQueued { runner: runner("runner-2"), ..taking("server-1", 9) };
    assert_eq!(store.take_queued(&elsewhere).await.unwrap(), []);
    let first = store.execution(first.id).await.unwrap().unwrap();
    let first = step(store, &first, offer()).await;
    assert_eq!(take(store, "server-1", 9).await, [beside.id], "the first is on its runner");
    let first = step(store, &first, run()).await;
    step(store, &first, end(result(Cause::Exited { code: 0 }))).await;
    assert_eq!(take(store, "server-1", 9).await, [second.id, beside.id]);
}

pub(crate) async fn what_a_runner_refused_is_taken_again(store: &dyn Store) {
    let record = waits(store, TENANT, 1).await;
    assert_eq!(take(store, "server-2", 1).await, [record.id]);
    let taken = store.execution(record.id).await.unwrap().unwrap();
    assert_eq!((taken.owner_server.as_deref(), taken.version), (Some("server-2"), 2));
    let history = store.state_changes(record.id, 0).await.unwrap();
    assert_eq!(history.iter().map(|change| change.version).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(take(store, "server-1", 1).await, [], "the reservation belongs to the other server");
    assert_eq!(take(store, "server-2", 1).await, [record.id], "which may take it again");
    let offered = step(store, &taken, offer()).await;
    assert_eq!(take(store, "server-2", 1).await, []);
    let back = Transition { state: Some(ExecutionState::Queued), ..Transition::default() };
    step(store, &offered, back).await;
    assert_eq!(take(store, "server-1", 1).await, [record.id]);
}

async fn try_one(store: &dyn Store, room: Room, session: &SessionRecord) -> Created<ExecutionRecord> {
    store.create_execution(NewExecution { room, ..new(execution(session)) }).await.unwrap()
}

fn later(made: &Created<ExecutionRecord>) -> Option<(&'static str, u64, i64)> {
    match made {
        Created::Later { limit, value, wait_micros } => Some((limit, *value, *wait_micros)),
        _ => None,
    }
}

pub(crate) async fn starts_are_paced(store: &dyn Store) {
    let (session, other) = (opened(store, TENANT).await, opened(store, OTHER).await);
    let slow = Room { starts_per_second: 1, ..ROOMY };
    assert_eq!(later(&try_one(store, slow, &session).await), None);
    // Creations that succeed meanwhile advance the rate limit, so this ends even on a slow host.
    let mut told = None;
    while told.is_none() {
        told = later(&try_one(store, slow, &session).await);
    }
    let Some((limit, value, wait)) = told else { panic!("{told:?}") };
    assert_eq!((limit, value), ("starts_per_second", 1));
    assert!((1..=1_000_000).contains(&wait), "{wait}");
    assert_eq!(later(&try_one(store, slow, &other).await), None, "each tenant has its own rate");
    let denial = NewExecution { room: slow, ..denied(&session) };
    assert!(
        matches!(store.create_execution(denial).await.unwrap(), Created::New(_)),
        "a denial does not count as a start"
    );
}

pub(crate) async fn denials_are_paced(store: &dyn Store) {
    let (session, other) = (opened(store, TENANT).await, opened(store, OTHER).await);
    let slow = Room { denials_per_second: 1, ..ROOMY };
    let deny =
        async |session| store.create_execution(NewExecution { room: slow, ..denied(session) }).await.unwrap();
    let mut told = None;
    while told.is_none() {
        told = later(&deny(&session).await);
    }
    let Some((limit, value, wait)) = told else { panic!("{told:?}") };
    assert_eq!((limit, value), ("denials_per_second", 1));
    assert!((1..=1_000_000).contains(&wait), "{wait}");
    assert_eq!(later(&deny(&other).await), None, "each tenant has its own rate");
    let start = try_one(store, slow, &session).await;
    assert!(
        matches!(start, Created::New(_)),
        "a tenant with too many denials may still start allowed commands"
    );
}

pub(crate) async fn output_is_counted_by_the_day(store: &dyn Store) {
    // The test must not span midnight. In the last minute of the day, wait for the next day.
    const DAY: i64 = 24 * HOUR;
    let left = DAY - store.now().await.unwrap().0 % DAY;
    if left < HOUR / 60 {
        super::sessions::later(store, left).await;
    }
    let (session, other) = (opened(store, TENANT).await, opened(store, OTHER).await);
    let record = in_session(store, &session).await;
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    let mut written = result(Cause::Exited { code: 0 });
    (written.stdout_bytes, written.stderr_bytes) = (90, 10);
    step(store, &record, end(written)).await;
    let room = |output_bytes_per_day| Room { output_bytes_per_day, ..ROOMY };
    let (limit, value, wait) = later(&try_one(store, room(100), &session).await).unwrap();
    assert_eq!((limit, value), ("output_bytes_per_day", 100));
    assert!((1..=24 * 3600 * 1_000_000).contains(&wait), "{wait}");
    assert_eq!(later(&try_one(store, room(101), &session).await), None);
    assert_eq!(later(&try_one(store, room(1), &other).await), None);

    // The size that a misbehaving runner reports counts only up to the limit.
    let record = in_session(store, &other).await;
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    let mut lied = result(Cause::Exited { code: 0 });
    (lied.stdout_bytes, lied.stderr_bytes) = (u64::MAX, u64::MAX);
    step(store, &record, end(lied)).await;
    assert_eq!(later(&try_one(store, room(fair::OUTPUT_COUNTED_MOST + 1), &other).await), None);
    assert!(later(&try_one(store, room(fair::OUTPUT_COUNTED_MOST), &other).await).is_some());
}

pub(crate) async fn a_tenant_s_own_queue_is_limited(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let own = Room { queue_per_tenant: 1, ..ROOMY };
    let try_one = async |session: &SessionRecord| {
        store.create_execution(NewExecution { room: own, ..new(execution(session)) }).await.unwrap()
    };
    let Created::New(first) = try_one(&session).await else { panic!("there is room") };
    assert_eq!(try_one(&session).await, Created::Full { limit: "queue_per_tenant", value: 1 });
    assert!(matches!(try_one(&opened(store, OTHER).await).await, Created::New(_)));
    step(store, &first, offer()).await;
    assert!(matches!(try_one(&session).await, Created::New(_)), "an execution on a runner no longer waits");
}
