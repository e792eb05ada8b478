//! A sample of every row's injections with a new seed: one of each section of its list.

use airlock_tests::chaos::{
    plan::{Extent, Plan},
    rows::Row,
};

async fn sample(row: Row) {
    let plan = Plan::new(airlock_sampling::seed(), Extent::Spread(row.sample()));
    row.run(&plan).await;
    let made = plan.tally().injections;
    println!("{row:?}: a sample of {made} injections");
    assert_eq!(made, row.sample(), "{row:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_goes_on_there() {
    sample(Row::StreamCut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_stream_that_is_cut_goes_on_there() {
    sample(Row::LiveStreamCut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_holds_up_nobody() {
    sample(Row::SlowReader).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_a_step() {
    sample(Row::ServerPoint).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_killed_at_any_moment() {
    sample(Row::ServerMoment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_is_away_for_less_than_its_grace() {
    sample(Row::Away).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_is_away_for_longer() {
    sample(Row::AwayForGood).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_a_step() {
    sample(Row::RunnerPoint).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_runner_is_killed_at_a_step() {
    sample(Row::NewRunner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_is_killed_at_any_moment() {
    sample(Row::RunnerMoment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_meet_what_is_starting_and_what_is_not_stored_yet() {
    sample(Row::HeldState).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_gone_for_a_while() {
    sample(Row::StoreGone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_of_the_runner_is_full() {
    sample(Row::DiskFull).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_drains_and_ends() {
    sample(Row::RunnerStops).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_stops() {
    sample(Row::ServerStops).await;
}
