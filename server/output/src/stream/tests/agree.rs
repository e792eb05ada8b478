//! Attach and on-demand reads return the same data: offsets, gaps and lengths.

use airlock_domain::{ExecutionId, OutputState};
use proptest::prelude::*;

use super::{
    on_demand::ALL,
    world::{Stdout, World, pattern},
};
use crate::stream::{Amount, Selection, StreamLimits};

#[derive(Debug, Clone)]
struct Story {
    writes: Vec<usize>,
    /// The range of the gap, in thousandths of the output.
    cut: Option<(usize, usize)>,
    ranges: Vec<(usize, usize)>,
    store_it: bool,
    cut_streams: bool,
}

fn stories() -> impl Strategy<Value = Story> {
    let share = 0..=1000_usize;
    (
        prop::collection::vec(1..120_000_usize, 1..12),
        prop::option::of((share.clone(), share.clone())),
        prop::collection::vec((share.clone(), share), 1..6),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(writes, cut, ranges, store_it, cut_streams)| Story {
            writes,
            cut,
            ranges,
            store_it,
            cut_streams,
        })
}

fn small() -> StreamLimits {
    StreamLimits {
        ring_bytes: 160 * 1024,
        ahead_bytes: 70 * 1024,
        catch_up_bytes: 40 * 1024,
        ..StreamLimits::default()
    }
}

async fn live(story: &Story) {
    let world = World::with(small());
    let id = world.run(false);
    let total: usize = story.writes.iter().sum();
    let bytes = pattern(total);
    let mut view = world.reader(id).await;
    let mut written = 0;
    for length in &story.writes {
        world.write(id, Stdout, &bytes[written..written + length]);
        written += length;
        view.read_to(written).await;
        let read = world.read(id, ALL).await.unwrap();
        assert!(read.bytes == view.heard.stdout && read.done.total == written as u64 && !read.done.complete);
        if story.cut_streams {
            world.runner.cut_streams();
        }
    }
    drop(view);
    let at = |share: usize| (total * share / 1000) as u64;
    if let Some((one, other)) = story.cut
        && at(one) != at(other)
    {
        let cut = (at(one.min(other)), at(one.max(other)));
        world.runner.spool(id, Stdout, |spool| spool.cuts = vec![cut]);
    }
    world.finish(id);
    if story.store_it {
        world.keep(id);
        while matches!(world.store.record(id).output, OutputState::Live | OutputState::Storing) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    compare(&world, id, story, total).await;
}

/// Compares both kinds of reads of the finished output.
async fn compare(world: &World, id: ExecutionId, story: &Story, total: usize) {
    let at = |share: usize| (total * share / 1000) as u64;
    let mut view = world.reader(id).await;
    view.read_all().await.unwrap();
    let heard = view.heard;
    let all = world.read(id, ALL).await.unwrap();
    let gaps: Vec<(u64, u64)> = heard.gaps.iter().map(|(_, from, to)| (*from, *to)).collect();
    assert!(all.bytes == heard.stdout && all.gaps == gaps);
    assert!(all.done.complete && all.done.total == total as u64);
    for (one, other) in &story.ranges {
        let (from, to) = (at(*one.min(other)), at(*one.max(other)));
        let expected = &heard.stdout[from as usize..to as usize];
        if from < to {
            let range = Selection::Range { offset: from, length: Some(to - from) };
            assert!(world.read(id, range).await.unwrap().bytes == expected);
        }
        let tail = world.read(id, Selection::Tail(Amount::Bytes(total as u64 - from))).await.unwrap();
        assert!(tail.bytes == heard.stdout[from as usize..]);
        let head = world.read(id, Selection::Head(Amount::Bytes(to))).await.unwrap();
        assert!(head.bytes == heard.stdout[..to as usize]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_of_reading_give_the_same_bytes_gaps_and_offsets(story in stories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(live(&story));
    }
}
