//! Tests of moving executions to the background.

use airlock_domain::{BackgroundedBy, Cause, DirectoryReport, ExecutionState, OutputState};

use super::fixtures::{HOUR, TENANT, create, end, offer, opened, queued, result, run, step, waiting};
use crate::{
    Cas, Store, StoreError, Transition,
    record::{ExecutionRecord, SessionRecord},
};

const BY: BackgroundedBy = BackgroundedBy::Client;

pub(super) fn detach() -> Transition {
    Transition { backgrounded: Some(BY), ..Transition::default() }
}

async fn running(store: &dyn Store, session: &SessionRecord) -> ExecutionRecord {
    let mut new = super::fixtures::new(super::fixtures::execution(session));
    new.record.decision.concurrency_safe = false;
    let record = create(store, new).await;
    let record = step(store, &record, offer()).await;
    step(store, &record, run()).await
}

pub(crate) async fn leaving_the_foreground_is_a_step_in_the_history(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let before = running(store, &session).await;
    assert!(before.is_serial());
    let after = step(store, &before, detach()).await;
    let wanted = ExecutionRecord { version: before.version + 1, backgrounded: Some(BY), ..before.clone() };
    assert_eq!(after, wanted);
    assert!(!after.is_serial());
    assert_eq!(store.execution(before.id).await.unwrap(), Some(after.clone()));
    let live = store.live_executions(Some(session.id), None, 10).await.unwrap();
    assert_eq!(live.iter().map(|live| (live.serial, live.backgrounded)).collect::<Vec<_>>(), [(false, true)]);

    let again = step(store, &after, detach()).await;
    assert_eq!(again, after, "a repeated call has no effect");
    let ended = step(store, &again, end(result(Cause::Exited { code: 0 }))).await;
    assert_eq!(ended.backgrounded, Some(BY));
    let history = store.state_changes(before.id, 2).await.unwrap();
    let seen: Vec<_> =
        history.iter().map(|change| (change.version, change.state, change.backgrounded_by)).collect();
    assert_eq!(
        seen,
        [
            (3, ExecutionState::Running, None),
            (4, ExecutionState::Running, Some(BY)),
            (5, ExecutionState::Finished, Some(BY))
        ]
    );
}

pub(crate) async fn only_what_runs_leaves_the_foreground(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let pending = create(store, waiting(&session, HOUR)).await;
    let queued = queued(store, &session).await;
    let starting = step(store, &queued, offer()).await;
    let at_once = Transition { backgrounded: Some(BY), ..run() };
    let with_end = Transition { backgrounded: Some(BY), ..end(result(Cause::Exited { code: 0 })) };
    let running = running(store, &session).await;
    let ended = self::running(store, &session).await;
    let ended = step(store, &ended, end(result(Cause::Exited { code: 0 }))).await;
    for (record, step) in [
        (&pending, detach()),
        (&starting, detach()),
        (&starting, at_once),
        (&running, with_end),
        (&ended, detach()),
    ] {
        let refused = store.transition(record.id, record.version, &step).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        assert_eq!(store.execution(record.id).await.unwrap().as_ref(), Some(record));
    }
}

pub(crate) async fn a_result_from_the_background_moves_no_session(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for report in [DirectoryReport::Reported, DirectoryReport::SnappedBack] {
        let reported = || {
            let mut result = result(Cause::Exited { code: 0 });
            result.directory_report = report;
            end(result)
        };
        let record = running(store, &session).await;
        let record = step(store, &record, detach()).await;
        let ended = step(store, &record, reported()).await;
        assert_eq!(ended.result.unwrap().directory_report, DirectoryReport::NotKept);
        let after = store.session(session.id).await.unwrap().unwrap();
        assert_eq!((after.directory, after.version), (session.directory.clone(), session.version));
    }
    // The control: a foreground execution moves the directory.
    let record = running(store, &session).await;
    step(store, &record, end(result(Cause::Exited { code: 0 }))).await;
    let after = store.session(session.id).await.unwrap().unwrap();
    assert_eq!(after.directory, b"/workspace/src");
}

pub(crate) async fn a_detach_and_an_end_of_one_version_do_not_both_win(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for detach_first in [true, false] {
        let record = running(store, &session).await;
        let (first, second) = if detach_first {
            (detach(), end(result(Cause::Exited { code: 0 })))
        } else {
            (end(result(Cause::Exited { code: 0 })), detach())
        };
        let won = step(store, &record, first).await;
        let Cas::Stale(seen) = store.transition(record.id, record.version, &second).await.unwrap() else {
            panic!("both won")
        };
        assert_eq!(seen, won);
        assert_eq!(won.backgrounded.is_some(), detach_first);
        assert_eq!(won.output, OutputState::Live);
    }
}

pub(crate) async fn what_begins_in_the_background_keeps_its_place_until_it_runs(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let beginning = |by| {
        let mut new = super::fixtures::new(super::fixtures::execution(&session));
        new.record.decision.concurrency_safe = false;
        new.record.backgrounded = Some(by);
        new
    };
    for by in [BackgroundedBy::Client, BackgroundedBy::Budget] {
        let refused = store.create_execution(beginning(by)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    }
    let by = Some(BackgroundedBy::Request);
    let record = create(store, beginning(BackgroundedBy::Request)).await;
    let serial = async || {
        let live = store.live_executions(Some(session.id), None, 10).await.unwrap();
        live.iter().map(|live| (live.serial, live.backgrounded)).collect::<Vec<_>>()
    };
    assert_eq!((record.backgrounded, record.is_serial(), serial().await), (by, true, vec![(true, true)]));
    let record = step(store, &record, offer()).await;
    assert_eq!(serial().await, [(true, true)]);
    let record = step(store, &record, run()).await;
    assert_eq!(serial().await, [(false, true)]);
    let again = step(store, &record, detach()).await;
    assert_eq!(again, record, "the execution exists already");
    step(store, &record, end(result(Cause::Exited { code: 0 }))).await;
    let history = store.state_changes(record.id, 0).await.unwrap();
    assert!(history.iter().all(|change| change.backgrounded_by == by), "{history:?}");
    let after = store.session(session.id).await.unwrap().unwrap();
    assert_eq!(after.directory, session.directory, "it changes no session's directory");
}

pub(crate) async fn a_budget_ends_with_the_foreground(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let due = async || store.live_executions(Some(session.id), None, 10).await.unwrap()[0].yields_at;
    let waits = queued(store, &session).await;
    assert_eq!(due().await, None, "the time counts from the start of the command");
    let starting = step(store, &waits, offer()).await;
    assert_eq!(due().await, None);
    let runs = step(store, &starting, run()).await;
    let budget = runs.spec.yield_after.unwrap();
    let at = Some(runs.started.unwrap().after(budget));
    assert_eq!((due().await, runs.yields_at()), (at, at));
    let by_budget = Transition { backgrounded: Some(BackgroundedBy::Budget), ..Transition::default() };
    let after = step(store, &runs, by_budget).await;
    assert_eq!((due().await, after.yields_at()), (None, None));
    assert_eq!(store.execution(runs.id).await.unwrap().unwrap().backgrounded, Some(BackgroundedBy::Budget));
}
