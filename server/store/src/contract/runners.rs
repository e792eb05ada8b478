//! Tests of runners.

use airlock_domain::Epoch;

use super::{
    fixtures::{first, labels, runner},
    sessions::later,
};
use crate::{
    FENCED_EPOCHS, PageQuery, RunnerPut, Store,
    record::{CapabilityRecord, Micros, RunnerRecord},
};

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
