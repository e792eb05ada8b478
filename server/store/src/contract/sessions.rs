//! Tests of sessions.

use std::time::Duration;

use super::fixtures::{
    MANY, OTHER, TENANT, create, end, execution, new, opened, queued, result, runner, session, step,
};
use crate::{
    Cas, Created, NetworkChange, SessionChange, Store,
    record::{Micros, SessionLevels, SessionRecord, SessionState},
};
use airlock_domain::{Cause, Mode, NetworkRules, SessionId, SessionSnapshot};

pub(crate) async fn a_session_reads_back_as_it_was_written(store: &dyn Store) {
    let before = store.now().await.unwrap();
    let mut wanted = session(TENANT);
    wanted.request_id = Some("key".to_owned());
    wanted.state = SessionState::Opening;
    wanted.throwaway = true;
    let Created::New(made) = store.create_session(wanted.clone(), MANY).await.unwrap() else {
        panic!("not new")
    };
    assert_eq!(made.version, 1);
    assert!(made.created >= before && made.created == made.last_used);
    wanted.version = 1;
    wanted.created = made.created;
    wanted.last_used = made.last_used;
    assert_eq!(made, wanted);
    assert_eq!(store.session(wanted.id).await.unwrap(), Some(wanted));
    assert_eq!(store.session(SessionId::new()).await.unwrap(), None);
}

pub(crate) async fn a_session_key_is_idempotent_and_bound_to_its_request(store: &dyn Store) {
    let with_key = || SessionRecord { request_id: Some("key".to_owned()), ..session(TENANT) };
    let Created::New(made) = store.create_session(with_key(), MANY).await.unwrap() else { panic!("not new") };
    assert_eq!(store.create_session(with_key(), MANY).await.unwrap(), Created::Existing(made));
    let other_request = SessionRecord { request_hash: [8; 32], ..with_key() };
    assert_eq!(store.create_session(other_request, MANY).await.unwrap(), Created::Conflict);
    let other_tenant = SessionRecord { tenant: OTHER.to_owned(), ..with_key() };
    assert!(matches!(store.create_session(other_tenant, MANY).await.unwrap(), Created::New(_)));
}

pub(crate) async fn a_session_changes_only_from_its_current_version(store: &dyn Store) {
    let made = opened(store, TENANT).await;
    let close = SessionChange {
        state: Some((SessionState::Closing, "asked".to_owned())),
        directory: Some(b"/workspace/\xff".to_vec()),
        runner_id: Some(runner("runner-2")),
        snapshot: Some(SessionSnapshot::missing("it is gone")),
        ..SessionChange::default()
    };
    let Cas::Done(changed) = store.change_session(made.id, 1, &close).await.unwrap() else {
        panic!("not done")
    };
    let wanted = SessionRecord {
        version: 2,
        state: SessionState::Closing,
        state_message: "asked".to_owned(),
        directory: b"/workspace/\xff".to_vec(),
        runner_id: runner("runner-2"),
        snapshot: SessionSnapshot::missing("it is gone"),
        ..made.clone()
    };
    assert_eq!(changed, wanted);
    assert_eq!(store.session(made.id).await.unwrap(), Some(wanted.clone()));
    assert_eq!(store.change_session(made.id, 1, &close).await.unwrap(), Cas::Stale(wanted));
    assert_eq!(store.change_session(SessionId::new(), 1, &close).await.unwrap(), Cas::Missing);
}

pub(crate) async fn what_a_runner_says_may_hold_any_character(store: &dyn Store) {
    let made = opened(store, TENANT).await;
    let said = "a\0b \u{202e}\u{10ffff}\n";
    let lost = SessionChange {
        state: Some((SessionState::Lost, said.to_owned())),
        snapshot: Some(SessionSnapshot::missing(said)),
        ..SessionChange::default()
    };
    assert!(matches!(store.change_session(made.id, 1, &lost).await.unwrap(), Cas::Done(_)));
    let read = store.session(made.id).await.unwrap().unwrap();
    // An engine that cannot store NUL shows a replacement character.
    for text in [read.state_message, read.snapshot.problem] {
        assert!([said.to_owned(), said.replace('\0', "\u{fffd}")].contains(&text), "{text:?}");
    }
}

pub(crate) async fn only_open_unused_sessions_without_live_executions_are_idle(store: &dyn Store) {
    let short = |state| SessionRecord { state, idle_timeout: Duration::from_millis(1), ..session(TENANT) };
    let add = async |session| match store.create_session(session, MANY).await.unwrap() {
        Created::New(session) => session,
        other => panic!("{other:?}"),
    };
    let idle = add(short(SessionState::Open)).await;
    let busy = add(short(SessionState::Open)).await;
    add(short(SessionState::Closing)).await;
    opened(store, TENANT).await;
    let live = queued(store, &busy).await;
    later(store, 5_000).await;
    assert_eq!(store.idle_sessions(10).await.unwrap(), vec![idle]);

    step(store, &live, end(result(Cause::RunnerLost))).await;
    later(store, 5_000).await;
    assert_eq!(store.idle_sessions(10).await.unwrap().len(), 2);
    assert_eq!(store.idle_sessions(1).await.unwrap().len(), 1);
}

pub(crate) async fn live_sessions_are_counted_per_tenant(store: &dyn Store) {
    for state in [
        SessionState::Opening,
        SessionState::Open,
        SessionState::Closing,
        SessionState::Closed,
        SessionState::Lost,
    ] {
        store.create_session(SessionRecord { state, ..session(TENANT) }, MANY).await.unwrap();
    }
    let other = opened(store, OTHER).await;
    create(store, new(execution(&other))).await;
    let full = Created::Full { limit: "sessions_per_tenant", value: 3 };
    assert_eq!(store.create_session(session(TENANT), 3).await.unwrap(), full);
    assert!(matches!(store.create_session(session(TENANT), 4).await.unwrap(), Created::New(_)));
    assert!(matches!(store.create_session(session(OTHER), 2).await.unwrap(), Created::New(_)));
}

pub(crate) async fn sessions_that_are_not_over_are_counted_by_state(store: &dyn Store) {
    assert_eq!(store.session_levels().await.unwrap(), SessionLevels::default());
    for (state, tenant) in [
        (SessionState::Opening, TENANT),
        (SessionState::Open, TENANT),
        (SessionState::Open, OTHER),
        (SessionState::Closing, TENANT),
        (SessionState::Closed, TENANT),
        (SessionState::Lost, OTHER),
    ] {
        store.create_session(SessionRecord { state, ..session(tenant) }, MANY).await.unwrap();
    }
    assert_eq!(store.session_levels().await.unwrap(), SessionLevels { opening: 1, open: 2, closing: 1 });
}

/// Waits until the store's clock has advanced by `micros`.
pub(super) async fn later(store: &dyn Store, micros: i64) {
    let until = Micros(store.now().await.unwrap().0 + micros);
    while store.now().await.unwrap() < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(crate) async fn a_change_of_mode_or_time_out_is_kept_and_may_be_a_use(store: &dyn Store) {
    let made = opened(store, TENANT).await;
    let change = SessionChange {
        mode: Some(Mode::Plan),
        idle_timeout: Some(Duration::from_secs(7)),
        network: Some(NetworkChange::Set(NetworkRules::default())),
        used: true,
        ..SessionChange::default()
    };
    a_tick().await;
    let Cas::Done(changed) = store.change_session(made.id, 1, &change).await.unwrap() else {
        panic!("not done")
    };
    assert!(changed.last_used > made.last_used);
    let wanted = SessionRecord {
        version: 2,
        mode: Mode::Plan,
        idle_timeout: Duration::from_secs(7),
        network: Some(NetworkRules::default()),
        last_used: changed.last_used,
        ..made.clone()
    };
    assert_eq!(changed, wanted);
    assert_eq!(store.session(made.id).await.unwrap(), Some(wanted.clone()));
    let reset = SessionChange { network: Some(NetworkChange::Reset), ..SessionChange::default() };
    let Cas::Done(changed) = store.change_session(made.id, 2, &reset).await.unwrap() else {
        panic!("not done")
    };
    assert_eq!(changed, SessionRecord { version: 3, network: None, ..wanted });
    assert_eq!(store.session(made.id).await.unwrap(), Some(changed));
}

pub(crate) async fn a_use_alone_is_no_change(store: &dyn Store) {
    let made = opened(store, TENANT).await;
    a_tick().await;
    store.touch_session(made.id).await.unwrap();
    let used = store.session(made.id).await.unwrap().unwrap();
    assert!(used.last_used > made.last_used);
    assert_eq!(used, SessionRecord { last_used: used.last_used, ..made });
    store.touch_session(SessionId::new()).await.unwrap();
}

/// Waits for longer than the resolution of the store's clock.
async fn a_tick() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}
