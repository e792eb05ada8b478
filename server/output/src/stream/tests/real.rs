//! The same guarantees on real threads, in real time, with a storage in a local directory.

use std::sync::Arc;

use airlock_domain::OutputState;
use tokio::task::JoinSet;

use super::world::{Stderr, Stdout, World, patient};
use crate::storage::Outputs;

/// Returns the output of `seq 1 n`.
fn numbers(n: usize) -> Vec<u8> {
    (1..=n).flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_readers_on_many_threads_read_what_was_written_and_stored() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = Arc::new(Outputs::local(folder.path()).unwrap());
    let mut world = World::over(outputs, patient());
    let id = world.run(true);
    let (out, err) = (numbers(500_000), numbers(20_000));

    let mut stopped = Vec::new();
    let mut readers = JoinSet::new();
    for index in 0..200 {
        let mut reader = world.reader(id).await;
        reader.next().await.unwrap().unwrap();
        if index % 20 == 0 {
            readers.spawn(async move {
                reader.read_all().await.unwrap();
                reader.heard
            });
        } else {
            stopped.push(reader);
        }
    }
    for chunk in out.chunks(50_000) {
        world.write(id, Stdout, chunk);
        tokio::task::yield_now().await;
    }
    world.write(id, Stderr, &err);
    for reader in stopped.iter_mut().step_by(10) {
        reader.read_to(100_000).await;
    }
    world.finish(id);
    world.keep(id);
    for heard in readers.join_all().await {
        assert!(heard.stdout == out && heard.stderr == err);
    }
    world.until_output(id, OutputState::Stored).await;
    assert!(world.streams.retained_bytes() < 64 * 1024, "the output is stored, so no bytes are kept here");
    for mut reader in stopped.drain(..10) {
        reader.read_all().await.unwrap();
        assert!(reader.heard.stdout == out && reader.heard.stderr == err);
    }
    world.restart().await;
    assert!(world.streams.inner.tasks.is_empty());
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    assert!(reader.heard.stdout == out && reader.heard.stderr == err);
}

#[tokio::test]
async fn gaps_and_lost_beginnings_are_stored_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = Arc::new(Outputs::local(folder.path()).unwrap());
    let world = World::over(outputs, patient());
    let bytes = numbers(100_000);
    for (cut, output) in
        [((100_000, 200_000), OutputState::Stored), ((0, 200_000), OutputState::Partial { from: 200_000 })]
    {
        let id = world.run(false);
        world.write(id, Stdout, &bytes);
        world.runner.spool(id, Stdout, |spool| spool.cuts = vec![cut]);
        world.finish(id);
        world.keep(id);
        world.until_output(id, output).await;
        let mut reader = world.reader(id).await;
        reader.read_all().await.unwrap();
        assert_eq!(reader.heard.gaps, [(Stdout, cut.0, cut.1)]);
        assert!(reader.heard.stdout[200_000..] == bytes[200_000..]);
    }
}
