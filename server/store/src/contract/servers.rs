//! Tests of servers, their links, and the leases for storing outputs.

use airlock_domain::{Cause, Epoch, OutputState};

use super::{
    fixtures::{HOUR, TENANT, end, offer, opened, put_output, queued, result, runner, step},
    sessions::later,
};
use crate::{
    OutputBy, Store, Transition,
    record::{ExecutionRecord, Micros, RunnerRecord, ServerRecord},
};

/// A short duration in microseconds, longer than the resolution of the store's clock.
const MOMENT: i64 = 2_000;

fn server(name: &str, runners: &[&str]) -> ServerRecord {
    ServerRecord {
        id: name.to_owned(),
        address: Some(format!("https://{name}.example:7443")),
        links: runners.iter().map(|name| (runner(name), Epoch::new())).collect(),
    }
}

pub(crate) async fn servers_are_there_with_their_links_until_their_lease_is_over(store: &dyn Store) {
    assert_eq!(store.servers().await.unwrap(), []);
    let (one, two) = (server("one", &["a", "b"]), server("two", &[]));
    store.announce(&two, HOUR).await.unwrap();
    store.announce(&one, HOUR).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [one.clone(), two.clone()]);

    let fewer = ServerRecord { address: None, ..server("one", &["b"]) };
    store.announce(&fewer, HOUR).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [fewer, two.clone()]);

    store.announce(&one, MOMENT).await.unwrap();
    later(store, 2 * MOMENT).await;
    assert_eq!(store.servers().await.unwrap(), std::slice::from_ref(&two), "its lease has expired");
    store.announce(&two, 0).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [], "the server has left");
    store.announce(&one, HOUR).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [one], "the server is back");
}

/// Creates an execution that ended on the runner `a`. Its lease by `one` expires soon.
async fn ended(store: &dyn Store, output: OutputState) -> ExecutionRecord {
    ended_on(store, "a", output).await
}

async fn ended_on(store: &dyn Store, name: &str, output: OutputState) -> ExecutionRecord {
    let session = opened(store, TENANT).await;
    let offer = Transition {
        offer: Some((runner(name), Epoch::new())),
        lease: Some(("one".to_owned(), MOMENT)),
        ..offer()
    };
    let record = step(store, &queued(store, &session).await, offer).await;
    let record = step(store, &record, end(result(Cause::Exited { code: 0 }))).await;
    put_output(store, &record, output).await;
    store.execution(record.id).await.unwrap().unwrap()
}

pub(crate) async fn one_server_at_a_time_stores_an_output(store: &dyn Store) {
    let record = ended(store, OutputState::Live).await;
    later(store, 2 * MOMENT).await;
    assert!(store.take_storing(record.id, "two", HOUR).await.unwrap());
    assert!(store.take_storing(record.id, "two", HOUR).await.unwrap(), "the server has the lease");
    assert!(!store.take_storing(record.id, "one", HOUR).await.unwrap(), "another server has the lease");
    let after = store.execution(record.id).await.unwrap().unwrap();
    assert_eq!(after.version, record.version);
    assert_eq!(after.owner_server.as_deref(), Some("two"));

    assert!(store.take_storing(record.id, "two", MOMENT).await.unwrap());
    later(store, 2 * MOMENT).await;
    assert!(store.take_storing(record.id, "one", HOUR).await.unwrap(), "its lease had expired");
    assert!(store.set_output(record.id, OutputState::Stored, OutputBy::Keeper("one")).await.unwrap());
    assert!(!store.take_storing(record.id, "one", HOUR).await.unwrap(), "there is no output to store");
}

pub(crate) async fn only_who_has_a_say_says_where_an_output_is(store: &dyn Store) {
    let record = ended(store, OutputState::Live).await;
    later(store, 2 * MOMENT).await;
    assert!(store.take_storing(record.id, "two", HOUR).await.unwrap());
    for (by, output, may) in [
        // The server `two` has taken over.
        (OutputBy::Keeper("one"), OutputState::Lost, false),
        (OutputBy::Retention, OutputState::Lost, false),
        (OutputBy::Keeper("two"), OutputState::Storing, true),
        (OutputBy::Keeper("one"), OutputState::Stored, false),
        (OutputBy::Keeper("two"), OutputState::Stored, true),
        (OutputBy::Keeper("one"), OutputState::Lost, false),
        (OutputBy::Keeper("two"), OutputState::Lost, false),
        (OutputBy::Retention, OutputState::Lost, true),
        (OutputBy::Keeper("two"), OutputState::Stored, false),
    ] {
        let before = store.execution(record.id).await.unwrap().unwrap();
        assert_eq!(store.set_output(record.id, output, by).await.unwrap(), may, "{by:?} {output:?}");
        let after = store.execution(record.id).await.unwrap().unwrap();
        assert_eq!(after.output, if may { output } else { before.output });
        assert_eq!(after.version, record.version);
    }
}

pub(crate) async fn outputs_of_a_runner_that_stays_away_are_lost(store: &dyn Store) {
    let away = RunnerRecord { last_seen: Micros(0), ..super::runners::record("a") };
    let live = ended(store, OutputState::Live).await;
    let storing = ended(store, OutputState::Storing).await;
    let stored = ended(store, OutputState::Stored).await;
    let held = ended(store, OutputState::Live).await;
    let unknown = ended_on(store, "c", OutputState::Live).await;
    let lose = async |away, at_most| store.lose_outputs(away, at_most).await.unwrap();
    store.put_runner(&away).await.unwrap();
    later(store, 2 * MOMENT).await;
    assert!(store.take_storing(held.id, "two", HOUR).await.unwrap());
    assert_eq!(lose(HOUR, 9).await, [], "the runner was heard within the hour");
    assert_eq!(lose(0, 1).await, [live.id]);
    assert_eq!(
        lose(0, 9).await,
        [storing.id],
        "no output that is stored or being stored, or whose runner is unknown"
    );
    for (record, output) in [
        (live, OutputState::Lost),
        (storing, OutputState::Lost),
        (stored, OutputState::Stored),
        (held, OutputState::Live),
        (unknown, OutputState::Live),
    ] {
        assert_eq!(store.execution(record.id).await.unwrap().unwrap().output, output);
    }
}

pub(crate) async fn an_output_that_nobody_stores_is_found_by_who_could(store: &dyn Store) {
    store.announce(&server("two", &["a", "c"]), HOUR).await.unwrap();
    store.announce(&server("three", &["b"]), HOUR).await.unwrap();
    let first = ended(store, OutputState::Live).await;
    let second = ended(store, OutputState::Storing).await;
    ended(store, OutputState::Stored).await;
    let other = ended_on(store, "c", OutputState::Live).await;
    later(store, 2 * MOMENT).await;
    let found = async |server: &str, at_most: u32| {
        let found = store.unstored(server, at_most).await.unwrap();
        found.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    assert_eq!(found("two", 10).await, [first.id, other.id, second.id], "one output of each runner in turn");
    assert_eq!(found("two", 1).await, [first.id]);
    assert_eq!(found("three", 10).await, [], "it has no link to their runner");
    assert!(store.take_storing(first.id, "one", HOUR).await.unwrap());
    assert_eq!(found("two", 10).await, [second.id, other.id], "one server has the lease");
}
