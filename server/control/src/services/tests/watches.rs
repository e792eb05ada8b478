//! Tests of watches on many executions.

use airlock_domain::{ExecutionId, ExecutionState};
use airlock_store::{
    record::Milestone::{self, Backgrounded, Finished, Started},
    testing::PATIENCE,
};
use futures::StreamExt as _;

use super::support::{Auto, Runner, World, denied, run, stranger, who};
use crate::{
    api::{ApiError, CreateSession, WatchEvent, WatchExecutions},
    watch::WatchStream,
};

async fn watch(world: &World, cursor: Option<Vec<u8>>) -> WatchStream {
    let request = WatchExecutions { cursor, ..WatchExecutions::default() };
    let mut events = world.services.watches.open(who("ann"), request).await.unwrap();
    let first = next(&mut events).await;
    assert_eq!(first.what, None, "the first response confirms the watch");
    events
}

async fn next(events: &mut WatchStream) -> WatchEvent {
    tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap().unwrap()
}

async fn told(events: &mut WatchStream) -> (ExecutionId, Milestone) {
    let (milestone, record) = next(events).await.what.unwrap();
    (record.id, milestone)
}

fn refused(opened: Result<WatchStream, ApiError>) -> ApiError {
    match opened {
        Ok(_) => panic!("the session was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_life_is_told_as_it_happens_and_what_was_before_is_not() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch before").await;
    let job = runner.take().await;
    runner.ends(&job, 0).await;
    world.finished(job.execution_id).await;

    let mut events = watch(&world, None).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    assert_eq!(told(&mut events).await, (record.id, Started));
    world.services.executions.detach(who("ann"), record.id).await.unwrap();
    assert_eq!(told(&mut events).await, (record.id, Backgrounded));
    runner.next().await;
    runner.ends(&job, 3).await;
    let (milestone, ended) = next(&mut events).await.what.unwrap();
    assert_eq!((ended.id, milestone, ended.state), (record.id, Finished, ExecutionState::Finished));
    let no = world.services.executions.start(who("ann"), run(session.id, "git push")).await.unwrap_err();
    assert_eq!(told(&mut events).await, (denied(no).0.id, Finished), "a denied command has only an end");
}

#[tokio::test]
async fn a_watch_goes_on_where_another_was_cut_with_each_event_once() {
    const COMMANDS: usize = 40;
    let world = World::new().await;
    let _auto = Auto::connect(&world, "r").await;
    let session = world.services.sessions.create(who("ann"), CreateSession::default()).await.unwrap();
    let mut events = watch(&world, None).await;
    let start = async {
        for _ in 0..COMMANDS {
            world.start(&session, "ls").await;
        }
    };
    let read = async {
        let (mut seen, mut cursor) = (Vec::new(), None);
        while seen.len() < 2 * COMMANDS {
            // Cut the watch after every third event.
            if seen.len() % 3 == 2 {
                events = watch(&world, cursor.take()).await;
            }
            let event = next(&mut events).await;
            let (milestone, record) = event.what.unwrap();
            cursor = Some(event.cursor);
            seen.push((record.id, milestone));
        }
        seen
    };
    let ((), seen) = tokio::join!(start, read);
    let mut distinct = seen.clone();
    distinct.sort_by_key(|(id, milestone)| (*id, *milestone == Finished));
    distinct.dedup();
    assert_eq!(distinct.len(), 2 * COMMANDS);
    let place = |wanted| seen.iter().position(|told| *told == wanted).unwrap();
    assert!(seen.iter().all(|(id, _)| place((*id, Started)) < place((*id, Finished))), "in their order");
}

#[tokio::test]
async fn a_lost_hint_costs_a_poll_and_no_event() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let mut events = watch(&world, None).await;
    // Another server owns the execution, so no notification arrives here.
    let another = world.another("server-2").await;
    let no = another.executions.start(who("ann"), run(session.id, "git push")).await.unwrap_err();
    assert_eq!(told(&mut events).await, (denied(no).0.id, Finished));
    another.shut_down().await;
}

#[tokio::test]
async fn a_tenant_and_a_session_are_told_of_their_own() {
    let world = World::new().await;
    let _auto = Auto::connect(&world, "r").await;
    let mine = world.services.sessions.create(who("ann"), CreateSession::default()).await.unwrap();
    let also_mine = world.services.sessions.create(who("ann"), CreateSession::default()).await.unwrap();
    let theirs = world.services.sessions.create(stranger(), CreateSession::default()).await.unwrap();
    let of_mine = WatchExecutions { session_id: Some(mine.id), cursor: None };
    let error = refused(world.services.watches.open(stranger(), of_mine.clone()).await);
    assert!(matches!(error, ApiError::NotFound { .. }), "{error:?}");
    let mut of_session = world.services.watches.open(who("ann"), of_mine).await.unwrap();
    next(&mut of_session).await;
    let mut of_tenant = watch(&world, None).await;
    world.services.executions.start(stranger(), run(theirs.id, "ls")).await.unwrap();
    let first = world.start(&also_mine, "ls").await;
    world.finished(first.id).await;
    let second = world.start(&mine, "ls").await;
    assert_eq!(told(&mut of_session).await, (second.id, Started));
    assert_eq!(told(&mut of_session).await, (second.id, Finished));
    for wanted in [(first.id, Started), (first.id, Finished), (second.id, Started), (second.id, Finished)] {
        assert_eq!(told(&mut of_tenant).await, wanted);
    }
}

#[tokio::test]
async fn a_cursor_of_another_store_or_of_no_watch_is_refused() {
    let (world, other) = (World::new().await, World::new().await);
    let request = WatchExecutions::default();
    let mut foreign = other.services.watches.open(who("ann"), request).await.unwrap();
    let cursor = next(&mut foreign).await.cursor;
    for cursor in [cursor, b"nonsense".to_vec()] {
        let request = WatchExecutions { cursor: Some(cursor), ..WatchExecutions::default() };
        let error = refused(world.services.watches.open(who("ann"), request).await);
        assert!(matches!(error, ApiError::Invalid(_)), "{error:?}");
    }
}

#[tokio::test]
async fn watches_are_limited_and_a_reader_that_stopped_holds_up_nobody() {
    let world = World::with(|limits| limits.watches_per_tenant = 2).await;
    let _auto = Auto::connect(&world, "r").await;
    let session = world.services.sessions.create(who("ann"), CreateSession::default()).await.unwrap();
    let stopped = watch(&world, None).await;
    let mut events = watch(&world, None).await;
    let error = refused(world.services.watches.open(who("ann"), WatchExecutions::default()).await);
    assert!(matches!(error, ApiError::Exhausted { limit: "watches_per_tenant", value: 2, .. }), "{error:?}");
    let _theirs = world.services.watches.open(stranger(), WatchExecutions::default()).await.unwrap();
    for _ in 0..20 {
        let record = world.start(&session, "ls").await;
        assert_eq!(told(&mut events).await, (record.id, Started));
        assert_eq!(told(&mut events).await, (record.id, Finished));
    }
    drop(stopped);
    let _another = watch(&world, None).await;
}

#[tokio::test]
async fn a_server_that_stops_ends_watches_with_a_reason_to_come_back() {
    let world = World::new().await;
    let mut events = watch(&world, None).await;
    let mut next = events.next();
    assert!(futures::poll!(&mut next).is_pending(), "it waits");
    let (last, ()) = tokio::join!(tokio::time::timeout(PATIENCE, next), world.services.shut_down());
    let error = last.unwrap().unwrap().unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "SHUTTING_DOWN", .. }), "{error:?}");
    assert!(events.next().await.is_none());
    let error = refused(world.services.watches.open(who("ann"), WatchExecutions::default()).await);
    assert!(matches!(error, ApiError::Unavailable { reason: "SHUTTING_DOWN", .. }), "{error:?}");
}
