//! Tests of milestones.

use std::collections::HashSet;

use Milestone::{Backgrounded, Finished, Started};
use airlock_domain::{Cause, ExecutionId, LinkState, SessionId};
use futures::{StreamExt as _, stream};

use super::{
    background::detach,
    fixtures::{
        OTHER, TENANT, create, denied, end, execution, finished, new, offer, opened, queued, result, run,
        step,
    },
};
use crate::{
    MilestoneQuery, Store, Transition,
    record::{ExecutionRecord, Milestone},
};

fn of(tenant: &str, session_id: Option<SessionId>) -> MilestoneQuery {
    MilestoneQuery { tenant: tenant.to_owned(), session_id }
}

async fn told(store: &dyn Store, query: &MilestoneQuery, after: u64) -> Vec<(u64, ExecutionId, Milestone)> {
    let found = store.milestones(query, after, 1000).await.unwrap().found;
    found.into_iter().map(|told| (told.sequence, told.execution_id, told.milestone)).collect()
}

async fn whole_life(store: &dyn Store, record: &ExecutionRecord) {
    let record = step(store, record, offer()).await;
    let record = step(store, &record, run()).await;
    let unreachable = Transition { link: Some(Some(LinkState::Unreachable)), ..Transition::default() };
    let record = step(store, &record, unreachable).await;
    let record = step(store, &record, detach()).await;
    let record = step(store, &record, detach()).await;
    step(store, &record, end(result(Cause::Exited { code: 0 }))).await;
}

pub(crate) async fn each_milestone_of_a_life_is_told_once_and_in_order(store: &dyn Store) {
    let none = store.milestones(&of(TENANT, None), 0, 10).await.unwrap();
    assert_eq!((none.oldest, none.latest, none.found), (1, 0, vec![]));
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    whole_life(store, &record).await;
    let never_ran = finished(store, &session).await;
    let denied = create(store, denied(&session)).await;
    let seen = told(store, &of(TENANT, None), 0).await;
    assert_eq!(
        seen.iter().map(|(_, id, milestone)| (*id, *milestone)).collect::<Vec<_>>(),
        [
            (record.id, Started),
            (record.id, Backgrounded),
            (record.id, Finished),
            (never_ran.id, Finished),
            (denied.id, Finished)
        ]
    );
    assert!(seen.is_sorted_by_key(|(sequence, ..)| *sequence));
    let all = store.milestones(&of(TENANT, None), 0, 1000).await.unwrap();
    assert_eq!((all.oldest, all.latest), (seen[0].0, seen[4].0));
    for (index, (sequence, ..)) in seen.iter().enumerate() {
        assert_eq!(told(store, &of(TENANT, None), *sequence).await, seen[index + 1..]);
    }
    let two = store.milestones(&of(TENANT, None), seen[0].0, 2).await.unwrap();
    assert_eq!(two.found.iter().map(|told| told.sequence).collect::<Vec<_>>(), [seen[1].0, seen[2].0]);
    assert_eq!((two.store, two.latest), (all.store, all.latest));
    assert_eq!(store.milestones(&of(TENANT, None), 0, 0).await.unwrap().found, []);
}

pub(crate) async fn milestones_are_told_by_tenant_and_session(store: &dyn Store) {
    let (mine, also_mine) = (opened(store, TENANT).await, opened(store, TENANT).await);
    let theirs = opened(store, OTHER).await;
    let mut ended = Vec::new();
    for session in [&mine, &theirs, &also_mine, &mine] {
        ended.push(finished(store, session).await.id);
    }
    let ids = async |query| -> Vec<ExecutionId> {
        told(store, &query, 0).await.into_iter().map(|(_, id, _)| id).collect()
    };
    assert_eq!(ids(of(TENANT, None)).await, [ended[0], ended[2], ended[3]]);
    assert_eq!(ids(of(TENANT, Some(mine.id))).await, [ended[0], ended[3]]);
    assert_eq!(ids(of(OTHER, None)).await, [ended[1]]);
    assert_eq!(ids(of(OTHER, Some(mine.id))).await, [], "a session of another tenant has no milestones");
}

pub(crate) async fn a_reader_that_goes_on_after_the_last_misses_nothing(store: &dyn Store) {
    const LIVES: usize = 24;
    let session = opened(store, TENANT).await;
    let lives = async {
        stream::iter(0..LIVES)
            .for_each_concurrent(8, |_| async {
                let mut asked = execution(&session);
                asked.decision.concurrency_safe = true;
                let record = create(store, new(asked)).await;
                whole_life(store, &record).await;
            })
            .await;
    };
    let reader = async {
        let (mut after, mut seen) = (0, Vec::new());
        while seen.len() < 3 * LIVES {
            let some = told(store, &of(TENANT, None), after).await;
            after = some.last().map_or(after, |(sequence, ..)| *sequence);
            seen.extend(some);
        }
        seen
    };
    let ((), seen) = tokio::join!(lives, reader);
    let distinct: HashSet<_> = seen.iter().map(|(_, id, milestone)| (*id, *milestone)).collect();
    assert_eq!((seen.len(), distinct.len()), (3 * LIVES, 3 * LIVES));
    assert_eq!(told(store, &of(TENANT, None), 0).await, seen);
}
