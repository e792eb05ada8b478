//! Any number of readers at any pace.

use std::time::Duration;

use airlock_domain::ExecutionState;
use futures::StreamExt;
use tokio::time::{Instant, sleep};

use super::world::{START, Stderr, Stdout, World, pattern};
use crate::stream::{AttachFrom, EventKind, StreamError, StreamLimits};

const MIB: usize = 1024 * 1024;

#[tokio::test(start_paused = true)]
async fn a_view_gives_every_state_and_byte_once_and_then_the_end() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(3 * MIB + 17);
    world.write(id, Stdout, &bytes);
    let mut reader = world.reader(id).await;
    reader.read_to(bytes.len()).await;
    world.finish(id);
    reader.read_all().await.unwrap();
    assert_eq!(reader.heard.versions, [1, 2, 3]);
    assert_eq!(reader.heard.stdout, bytes);
}

#[tokio::test(start_paused = true)]
async fn the_first_byte_comes_without_waiting_for_a_poll() {
    let world = World::new();
    let id = world.run(false);
    let mut reader = world.reader(id).await;
    let began = Instant::now();
    world.write(id, Stdout, b"x");
    reader.read_to(1).await;
    assert!(began.elapsed() < Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_state_is_told_while_output_flows() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(MIB));
    let mut reader = world.reader(id).await;
    reader.read_to(100_000).await;
    world.store.step(id, ExecutionState::Running, None);
    world.changes.notify(id);
    reader.next().await.unwrap().unwrap();
    assert_eq!(reader.heard.versions, [1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn stderr_that_was_asked_for_apart_has_offsets_of_its_own() {
    let world = World::new();
    let id = world.run(true);
    let (out, err) = (pattern(MIB), pattern(700_000));
    world.write(id, Stdout, &out);
    world.write(id, Stderr, &err);
    let mut reader = world.reader(id).await;
    while reader.heard.stdout.len() + reader.heard.stderr.len() < MIB {
        reader.next().await.unwrap().unwrap();
        // The pause ensures that both streams always have data.
        sleep(Duration::from_millis(5)).await;
    }
    assert!(
        reader.heard.stdout.len() > 300_000 && reader.heard.stderr.len() > 300_000,
        "the readers take turns"
    );
    world.finish(id);
    reader.read_all().await.unwrap();
    assert!(reader.heard.stdout == out && reader.heard.stderr == err);
}

#[tokio::test(start_paused = true)]
async fn two_hundred_stopped_readers_hold_up_nobody() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(6 * MIB);
    world.write(id, Stdout, &bytes);
    let mut stopped = Vec::new();
    for events in 0..200 {
        let mut reader = world.reader(id).await;
        for _ in 0..events % 40 {
            reader.next().await.unwrap().unwrap();
        }
        stopped.push(reader);
    }
    let mut fast = world.reader(id).await;
    fast.read_to(bytes.len()).await;
    world.finish(id);
    fast.read_all().await.unwrap();
    assert!(fast.heard.stdout == bytes);

    world.keep(id);
    world.until_output(id, airlock_domain::OutputState::Stored).await;
    for reader in &mut stopped {
        reader.read_all().await.unwrap();
        assert!(reader.heard.stdout == bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_by_the_ring_and_one_read_for_each_reader() {
    let limits = StreamLimits::default();
    let at_most = |readers: usize| limits.ring_bytes + readers * 2 * limits.catch_up_bytes as usize;
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(20 * MIB));
    let mut fast = world.reader(id).await;
    fast.read_to(10 * MIB).await;
    assert!(world.streams.retained_bytes() <= at_most(0));
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut reader = world.reader(id).await;
        reader.read_to(1).await;
        slow.push(reader);
    }
    fast.read_to(20 * MIB).await;
    sleep(Duration::from_secs(60)).await;
    assert!(world.streams.retained_bytes() <= at_most(50));
    drop(slow);
    assert!(world.streams.retained_bytes() <= at_most(0));
    drop(fast);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(world.streams.retained_bytes(), 0, "without readers, no bytes are kept");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_is_given_no_more_credit() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(20 * MIB));
    let mut reader = world.reader(id).await;
    reader.read_to(1).await;
    sleep(Duration::from_secs(600)).await;
    assert!(world.runner.bytes_sent() <= 2 * world.limits.ahead_bytes);
    let opened = world.runner.opened();
    assert_eq!(opened, 1, "the stream is not opened repeatedly for it");
    reader.read_to(20 * MIB).await;
}

#[tokio::test(start_paused = true)]
async fn readers_of_the_ring_share_its_bytes() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(64 * 1024));
    let mut places = Vec::new();
    for _ in 0..2 {
        let mut events = world.attach(id, START).await.unwrap();
        loop {
            if let EventKind::Output { data, .. } = events.next().await.unwrap().unwrap().kind {
                places.push(data.as_ptr());
                break;
            }
        }
    }
    assert_eq!(places[0], places[1]);
    assert_eq!(world.runner.bytes_sent(), 64 * 1024, "requested once");
}

#[tokio::test(start_paused = true)]
async fn the_ring_goes_on_to_where_the_readers_are() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(12 * MIB));
    let mut stopped = world.reader(id).await;
    stopped.read_to(1).await;
    let from = AttachFrom::Offsets { stdout: 8 * MIB as u64, stderr: 0 };
    let before = world.runner.bytes_sent();
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let mut events = world.attach(id, from).await.unwrap();
        readers.spawn(async move {
            while let Some(Ok(event)) = events.next().await {
                if event.cursor.stdout == 12 * MIB as u64 {
                    break;
                }
            }
        });
    }
    readers.join_all().await;
    let sent = world.runner.bytes_sent() - before;
    assert!(sent < 8 * MIB as u64, "each byte except the first few is requested once: {sent}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_catches_up_while_the_command_writes() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(8 * MIB);
    let (mut slow, mut fast) = (world.reader(id).await, world.reader(id).await);
    slow.read_to(0).await;
    for chunk in bytes.chunks(100_000) {
        world.write(id, Stdout, chunk);
        let written = fast.heard.stdout.len() + chunk.len();
        fast.read_to(written).await;
        let third = written / 3;
        slow.read_to(third).await;
    }
    world.finish(id);
    slow.read_all().await.unwrap();
    assert!(slow.heard.stdout == bytes && fast.heard.stdout == bytes);
}

#[tokio::test(start_paused = true)]
async fn a_tenants_readers_leave_seats_for_others() {
    let world = World::with(StreamLimits { readers: 3, readers_per_tenant: 2, ..StreamLimits::default() });
    let (hog, other) = (world.run_of("hog", false), world.run_of("other", false));
    let _held = [world.attach(hog, START).await.unwrap(), world.attach(hog, START).await.unwrap()];
    let own = world.attach(hog, START).await.err().unwrap();
    assert!(matches!(own, StreamError::Exhausted { limit: "readers_per_tenant", value: 2, .. }), "{own:?}");
    assert!(world.attach(other, START).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn there_are_only_so_many_readers() {
    let limits = StreamLimits { readers_per_execution: 2, readers: 3, ..StreamLimits::default() };
    let world = World::with(limits);
    let (one, other) = (world.run(false), world.run(false));
    let _a = world.attach(one, START).await.unwrap();
    let b = world.attach(one, START).await.unwrap();
    let of_execution = world.attach(one, START).await.err().unwrap();
    assert!(matches!(of_execution, StreamError::Exhausted { limit: "readers_per_execution", value: 2, .. }));
    let _c = world.attach(other, START).await.unwrap();
    let of_all = world.attach(other, START).await.err().unwrap();
    assert!(matches!(of_all, StreamError::Exhausted { limit: "readers", value: 3, .. }));
    drop(b);
    assert_eq!(world.streams.readers(), 2);
    assert!(world.attach(one, START).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn waiting_readers_look_at_the_store_together() {
    let world = World::new();
    let id = world.run(false);
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let mut reader = world.reader(id).await;
        waiting.spawn(async move { reader.read_all().await });
    }
    sleep(Duration::from_secs(5)).await;
    let before = world.store.questions.load(std::sync::atomic::Ordering::Relaxed);
    sleep(Duration::from_secs(100)).await;
    let asked = world.store.questions.load(std::sync::atomic::Ordering::Relaxed) - before;
    assert!(asked <= 250, "about once a second, not once a second for each reader: {asked}");
    world.finish(id);
    waiting.join_all().await.into_iter().for_each(|read| read.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_output_stream_that_nobody_wants_is_closed_and_opened_again() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"one");
    let mut reader = world.reader(id).await;
    reader.read_to(3).await;
    let heard = reader.heard.clone();
    drop(reader);
    sleep(world.limits.idle_close * 2).await;
    assert_eq!(world.streams.retained_bytes(), 0);
    world.write(id, Stdout, b"two");
    world.finish(id);
    let mut reader = world.go_on(id, heard).await;
    reader.read_all().await.unwrap();
    assert_eq!(reader.heard.stdout, b"onetwo");
    assert_eq!(world.runner.opened(), 2);
}
