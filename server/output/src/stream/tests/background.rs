//! Views of a command that moves to the background.

use std::sync::atomic::Ordering;

use super::world::{Heard, Stdout, World, pattern};
use crate::stream::AttachFrom;

const FIRST: usize = 100_000;

/// Opens a view, reads [`FIRST`] bytes, and moves the command to the background.
async fn left_behind(world: &World) -> (airlock_domain::ExecutionId, Heard, Vec<u8>) {
    let id = world.run(false);
    let bytes = pattern(3 * FIRST);
    world.write(id, Stdout, &bytes[..FIRST]);
    let mut reader = world.reader(id).await;
    reader.read_to(FIRST).await;
    world.store.send_to_background(id);
    world.changes.notify(id);
    reader.read_all().await.unwrap();
    assert!(reader.heard.backgrounded && !reader.heard.finished);
    (id, reader.heard, bytes)
}

#[tokio::test(start_paused = true)]
async fn a_view_of_the_foreground_ends_and_another_goes_on_with_all_that_came_after() {
    let world = World::new();
    let (id, heard, bytes) = left_behind(&world).await;
    assert_eq!(heard.versions, [1, 2, 3, 4]);
    world.write(id, Stdout, &bytes[FIRST..2 * FIRST]);
    let mut reader = world.go_on(id, heard).await;
    reader.read_to(2 * FIRST).await;
    world.write(id, Stdout, &bytes[2 * FIRST..]);
    world.finish(id);
    reader.read_all().await.unwrap();
    assert!(reader.heard.finished && reader.heard.stdout == bytes);
    assert_eq!(reader.heard.versions, [1, 2, 3, 4], "no change was sent twice");
}

#[tokio::test(start_paused = true)]
async fn a_view_of_the_background_sees_the_step_and_goes_on_to_the_end_whatever_its_cursor() {
    let world = World::new();
    let (id, heard, bytes) = left_behind(&world).await;
    // A cursor from before the move, as if the closing event had been lost.
    let mut before = heard.clone();
    before.cursor.version = 3;
    before.versions.truncate(3);
    let mut cut = world.go_on(id, before).await;
    let mut anew = world.reader(id).await;
    world.write(id, Stdout, &bytes[FIRST..]);
    world.finish(id);
    for reader in [&mut cut, &mut anew] {
        reader.read_all().await.unwrap();
        assert!(reader.heard.finished && reader.heard.stdout == bytes);
        assert_eq!(reader.heard.versions, [1, 2, 3, 4]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_that_was_opened_before_ends_even_if_it_comes_to_it_late_and_has_output_to_read() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(FIRST);
    let mut late = world.reader(id).await;
    world.write(id, Stdout, &bytes);
    world.store.send_to_background(id);
    late.read_all().await.unwrap();
    assert!(late.heard.backgrounded);
    let mut reader = world.go_on(id, late.heard).await;
    world.finish(id);
    reader.read_all().await.unwrap();
    assert!(reader.heard.stdout == bytes, "changes that the first view did not read are not lost");
}

#[tokio::test(start_paused = true)]
async fn one_that_has_ended_by_then_is_told_its_end() {
    let world = World::new();
    let id = world.run(false);
    let mut late = world.reader(id).await;
    world.write(id, Stdout, b"all of it");
    world.store.send_to_background(id);
    world.finish(id);
    late.read_all().await.unwrap();
    assert!(late.heard.finished && !late.heard.backgrounded);
    assert_eq!((late.heard.versions, late.heard.stdout), (vec![1, 2, 3, 4], b"all of it".to_vec()));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_delays_the_news_and_loses_none_of_it() {
    let world = World::new();
    let id = world.run(false);
    let mut reader = world.reader(id).await;
    world.write(id, Stdout, b"x");
    reader.read_to(1).await;
    world.store.send_to_background(id);
    world.store.away.store(true, Ordering::Relaxed);
    world.changes.notify(id);
    let read = async {
        reader.read_all().await.unwrap();
        reader.heard
    };
    let back = async {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        world.store.away.store(false, Ordering::Relaxed);
    };
    let (heard, ()) = tokio::join!(read, back);
    assert!(heard.backgrounded);
    let again = world.attach(id, AttachFrom::Cursor(heard.cursor)).await;
    assert!(again.is_ok());
}
