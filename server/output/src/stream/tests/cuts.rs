//! A reader that is cut at any time and resumes by its cursor gets every state and byte exactly
//! once.

use std::time::Duration;

use airlock_domain::OutputState;
use proptest::prelude::*;
use tokio::time::sleep;

use super::world::{Heard, Stderr, Stdout, World, pattern};
use crate::stream::{StreamError, StreamLimits};

/// The fault between two views of the reader.
#[derive(Debug, Clone, Copy)]
enum Blow {
    Nothing,
    CutOutputStream,
    RestartServer,
    RunnerAway,
}

#[derive(Debug, Clone)]
struct Story {
    /// The number of bytes per write, and the pause after it in milliseconds.
    writes: Vec<(usize, u64)>,
    /// The number of events per view, and the fault after it.
    lives: Vec<(usize, Blow)>,
    separate_stderr: bool,
    store_it: bool,
}

fn stories() -> impl Strategy<Value = Story> {
    let blow = prop_oneof![
        3 => Just(Blow::Nothing),
        2 => Just(Blow::CutOutputStream),
        1 => Just(Blow::RestartServer),
        1 => Just(Blow::RunnerAway),
    ];
    let writes = prop::collection::vec((1..150_000_usize, 0..20_u64), 1..25);
    let lives = prop::collection::vec((0..15_usize, blow), 0..25);
    (writes, lives, any::<bool>(), any::<bool>()).prop_map(|(writes, lives, separate_stderr, store_it)| {
        Story { writes, lives, separate_stderr, store_it }
    })
}

/// Small limits, so that the ring wraps and readers must catch up often.
fn small() -> StreamLimits {
    StreamLimits {
        ring_bytes: 160 * 1024,
        ahead_bytes: 70 * 1024,
        catch_up_bytes: 40 * 1024,
        ..StreamLimits::default()
    }
}

async fn live(story: &Story) {
    let mut world = World::with(small());
    let id = world.run(story.separate_stderr);
    let total: usize = story.writes.iter().map(|(bytes, _)| bytes).sum();
    let (out, err) = (pattern(total), pattern(total / 3));
    let mut stopped = world.reader(id).await;
    stopped.next().await.unwrap().unwrap();

    let runner = world.runner.clone();
    let (writes, separate, all, errors) =
        (story.writes.clone(), story.separate_stderr, out.clone(), err.clone());
    let writer = tokio::spawn(async move {
        let mut rest = all.as_slice();
        for (bytes, pause) in writes {
            let (now, later) = rest.split_at(bytes);
            runner.spool(id, Stdout, |spool| spool.bytes.extend_from_slice(now));
            rest = later;
            sleep(Duration::from_millis(pause)).await;
        }
        if separate {
            runner.spool(id, Stderr, |spool| spool.bytes.extend_from_slice(&errors));
        }
    });
    let mut heard = Heard::default();
    for (events, blow) in &story.lives {
        heard = one_life(&world, id, heard, *events).await;
        match blow {
            Blow::Nothing => {}
            Blow::CutOutputStream => world.runner.cut_streams(),
            Blow::RestartServer => world.restart().await,
            Blow::RunnerAway => {
                world.runner.go_away();
                sleep(Duration::from_millis(300)).await;
                world.runner.come_back();
            }
        }
    }
    writer.await.unwrap();
    world.finish(id);
    if story.store_it {
        world.keep(id);
    }
    let mut last = world.go_on(id, heard).await;
    last.read_all().await.unwrap();
    let heard = last.heard;
    assert_eq!(heard.versions, [1, 2, 3]);
    assert!(heard.stdout == out, "{} of {} bytes", heard.stdout.len(), out.len());
    assert!(!story.separate_stderr || heard.stderr == err);
    assert_eq!(heard.gaps, []);
    if story.store_it {
        world.until_output(id, OutputState::Stored).await;
        assert!(stored(&world, id).await == out);
    }
}

async fn stored(world: &World, id: airlock_domain::ExecutionId) -> Vec<u8> {
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    reader.heard.stdout
}

/// Reads up to `events` events with a view that resumes from `heard`.
async fn one_life(world: &World, id: airlock_domain::ExecutionId, heard: Heard, events: usize) -> Heard {
    let mut reader = world.go_on(id, heard).await;
    for _ in 0..events {
        // A command can be silent for long, so the reader is also cut after a timeout.
        match tokio::time::timeout(Duration::from_secs(20), reader.next()).await {
            Ok(Some(Ok(()))) => {}
            Ok(Some(Err(StreamError::Unreachable { .. } | StreamError::Stopping))) | Ok(None) | Err(_) => {
                break;
            }
            Ok(Some(Err(error))) => panic!("{error:?}"),
        }
    }
    reader.heard
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_that_is_cut_at_any_event_resumes_from_its_cursor(story in stories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(live(&story));
    }
}
