//! Every injection of every row, more than 400. `make test-long` runs them; `make chaos` continues with random
//! ones.

use airlock_tests::chaos::{
    plan::{Extent, Plan},
    rows::Row,
};

/// The seed of all random choices. A seed that found a defect is added here as a row.
const SEED: u64 = 6;

/// Runs one of several shares of a row's injections.
async fn share(row: Row, which: usize, of: usize) {
    let plan = Plan::new(SEED, Extent::Share(which, of));
    row.run(&plan).await;
    let made = plan.tally().injections;
    println!("{row:?}: {made} injections in share {which} of {of}");
    assert!(made >= row.least() / of, "{row:?}: {made} injections, of at least {}", row.least());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_at_any_event_goes_on_there() {
    share(Row::StreamCut, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_stream_that_is_cut_at_any_event_goes_on_there() {
    share(Row::LiveStreamCut, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_holds_up_nobody() {
    share(Row::SlowReader, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_every_fourth_step() {
    share(Row::ServerPoint, 0, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_every_fourth_step_from_the_second() {
    share(Row::ServerPoint, 1, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_every_fourth_step_from_the_third() {
    share(Row::ServerPoint, 2, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_every_fourth_step_from_the_fourth() {
    share(Row::ServerPoint, 3, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_any_moment() {
    share(Row::ServerMoment, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_is_away_for_less_than_its_grace() {
    share(Row::Away, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_is_away_for_longer() {
    share(Row::AwayForGood, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_every_fourth_step() {
    share(Row::RunnerPoint, 0, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_every_fourth_step_from_the_second() {
    share(Row::RunnerPoint, 1, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_every_fourth_step_from_the_third() {
    share(Row::RunnerPoint, 2, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_every_fourth_step_from_the_fourth() {
    share(Row::RunnerPoint, 3, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_runner_is_killed_at_the_first_of_each_step() {
    share(Row::NewRunner, 0, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_runner_is_killed_at_the_first_of_each_other_step() {
    share(Row::NewRunner, 1, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_any_moment() {
    share(Row::RunnerMoment, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_meet_what_is_starting_and_what_is_not_stored_yet() {
    share(Row::HeldState, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_for_a_while() {
    share(Row::StoreGone, 0, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_for_a_while_from_the_second() {
    share(Row::StoreGone, 1, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_for_a_while_from_the_third() {
    share(Row::StoreGone, 2, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_for_a_while_from_the_fourth() {
    share(Row::StoreGone, 3, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_of_the_runner_is_full() {
    share(Row::DiskFull, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_drains_and_ends() {
    share(Row::RunnerStops, 0, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_stops() {
    share(Row::ServerStops, 0, 1).await;
}
