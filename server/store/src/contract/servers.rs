//! Tests of runners, of servers with their links, and of the leases for storing outputs.

use airlock_domain::{Cause, Epoch, OutputState};

use super::{
    fixtures::{HOUR, TENANT, end, first, labels, offer, opened, put_output, queued, result, runner, step},
    sessions::later,
};
use crate::{
    FENCED_EPOCHS, OutputBy, PageQuery, RunnerPut, Store, Transition,
    record::{CapabilityRecord, ExecutionRecord, Micros, RunnerRecord, ServerRecord},
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
    let away = RunnerRecord { last_seen: Micros(0), ..record("a") };
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

pub(super) fn record(name: &str) -> RunnerRecord {
    RunnerRecord {
        id: runner(name),
        epoch: Epoch::new(),
        draining: true,
        version: "0.1.0".to_owned(),
        labels: labels(&[("zone", "a")]),
        slots: u32::MAX,
        bases: vec!["repo".to_owned(), "empty".to_owned()],
        capabilities: vec![CapabilityRecord {
            name: "journal_intact".to_owned(),
            enforced: false,
            detail: "another boot".to_owned(),
        }],
        shells: labels(&[("bash", "5.2.15(1)-release"), ("zsh", "")]),
        last_seen: Micros(0),
    }
}

pub(crate) async fn a_runner_reads_back_as_it_was_put(store: &dyn Store) {
    let before = store.now().await.unwrap();
    let mut wanted = record("runner-1");
    store.put_runner(&wanted).await.unwrap();
    let read = store.runner(&wanted.id).await.unwrap().unwrap();
    assert!(read.last_seen >= before);
    wanted.last_seen = read.last_seen;
    assert_eq!(read, wanted);
    let mut again = RunnerRecord { draining: false, slots: 1, ..record("runner-1") };
    store.put_runner(&again).await.unwrap();
    let read = store.runner(&wanted.id).await.unwrap().unwrap();
    again.last_seen = read.last_seen;
    assert_eq!(read, again);
    assert_eq!(store.runner(&runner("runner-2")).await.unwrap(), None);
}

pub(crate) async fn only_the_current_epoch_is_touched(store: &dyn Store) {
    let put = record("runner-1");
    store.put_runner(&put).await.unwrap();
    let read = async || store.runner(&put.id).await.unwrap().unwrap();
    let first_seen = read().await.last_seen;
    later(store, 3_000).await;
    store.touch_runner(&put.id, Epoch::new()).await.unwrap();
    assert_eq!(read().await.last_seen, first_seen);
    store.touch_runner(&put.id, put.epoch).await.unwrap();
    assert!(read().await.last_seen > first_seen);

    store.touch_runner(&runner("missing"), put.epoch).await.unwrap();
    assert_eq!(store.runner(&runner("missing")).await.unwrap(), None);
}

pub(crate) async fn a_life_that_was_followed_by_another_never_comes_back(store: &dyn Store) {
    let mut lives = Vec::new();
    for life in 0..3 {
        let put = record("runner-1");
        let before = lives.last().copied();
        assert_eq!(store.put_runner(&put).await.unwrap(), RunnerPut::Taken { before }, "life {life}");
        // The same record again, as from another server.
        assert_eq!(store.put_runner(&put).await.unwrap(), RunnerPut::Taken { before: None });
        lives.push(put.epoch);
    }
    for epoch in &lives[..2] {
        let late = RunnerRecord { epoch: *epoch, ..record("runner-1") };
        assert_eq!(store.put_runner(&late).await.unwrap(), RunnerPut::Fenced);
        let other = RunnerRecord { epoch: *epoch, ..record("runner-2") };
        assert!(matches!(store.put_runner(&other).await.unwrap(), RunnerPut::Taken { .. }));
    }
    let now = store.runner(&runner("runner-1")).await.unwrap().unwrap();
    assert_eq!(Some(&now.epoch), lives.last());
    for _ in 0..2 * FENCED_EPOCHS {
        store.put_runner(&record("runner-1")).await.unwrap();
    }
    let last = store.runner(&runner("runner-1")).await.unwrap().unwrap();
    assert!(matches!(store.put_runner(&record("runner-1")).await.unwrap(), RunnerPut::Taken { .. }));
    assert_eq!(store.put_runner(&last).await.unwrap(), RunnerPut::Fenced);
}

pub(crate) async fn runners_are_paged_by_id(store: &dyn Store) {
    for name in ["c", "a", "b"] {
        store.put_runner(&record(name)).await.unwrap();
    }
    let page = store.runners(&first(2)).await.unwrap();
    let names: Vec<_> = page.items.iter().map(|runner| runner.id.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
    let rest = store.runners(&PageQuery { size: 2, token: page.next }).await.unwrap();
    assert_eq!((rest.items.len(), rest.items[0].id.as_str(), rest.next), (1, "c", None));
}
