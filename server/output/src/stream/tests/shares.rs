//! Runners that send outputs slowly or in too many pieces, while other outputs must be stored.

use std::time::Duration;

use airlock_domain::{ExecutionId, OutputState, RunnerId};
use tokio::time::timeout;

use super::{
    runner::{Trick, runner_id},
    world::{Stdout, World, pattern},
};
use crate::stream::GAPS_MOST;

/// Shorter than every silence timeout, so that each byte arrives in time.
const PAUSE: Duration = Duration::from_secs(5);

fn runner(number: usize) -> RunnerId {
    format!("slow-{number}").parse().unwrap()
}

/// Creates an output that arrives byte by byte, for longer than any test.
async fn trickles(world: &World, runner: RunnerId, tenant: &str) -> ExecutionId {
    let id = world.run_on(runner, tenant, false);
    world.write(id, Stdout, &pattern(1_000_000));
    world.finish(id);
    world.runner.play_on(id, Some(Trick::Trickle(PAUSE)));
    world.keep(id);
    id
}

async fn is_stored_within(world: &World, id: ExecutionId, wait: Duration) -> bool {
    timeout(wait, world.until_output(id, OutputState::Stored)).await.is_ok()
}

async fn stored(world: &World, runner: RunnerId, tenant: &str, wait: Duration) -> bool {
    let id = world.run_on(runner, tenant, false);
    world.write(id, Stdout, b"here");
    world.finish(id);
    world.keep(id);
    is_stored_within(world, id, wait).await
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_sends_byte_by_byte_holds_up_no_other() {
    let world = World::new();
    for _ in 0..100 {
        trickles(&world, runner(0), "t").await;
    }
    assert!(stored(&world, runner_id(), "t", Duration::from_secs(5)).await);
}

#[tokio::test(start_paused = true)]
async fn the_runners_of_a_tenant_hold_up_no_other_tenant() {
    let world = World::new();
    for number in 0..100 {
        trickles(&world, runner(number), "t").await;
    }
    assert!(stored(&world, runner_id(), "u", Duration::from_secs(5)).await);
}

#[tokio::test(start_paused = true)]
async fn bytes_do_not_put_off_the_end_of_a_copy() {
    let world = World::new();
    let mut slow = Vec::new();
    for _ in 0..world.limits.storing_per_runner {
        slow.push(trickles(&world, runner_id(), "t").await);
    }
    let wait = 2 * world.limits.storing_time;
    assert!(
        stored(&world, runner_id(), "t", wait).await,
        "the other outputs of the same runner get their turn"
    );
    slow.iter().for_each(|id| assert_ne!(world.store.record(*id).output, OutputState::Stored));
    // The runner behaves again. Its open streams are cut.
    slow.iter().for_each(|id| world.runner.play_on(*id, None));
    world.runner.cut_streams();
    for id in slow {
        assert!(is_stored_within(&world, id, wait).await, "it is tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn an_output_with_too_many_gaps_is_stored_up_to_the_last_that_is_kept() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(2_000_000);
    world.write(id, Stdout, &bytes);
    let cuts: Vec<_> = (0..100).map(|number| (number * 20_000 + 10_000, number * 20_000 + 15_000)).collect();
    world.runner.spool(id, Stdout, |spool| spool.cuts.clone_from(&cuts));
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Partial { from: 0 }).await;
    assert_eq!(world.runner.forgotten(), [id]);
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    let mut kept: Vec<_> = cuts[..GAPS_MOST].iter().map(|(from, to)| (Stdout, *from, *to)).collect();
    kept[GAPS_MOST - 1].2 = bytes.len() as u64;
    assert_eq!(reader.heard.gaps, kept);
    let whole = kept[0].1 as usize;
    assert!(reader.heard.stdout[..whole] == bytes[..whole]);
}
