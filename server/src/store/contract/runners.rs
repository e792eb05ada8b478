//! Runners.

use airlock_proto::domain::Epoch;

use super::{
    fixtures::{first, labels, runner},
    sessions::later,
};
use crate::{
    model::{CapabilityRecord, Micros, RunnerRecord},
    store::{PageQuery, Store},
};

fn record(name: &str) -> RunnerRecord {
    RunnerRecord {
        id: runner(name),
        epoch: Epoch::new(),
        server_id: Some("server-1".to_owned()),
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

pub(in crate::store) async fn a_runner_reads_back_as_it_was_put(store: &dyn Store) {
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

pub(in crate::store) async fn only_the_current_epoch_is_touched_and_unlinked(store: &dyn Store) {
    let put = record("runner-1");
    store.put_runner(&put).await.unwrap();
    let read = async || store.runner(&put.id).await.unwrap().unwrap();
    let first_seen = read().await.last_seen;
    later(store, 3_000).await;
    store.touch_runner(&put.id, Epoch::new()).await.unwrap();
    assert_eq!(read().await.last_seen, first_seen);
    store.touch_runner(&put.id, put.epoch).await.unwrap();
    assert!(read().await.last_seen > first_seen);

    store.unlink_runner(&put.id, Epoch::new(), "server-1").await.unwrap();
    store.unlink_runner(&put.id, put.epoch, "server-2").await.unwrap();
    assert_eq!(read().await.server_id.as_deref(), Some("server-1"));
    store.unlink_runner(&put.id, put.epoch, "server-1").await.unwrap();
    assert_eq!(read().await.server_id, None);
    store.touch_runner(&runner("missing"), put.epoch).await.unwrap();
    assert_eq!(store.runner(&runner("missing")).await.unwrap(), None);
}

pub(in crate::store) async fn runners_are_paged_by_id(store: &dyn Store) {
    for name in ["c", "a", "b"] {
        store.put_runner(&record(name)).await.unwrap();
    }
    let page = store.runners(&first(2)).await.unwrap();
    let names: Vec<_> = page.items.iter().map(|runner| runner.id.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
    let rest = store.runners(&PageQuery { size: 2, token: page.next }).await.unwrap();
    assert_eq!((rest.items.len(), rest.items[0].id.as_str(), rest.next), (1, "c", None));
}
