//! The copying of finished output from the runner into the storage.

use std::time::Duration;

use airlock_domain::{Cause, OutputState};
use tokio::time::{sleep, timeout};

use super::{
    on_demand::ALL,
    runner::Trick,
    world::{Stderr, Stdout, World, pattern},
};

#[tokio::test(start_paused = true)]
async fn readers_go_on_over_the_move_into_the_storage() {
    let world = World::new();
    let id = world.run(true);
    let (out, err) = (pattern(5_000_000), pattern(1_000_000));
    world.write(id, Stdout, &out);
    world.write(id, Stderr, &err);
    let mut readers = Vec::new();
    for place in [1, 100_000, 1_500_000, 4_999_999] {
        let mut reader = world.reader(id).await;
        reader.read_to(place).await;
        readers.push(reader);
    }
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    assert_eq!(world.runner.forgotten(), [id]);
    for reader in &mut readers {
        reader.read_all().await.unwrap();
        assert!(reader.heard.stdout == out && reader.heard.stderr == err);
    }
    assert_eq!(world.streams.retained_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn reading_and_storing_at_once_give_the_same() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(5_000_000);
    world.write(id, Stdout, &bytes);
    let mut reading = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let mut reader = world.reader(id).await;
        reading.spawn(async move {
            reader.read_all().await.unwrap();
            reader.heard.stdout
        });
    }
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    assert!(reading.join_all().await.into_iter().all(|read| read == bytes));
}

/// The command writes faster than its only live reader reads. The reader gets growing gaps, and has bytes that
/// are cut later. The stored output has one gap in any case.
#[tokio::test(start_paused = true)]
async fn what_was_cut_is_one_gap_in_what_is_stored_whatever_a_live_reader_has_of_it() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(2_000_000);
    world.write(id, Stdout, &bytes[..600_000]);
    let mut live = world.reader(id).await;
    live.read_to(600_000).await;
    for (to, cut) in [(800_000, (400_000, 700_000)), (1_200_000, (400_000, 1_100_000))] {
        world.write(id, Stdout, &bytes[live.heard.stdout.len()..to]);
        world.runner.spool(id, Stdout, |spool| spool.cuts = vec![cut]);
        live.read_to(to).await;
    }
    world.write(id, Stdout, &bytes[1_200_000..]);
    let cut = (400_000, 1_600_000);
    world.runner.spool(id, Stdout, |spool| spool.cuts = vec![cut]);
    world.finish(id);
    assert_eq!(world.read(id, ALL).await.unwrap().gaps, [cut], "also of output that is not stored yet");
    let mut later = world.reader(id).await;
    later.read_all().await.unwrap();
    assert_eq!(later.heard.gaps, [(Stdout, cut.0, cut.1)], "a reader after the end gets the kept output");
    world.keep(id);
    live.read_all().await.unwrap();
    let told = [(Stdout, 600_000, 700_000), (Stdout, 800_000, 1_100_000), (Stdout, 1_200_000, 1_600_000)];
    assert_eq!(live.heard.gaps, told, "each gap within the cut");
    world.until_output(id, OutputState::Stored).await;
    let mut late = world.reader(id).await;
    late.read_all().await.unwrap();
    assert_eq!(late.heard.gaps, [(Stdout, cut.0, cut.1)]);
    assert!(late.heard.stdout[..400_000] == bytes[..400_000]);
    assert!(late.heard.stdout[1_600_000..] == bytes[1_600_000..]);
}

#[tokio::test(start_paused = true)]
async fn storing_waits_for_a_runner_that_is_away() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"kept");
    world.finish(id);
    world.runner.go_away();
    world.keep(id);
    sleep(Duration::from_secs(100)).await;
    assert_eq!(world.store.record(id).output, OutputState::Live);
    world.runner.come_back();
    world.keep(id);
    let soon = world.until_output(id, OutputState::Stored);
    assert!(
        timeout(Duration::from_secs(1), soon).await.is_ok(),
        "after the runner has connected, it stops waiting"
    );
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    assert_eq!(reader.heard.stdout, b"kept");
}

#[tokio::test(start_paused = true)]
async fn an_absent_runner_does_not_hold_up_the_storing_of_others() {
    let world = World::new();
    for _ in 0..100 {
        let id = world.run(false);
        world.runner.cut_off(id);
        world.finish(id);
        world.keep(id);
    }
    let id = world.run(false);
    world.write(id, Stdout, b"here");
    world.finish(id);
    world.keep(id);
    let soon = world.until_output(id, OutputState::Stored);
    assert!(timeout(Duration::from_secs(1), soon).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_restarted_server_takes_up_what_was_not_stored() {
    let mut world = World::new();
    let ids = [world.run(false), world.run(false), world.run(false)];
    let bytes = pattern(3_000_000);
    for id in ids {
        world.write(id, Stdout, &bytes);
        world.finish(id);
        world.keep(id);
    }
    sleep(Duration::from_millis(1)).await;
    world.restart().await;
    world.streams.resume_storing().await.unwrap();
    for id in ids {
        world.until_output(id, OutputState::Stored).await;
        let mut reader = world.reader(id).await;
        reader.read_all().await.unwrap();
        assert!(reader.heard.stdout == bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_runner_no_longer_has_is_said_to_be_lost() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(50_000));
    world.finish(id);
    world.runner.lose(id);
    world.keep(id);
    world.until_output(id, OutputState::Lost).await;
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    assert_eq!(reader.heard.gaps, [(Stdout, 0, 50_000)]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_still_holds_is_saved_when_the_runner_loses_it() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(3_000_000);
    world.write(id, Stdout, &bytes);
    let mut reader = world.reader(id).await;
    reader.read_to(bytes.len()).await;
    world.finish(id);
    world.runner.lose(id);
    world.keep(id);
    sleep(Duration::from_secs(1)).await;
    let OutputState::Partial { from } = world.store.record(id).output else { panic!("a part was stored") };
    let mut late = world.reader(id).await;
    late.read_all().await.unwrap();
    assert_eq!(late.heard.gaps, [(Stdout, 0, from)]);
    assert!(late.heard.stdout[from as usize..] == bytes[from as usize..]);
    assert!(bytes.len() - from as usize > 900_000, "the ring was full");
}

#[tokio::test(start_paused = true)]
async fn the_output_before_a_runners_death_is_stored_when_it_is_back() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"until then");
    world.runner.go_away();
    world.runner.end(id);
    world.finish_as(id, &Cause::RunnerLost);
    world.runner.come_back();
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    let mut reader = world.reader(id).await;
    reader.read_all().await.unwrap();
    assert_eq!(reader.heard.stdout, b"until then");
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_output_is_stored_is_only_forgotten() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"once");
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    let opened = world.runner.opened();
    sleep(Duration::from_secs(1)).await;
    world.keep(id);
    sleep(Duration::from_secs(1)).await;
    assert_eq!((world.runner.forgotten(), world.runner.opened()), (vec![id, id], opened));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_followed_by_another_does_not_say_that_what_the_other_stored_is_lost() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"stored by the other");
    world.finish(id);
    world.runner.play(Some(Trick::Silence));
    world.keep(id);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.store.record(id).owner_server.as_deref(), Some("server-1"));
    // The other server has stored the output while this one could not renew its lease.
    world.store.put_output(id, OutputState::Stored, "server-2");
    world.runner.lose(id);
    sleep(Duration::from_secs(100)).await;
    assert_eq!(world.store.record(id).output, OutputState::Stored);
}
