//! Tests of the steps of executions.

use ExecutionState::{Finished, PendingApproval, Queued, Running, Starting};
use airlock_domain::{
    Cause, DirectoryReport, Epoch, ExecutionId, ExecutionResult, ExecutionState, LinkState, OutputState,
};

use super::fixtures::{
    HOUR, TENANT, approval, create, decision, end, execution, finished, new, offer, opened, queued, result,
    run, runner, step, waiting,
};
use crate::{
    Cas, OutputBy, Store, StoreError, Transition,
    record::{ExecutionRecord, Micros, SessionRecord, Verdict},
};

pub(crate) async fn a_life_from_queue_to_end_leaves_its_history(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let mut asked = waiting(&session, HOUR);
    asked.record.decision.concurrency_safe = false;
    let made = create(store, asked).await;
    assert_eq!(made.state, PendingApproval);
    let queue = Transition { state: Some(Queued), ..Transition::default() };
    let queued = step(store, &made, queue).await;
    assert!(queued.queued >= made.queued);
    let starting = step(store, &queued, offer()).await;
    assert_eq!((starting.attempt, starting.runner_id.clone()), (1, Some(runner("runner-1"))));
    let running = step(store, &starting, run()).await;
    assert_eq!((running.started.is_some(), running.output), (true, OutputState::Live));
    let ended = step(store, &running, end(result(Cause::Exited { code: 3 }))).await;
    assert_eq!(ended.result, Some(result(Cause::Exited { code: 3 })));
    assert!(ended.ended >= running.started && ended.ended.is_some());
    assert_eq!(store.execution(made.id).await.unwrap(), Some(ended.clone()));

    let history = store.state_changes(made.id, 0).await.unwrap();
    let seen: Vec<_> = history.iter().map(|change| (change.version, change.state, change.link)).collect();
    let link = Some(LinkState::Connected);
    assert_eq!(
        seen,
        [
            (1, PendingApproval, None),
            (2, Queued, None),
            (3, Starting, link),
            (4, Running, link),
            (5, Finished, None)
        ]
    );
    let approvals: Vec<_> = history.iter().map(|change| change.approval_id).collect();
    assert_eq!(approvals, [made.approval_id, None, None, None, None]);
    assert!(made.approval_id.is_some() && ended.approval_id == made.approval_id);
    assert_eq!(history.last().map(|change| change.at), ended.ended);
}

pub(crate) async fn a_stale_version_changes_nothing(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let starting = step(store, &record, offer()).await;
    for version in [0, 1, 3, u64::MAX] {
        let lost = store.transition(record.id, version, &end(result(Cause::RunnerLost))).await.unwrap();
        assert_eq!(lost, Cas::Stale(starting.clone()));
    }
    assert_eq!(store.execution(record.id).await.unwrap(), Some(starting));
    assert_eq!(store.state_changes(record.id, 0).await.unwrap().len(), 2);
}

pub(crate) async fn a_missing_execution_is_missing(store: &dyn Store) {
    let id = ExecutionId::new();
    assert_eq!(store.transition(id, 1, &run()).await.unwrap(), Cas::Missing);
    assert!(!store.set_output(id, OutputState::Lost, OutputBy::Retention).await.unwrap());
    assert_eq!(store.state_changes(id, 0).await.unwrap(), vec![]);
}

pub(crate) async fn only_the_closed_table_is_taken(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for from in ExecutionState::ALL {
        for to in ExecutionState::ALL {
            let record = brought_to(store, &session, from).await;
            let outcome = store.transition(record.id, record.version, &to_state(&record, to)).await;
            let allowed = from.may_become(to) || (from == to && from != Finished);
            match outcome {
                Ok(Cas::Done(after)) => assert!(allowed && after.state == to, "{from:?} to {to:?}"),
                Err(StoreError::Refused(_)) => {
                    assert!(!allowed, "{from:?} to {to:?}");
                    assert_eq!(store.execution(record.id).await.unwrap(), Some(record));
                }
                other => panic!("{from:?} to {to:?}: {other:?}"),
            }
        }
    }
    let record = queued(store, &session).await;
    for half in [
        Transition { state: Some(Finished), ..Transition::default() },
        Transition { result: Some(result(Cause::RunnerLost)), ..Transition::default() },
        Transition { state: Some(PendingApproval), ..Transition::default() },
        Transition { state: Some(Starting), ..Transition::default() },
        Transition { state: None, ..offer() },
        Transition { approval: Some((approval(&record), HOUR)), ..Transition::default() },
    ] {
        let error = store.transition(record.id, 1, &half).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{half:?}: {error:?}");
    }
}

async fn brought_to(store: &dyn Store, session: &SessionRecord, state: ExecutionState) -> ExecutionRecord {
    match state {
        PendingApproval => create(store, waiting(session, HOUR)).await,
        Queued => queued(store, session).await,
        Starting => step(store, &queued(store, session).await, offer()).await,
        Running => {
            let starting = step(store, &queued(store, session).await, offer()).await;
            step(store, &starting, run()).await
        }
        Finished => finished(store, session).await,
    }
}

fn to_state(record: &ExecutionRecord, state: ExecutionState) -> Transition {
    match state {
        PendingApproval => Transition {
            state: Some(state),
            approval: Some((approval(record), HOUR)),
            ..Transition::default()
        },
        Queued => Transition { state: Some(state), ..Transition::default() },
        Starting => offer(),
        Running => run(),
        Finished => end(result(Cause::Exited { code: 0 })),
    }
}

pub(crate) async fn a_finished_execution_takes_output_and_lease_alone(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let ended = finished(store, &session).await;
    let lease = Some(("server-1".to_owned(), HOUR));
    let stored = Transition { output: Some(OutputState::Stored), lease, ..Transition::default() };
    let after = step(store, &ended, stored).await;
    assert_eq!((after.version, after.output), (ended.version, OutputState::Stored));
    for change in [
        Transition { link: Some(None), ..Transition::default() },
        Transition { cancel_requested: Some(true), ..Transition::default() },
        Transition { decision: Some((decision(Verdict::Deny), Vec::new())), ..Transition::default() },
        end(result(Cause::Exited { code: 0 })),
    ] {
        let error = store.transition(ended.id, ended.version, &change).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{change:?}: {error:?}");
    }
    assert_eq!(store.execution(ended.id).await.unwrap(), Some(after));
}

pub(crate) async fn what_is_no_state_leaves_the_version(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let quiet = Transition {
        state: Some(Queued),
        lease: Some(("server-1".to_owned(), HOUR)),
        decision: Some((decision(Verdict::Ask), b"/workspace/b".to_vec())),
        cancel_requested: Some(true),
        output: Some(OutputState::Storing),
        ..Transition::default()
    };
    let now = store.now().await.unwrap();
    let after = step(store, &record, quiet).await;
    assert!(after.lease_until.0 >= now.0 + HOUR);
    let mut spec = record.spec.clone();
    spec.command.directory = b"/workspace/b".to_vec();
    let wanted = ExecutionRecord {
        spec,
        lease_until: after.lease_until,
        decision: decision(Verdict::Ask),
        cancel_requested: true,
        output: OutputState::Storing,
        ..record
    };
    assert_eq!(after, wanted);
    assert_eq!(store.execution(wanted.id).await.unwrap(), Some(wanted.clone()));
    assert_eq!(store.state_changes(wanted.id, 0).await.unwrap().len(), 1);
}

pub(crate) async fn an_offer_raises_the_attempt(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let once = step(store, &record, offer()).await;
    let next = Epoch::new();
    let again = Transition { offer: Some((runner("runner-2"), next)), ..offer() };
    let twice = step(store, &once, again).await;
    assert_eq!((once.attempt, twice.attempt), (1, 2));
    assert_eq!((twice.runner_id.clone(), twice.runner_epoch), (Some(runner("runner-2")), Some(next)));
    assert_eq!(twice.version, once.version + 1);
    let back = Transition { state: Some(Queued), ..Transition::default() };
    let back = step(store, &twice, back).await;
    assert_eq!((back.attempt, back.queued >= record.queued), (2, true));
    assert_eq!(store.state_changes(record.id, 0).await.unwrap().len(), 4);
}

pub(crate) async fn the_link_is_only_there_on_a_runner(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let cut = || Transition { link: Some(Some(LinkState::Unreachable)), ..Transition::default() };
    let unlinked = step(store, &record, cut()).await;
    assert_eq!((unlinked.link, unlinked.version), (None, 1));
    let starting = step(store, &unlinked, offer()).await;
    let running = step(store, &starting, run()).await;
    assert_eq!(running.link, Some(LinkState::Connected));
    let unreachable = step(store, &running, cut()).await;
    assert_eq!((unreachable.link, unreachable.version), (Some(LinkState::Unreachable), running.version + 1));
    assert_eq!(unreachable.started, running.started);
    let same = step(store, &unreachable, cut()).await;
    assert_eq!(same, unreachable);
    let ended = step(store, &same, end(result(Cause::RunnerLost))).await;
    assert_eq!(ended.link, None);
}

pub(crate) async fn a_new_owner_is_a_compare_and_set(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let take = |server: &str| Transition { lease: Some((server.to_owned(), HOUR)), ..Transition::default() };
    let taken = step(store, &record, take("server-2")).await;
    assert_eq!((taken.owner_server.as_deref(), taken.version), (Some("server-2"), 2));
    let late = store.transition(record.id, record.version, &take("server-3")).await.unwrap();
    assert_eq!(late, Cas::Stale(taken));
}

pub(crate) async fn leases_are_renewed_for_what_lives(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let mine = queued(store, &session).await;
    let ended = finished(store, &session).await;
    let other = queued(store, &session).await;
    let lease = Some(("server-2".to_owned(), HOUR));
    let other = step(store, &other, Transition { lease, ..Transition::default() }).await;
    let now = store.now().await.unwrap();
    assert_eq!(store.renew_leases("server-1", HOUR).await.unwrap(), 1);
    let renewed = store.execution(mine.id).await.unwrap().unwrap();
    assert!(renewed.lease_until.0 >= now.0 + HOUR);
    assert_eq!(renewed, ExecutionRecord { lease_until: renewed.lease_until, ..mine });
    assert_eq!(store.execution(ended.id).await.unwrap(), Some(ended));
    assert_eq!(store.execution(other.id).await.unwrap(), Some(other));
    assert_eq!(store.renew_leases("server-3", HOUR).await.unwrap(), 0);
}

pub(crate) async fn a_result_moves_the_session_only_where_it_says_so(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let ends_in = async |directory: &[u8], directory_report, (safe, allow_concurrent)| {
        let mut record = execution(&session);
        record.decision.concurrency_safe = safe;
        record.spec.allow_concurrent = allow_concurrent;
        let record = create(store, new(record)).await;
        let result = ExecutionResult {
            directory: directory.to_vec(),
            directory_report,
            ..result(Cause::Exited { code: 0 })
        };
        let ended = step(store, &record, end(result)).await;
        let session = store.session(session.id).await.unwrap().unwrap();
        assert_eq!(Some(session.last_used), ended.ended);
        (session.directory, session.version)
    };
    let start = (b"/workspace".to_vec(), 1);
    let serial = (false, false);
    assert_eq!(ends_in(b"/elsewhere", DirectoryReport::NotKept, serial).await, start);
    assert_eq!(ends_in(b"/elsewhere", DirectoryReport::Unchanged, serial).await, start);
    // A concurrent or background execution changes no directory, regardless of the runner's report.
    for beside in [(true, false), (false, true)] {
        assert_eq!(ends_in(b"/elsewhere", DirectoryReport::Reported, beside).await, start);
        assert_eq!(ends_in(b"/elsewhere", DirectoryReport::SnappedBack, beside).await, start);
    }
    let src = (b"/workspace/src".to_vec(), 2);
    assert_eq!(ends_in(b"/workspace/src", DirectoryReport::Reported, serial).await, src);
    assert_eq!(ends_in(b"/workspace/src", DirectoryReport::Reported, serial).await, src);
    let back = (b"/workspace".to_vec(), 3);
    assert_eq!(ends_in(b"/workspace", DirectoryReport::SnappedBack, serial).await, back);
}

pub(crate) async fn history_is_read_from_any_version(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    for (after, left) in [(0, 3), (1, 2), (3, 0), (u64::MAX, 0)] {
        let changes = store.state_changes(record.id, after).await.unwrap();
        assert_eq!(changes.len(), left);
        assert!(changes.iter().all(|change| change.version > after && change.at > Micros(0)));
    }
}
