//! Tests of the deliveries of results to hooks: who gets them, when, and how long they are kept.

use airlock_domain::{Cause, ExecutionId, HookAnswer, HookBinding};

use super::fixtures::*;
use crate::{
    Delivery, HookQuestion, Store, TakeDeliveries,
    record::{ExecutionRecord, SessionRecord},
};

/// The hook of the fixtures' decisions.
const HOOK: &str = "classifier";

pub(super) fn taking(hook: &str, server: &str, at_most: u32) -> TakeDeliveries {
    TakeDeliveries {
        hook: hook.to_owned(),
        server_id: server.to_owned(),
        at_most,
        per_tenant: at_most,
        except: Vec::new(),
        lease_micros: HOUR,
    }
}

/// Takes deliveries with a lease that expires at once.
async fn take_briefly(store: &dyn Store) -> Vec<Delivery> {
    let brief = TakeDeliveries { lease_micros: 0, ..taking(HOOK, "server-1", 9) };
    store.take_deliveries(&brief).await.unwrap()
}

async fn take(store: &dyn Store, hook: &str, at_most: u32) -> Vec<ExecutionId> {
    let taken = store.take_deliveries(&taking(hook, "server-1", at_most)).await.unwrap();
    taken.into_iter().map(|delivery| delivery.execution_id).collect()
}

/// Takes the only due delivery to the hook.
async fn take_one(store: &dyn Store, lease_micros: i64) -> Delivery {
    let take = TakeDeliveries { lease_micros, ..taking(HOOK, "server-1", 9) };
    let mut taken = store.take_deliveries(&take).await.unwrap();
    assert_eq!(taken.len(), 1, "{taken:?}");
    taken.remove(0)
}

fn asked(session: &SessionRecord, hooks: &[&str]) -> ExecutionRecord {
    let mut record = execution(session);
    let answer = record.decision.hooks.remove(0);
    let of = |hook: &&str| HookAnswer { hook: (*hook).to_owned(), ..answer.clone() };
    record.decision.hooks = hooks.iter().map(of).collect();
    record
}

async fn ends(store: &dyn Store, record: ExecutionRecord) -> ExecutionRecord {
    let record = create(store, new(record)).await;
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    step(store, &record, end(result(Cause::Exited { code: 0 }))).await
}

pub(crate) async fn every_hook_that_was_asked_gets_a_result(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let running = create(store, new(asked(&session, &[HOOK, "scanner"]))).await;
    assert_eq!(take(store, HOOK, 9).await, [], "it has not ended");
    let running = step(store, &running, offer()).await;
    let question = HookQuestion {
        execution_id: running.id,
        session_id: session.id,
        tenant: TENANT.to_owned(),
        principal: running.principal.clone(),
        hook: "questioned".to_owned(),
        binding: HookBinding([9; 32]),
        required: false,
        wait_micros: HOUR,
    };
    store.ask_hook(&question).await.unwrap();
    store.ask_hook(&HookQuestion { hook: HOOK.to_owned(), ..question }).await.unwrap();
    let ended = step(store, &running, end(result(Cause::Exited { code: 0 }))).await;
    let denied = create(store, denied(&session)).await;
    let mut twice = asked(&session, &[HOOK, HOOK]);
    twice.decision.hooks[1].binding = HookBinding([8; 32]);
    let twice = ends(store, twice).await;
    ends(store, asked(&session, &[])).await;
    assert_eq!(take(store, HOOK, 9).await, [ended.id, denied.id, twice.id]);
    assert_eq!(take(store, "scanner", 9).await, [ended.id]);
    assert_eq!(take(store, "questioned", 9).await, [ended.id], "its answer is not in the decision");
    assert_eq!(take(store, "unknown", 9).await, []);
}

pub(crate) async fn a_delivery_is_taken_by_one_server_until_its_lease_expires(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let ended = ends(store, asked(&session, &[HOOK])).await;
    let first = take_one(store, 0).await;
    let expected = Delivery {
        execution_id: ended.id,
        hook: HOOK.to_owned(),
        tenant: TENANT.to_owned(),
        attempt: 1,
        created: ended.ended.unwrap(),
    };
    assert_eq!(first, expected);
    let second = take_one(store, HOUR).await;
    assert_eq!(second, Delivery { attempt: 2, ..expected });
    assert_eq!(take(store, HOOK, 9).await, [], "the lease is valid");
}

pub(crate) async fn only_the_last_attempt_delays_a_delivery_and_each_finishes_it(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    ends(store, asked(&session, &[HOOK])).await;
    let (first, second) = (take_one(store, 0).await, take_one(store, HOUR).await);
    assert!(!store.delay_delivery(&first, 0).await.unwrap(), "another attempt has begun");
    assert_eq!(take(store, HOOK, 9).await, []);
    assert!(store.delay_delivery(&second, HOUR).await.unwrap());
    assert_eq!(take(store, HOOK, 9).await, [], "not due");
    assert!(store.delay_delivery(&second, 0).await.unwrap());
    let third = take_one(store, HOUR).await;
    assert_eq!(third.attempt, 3);
    assert!(store.finish_delivery(&first).await.unwrap(), "the hook has accepted it, if late");
    assert!(!store.finish_delivery(&third).await.unwrap());
    assert!(!store.delay_delivery(&third, 0).await.unwrap());
    assert_eq!(take(store, HOOK, 9).await, []);
}

pub(crate) async fn deliveries_of_tenants_take_turns(store: &dyn Store) {
    let (many, few) = (opened(store, TENANT).await, opened(store, OTHER).await);
    let mut heavy = Vec::new();
    for _ in 0..5 {
        heavy.push(ends(store, asked(&many, &[HOOK])).await.id);
    }
    let light = ends(store, asked(&few, &[HOOK])).await.id;
    let beside = ends(store, asked(&few, &["scanner"])).await.id;
    let light = [light, ends(store, asked(&few, &[HOOK])).await.id];
    assert_eq!(take(store, HOOK, 2).await, [heavy[0], light[0]]);
    let others = TakeDeliveries { except: vec![TENANT.to_owned()], ..taking(HOOK, "server-1", 9) };
    let taken = store.take_deliveries(&others).await.unwrap();
    assert_eq!(taken.iter().map(|delivery| delivery.execution_id).collect::<Vec<_>>(), [light[1]]);
    let one = TakeDeliveries { per_tenant: 1, ..taking(HOOK, "server-1", 9) };
    assert_eq!(store.take_deliveries(&one).await.unwrap().len(), 1);
    assert_eq!(take(store, HOOK, 2).await, heavy[2..4]);
    assert_eq!(take(store, HOOK, 0).await, []);
    assert_eq!(take(store, HOOK, 9).await, heavy[4..]);
    assert_eq!(take(store, "scanner", 3).await, [beside]);
}

pub(crate) async fn old_deliveries_are_removed(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let first = ends(store, asked(&session, &[HOOK, "gone"])).await;
    let second = ends(store, asked(&session, &[HOOK])).await;
    assert_eq!(store.oldest_delivery(HOOK).await.unwrap(), first.ended);
    assert_eq!(store.oldest_delivery("unknown").await.unwrap(), None);
    assert_eq!(store.expire_deliveries(HOUR, 9).await.unwrap(), [], "none is so old");
    assert_eq!(take(store, HOOK, 1).await, [first.id]);
    // A negative age is in the future, so that every delivery is older.
    let ids = |expired: Vec<Delivery>| {
        expired.into_iter().map(|delivery| (delivery.execution_id, delivery.hook)).collect::<Vec<_>>()
    };
    let expired = ids(store.expire_deliveries(-HOUR, 1).await.unwrap());
    assert_eq!(expired, [(first.id, "gone".to_owned())], "of any hook, but not while an attempt has a lease");
    assert_eq!(ids(store.expire_deliveries(-HOUR, 9).await.unwrap()), [(second.id, HOOK.to_owned())]);
    assert_eq!(store.oldest_delivery(HOOK).await.unwrap(), first.ended);
    let third = ends(store, asked(&session, &[HOOK])).await;
    assert_eq!(take_briefly(store).await.len(), 1);
    assert_eq!(
        ids(store.expire_deliveries(-HOUR, 9).await.unwrap()),
        [(third.id, HOOK.to_owned())],
        "the lease has expired"
    );
}
