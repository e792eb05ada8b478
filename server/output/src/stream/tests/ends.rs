//! How views end, and how missing bytes are reported.

use std::{sync::atomic::Ordering, time::Duration};

use airlock_domain::{Cause, ExecutionState, OutputState, cursor::Cursor};
use airlock_store::{StoreError, testing};
use tokio::time::{Instant, sleep};

use super::{
    runner::runner_id,
    world::{Heard, START, Stderr, Stdout, World, pattern},
};
use crate::stream::{AttachFrom, StreamError};

#[tokio::test(start_paused = true)]
async fn after_the_last_event_there_is_only_the_end() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"all of it");
    world.finish(id);
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    let mut heard = reader.heard;
    heard.finished = false;
    let mut again = world.go_on(id, heard).await;
    again.next().await.unwrap().unwrap();
    assert!(again.heard.opened && !again.heard.finished);
    again.next().await.unwrap().unwrap();
    assert!(again.heard.finished);
    assert!(again.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_never_ran_has_only_states_and_an_end() {
    let world = World::new();
    let mut record = testing::execution();
    let (id, result) = (record.id, record.result.take());
    record.version = 0;
    world.store.add(record, &[]);
    world.store.step(id, ExecutionState::Finished, result);
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    assert_eq!((reader.heard.versions.len(), world.runner.opened()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_waits_in_the_queue_is_watched_until_it_runs() {
    let world = World::new();
    let mut record = testing::execution();
    record.version = 0;
    record.result = None;
    record.runner_id = Some(runner_id());
    let id = record.id;
    world.runner.hold(id);
    world.store.add(record, &[ExecutionState::Queued]);
    let mut reader = world.reader(id).await;
    reader.next().await.unwrap().unwrap();
    reader.next().await.unwrap().unwrap();
    assert_eq!(reader.heard.versions, [1]);
    let rest = tokio::spawn(async move {
        reader.read_all().await.unwrap();
        reader.heard
    });
    for state in [ExecutionState::Starting, ExecutionState::Running] {
        sleep(Duration::from_secs(1)).await;
        // There is no hint, so the view must poll.
        world.store.step(id, state, None);
    }
    world.write(id, Stdout, b"hello");
    sleep(Duration::from_secs(2)).await;
    world.finish(id);
    let heard = rest.await.unwrap();
    assert_eq!((heard.versions, heard.stdout), (vec![1, 2, 3], b"hello".to_vec()));
}

#[tokio::test(start_paused = true)]
async fn the_cut_middle_is_a_gap_for_every_reader() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(3_000_000);
    world.write(id, Stdout, &bytes);
    world.runner.spool(id, Stdout, |spool| spool.cuts = vec![(1_000_000, 2_000_000)]);
    world.finish(id);
    let mut live = world.reader(id).await;
    live.read_all().await.unwrap();
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    let mut stored = world.reader(id).await;
    stored.read_all().await.unwrap();
    for heard in [&live.heard, &stored.heard] {
        assert_eq!(heard.gaps, [(Stdout, 1_000_000, 2_000_000)]);
        assert!(
            heard.stdout[..1_000_000] == bytes[..1_000_000]
                && heard.stdout[2_000_000..] == bytes[2_000_000..]
        );
    }
    let cursor = Cursor { version: 3, stdout: 1_500_000, ..Cursor::default() };
    let heard = Heard { cursor, versions: vec![1, 2, 3], stdout: vec![0; 1_500_000], ..Heard::default() };
    let mut inside = world.go_on(id, heard).await;
    inside.read_all().await.unwrap();
    assert_eq!(inside.heard.gaps, [(Stdout, 1_500_000, 2_000_000)]);
}

#[tokio::test(start_paused = true)]
async fn past_the_end_of_a_finished_output_is_out_of_range() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"12345");
    let stderr = AttachFrom::Offsets { stdout: 0, stderr: 1 };
    let never = world.attach(id, stderr).await.err().unwrap();
    assert!(matches!(never, StreamError::PastEnd { stream: Stderr, asked: 1, end: 0 }));
    world.finish(id);
    let beyond = AttachFrom::Offsets { stdout: 6, stderr: 0 };
    let error = world.attach(id, beyond).await.err().unwrap();
    assert!(matches!(error, StreamError::PastEnd { stream: Stdout, asked: 6, end: 5 }));
    assert!(world.attach(id, AttachFrom::Offsets { stdout: 5, stderr: 0 }).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn ahead_of_a_live_output_waits_and_disturbs_nobody() {
    let world = World::new();
    let id = world.run(false);
    let at = |stdout: u64| Heard {
        cursor: Cursor { version: 3, stdout, ..Cursor::default() },
        versions: vec![1, 2, 3],
        stdout: vec![0; stdout as usize],
        ..Heard::default()
    };
    world.write(id, Stdout, &[1; 10]);
    let mut made_up = world.go_on(id, at(500_000)).await;
    let mut ahead = world.go_on(id, at(100)).await;
    let waits = tokio::time::timeout(Duration::from_secs(30), async {
        made_up.next().await;
        tokio::join!(made_up.next(), ahead.read_to(101))
    });
    assert!(waits.await.is_err());
    let mut reader = world.reader(id).await;
    reader.read_to(10).await;
    let waits = tokio::time::timeout(Duration::from_millis(50), reader.read_to(11));
    assert!(waits.await.is_err());
    world.write(id, Stdout, &[2; 100]);
    let began = Instant::now();
    reader.read_to(110).await;
    assert!(began.elapsed() < Duration::from_millis(100), "the ring returned to the current output");
    ahead.read_to(110).await;
    assert_eq!(ahead.heard.stdout[100..], [2; 10]);
    world.finish(id);
    reader.read_all().await.unwrap();
    ahead.read_all().await.unwrap();
    let error = made_up.read_all().await.err().unwrap();
    assert!(matches!(error, StreamError::PastEnd { asked: 500_000, end: 110, .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn the_output_of_a_lost_runner_is_read_when_it_is_back() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(100_000);
    world.write(id, Stdout, &bytes);
    let mut reader = world.reader(id).await;
    reader.read_to(32_768).await;
    world.runner.go_away();
    world.runner.end(id);
    world.finish_as(id, &Cause::RunnerLost);
    let error = reader.read_all().await.err().unwrap();
    assert!(matches!(error, StreamError::Unreachable { .. }), "{error:?}");
    assert!(!reader.heard.finished, "no end is invented");
    world.runner.come_back();
    let mut again = world.go_on(id, reader.heard).await;
    again.read_all().await.unwrap();
    assert!(again.heard.stdout == bytes);
}

#[tokio::test(start_paused = true)]
async fn a_view_of_a_running_command_outlives_the_absence_of_its_runner() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &[1; 1000]);
    let mut reader = world.reader(id).await;
    reader.read_to(1000).await;
    world.runner.go_away();
    world.write(id, Stdout, &[2; 1000]);
    let waited = tokio::time::timeout(Duration::from_secs(200), reader.read_to(1001)).await;
    assert!(waited.is_err());
    world.runner.come_back();
    reader.read_to(2000).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_for_a_while_does_not_stop_the_output() {
    let world = World::new();
    let id = world.run(false);
    let mut reader = world.reader(id).await;
    world.write(id, Stdout, b"1");
    reader.read_to(1).await;
    world.store.away.store(true, Ordering::Relaxed);
    world.write(id, Stdout, b"2");
    sleep(Duration::from_secs(2)).await;
    reader.read_to(2).await;
    world.store.away.store(false, Ordering::Relaxed);
    world.finish(id);
    reader.read_all().await.unwrap();

    let mut other = world.reader(world.run(false)).await;
    world.store.away.store(true, Ordering::Relaxed);
    let error = other.read_all().await.err().unwrap();
    assert!(matches!(error, StreamError::Store(StoreError::Unavailable(_))));
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_ends_views_so_that_they_can_be_taken_up() {
    let mut world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &[1; 100_000]);
    let mut reader = world.reader(id).await;
    reader.read_to(1).await;
    world.restart().await;
    let error = reader.read_all().await.err().unwrap();
    assert!(matches!(error, StreamError::Stopping));
    world.finish(id);
    let mut again = world.go_on(id, reader.heard).await;
    again.read_all().await.unwrap();
    assert_eq!(again.heard.stdout, [1; 100_000]);
    assert!(world.attach(id, START).await.is_ok());
}
