//! Tests of which runners may connect, and of links that are ended.

use std::time::Duration;

use airlock_domain::{Epoch, ExecutionState, FromRunner, ToRunner};
use airlock_output::stream::{LinkUnavailable, OutputLink as _};
use airlock_proto::{LINK_PROTOCOL_OLDEST, LINK_PROTOCOL_VERSION};
use airlock_store::{PageQuery, testing::PATIENCE};

use super::support::{Runner, World, hello};
use crate::{
    links::{LinkError, LinkRefusal},
    reconcile::reconcile_once,
    runners::RunnerState,
};

#[tokio::test]
async fn another_version_of_the_protocol_is_refused() {
    let world = World::new().await;
    for version in [0, LINK_PROTOCOL_OLDEST - 1, LINK_PROTOCOL_VERSION + 1, 99] {
        let mut other = hello("r", Epoch::new());
        other.protocol_version = version;
        let refused = Runner::connect(&world, other).await;
        assert!(
            matches!(refused, Err(LinkRefusal::Version { theirs, ours }) if (theirs, ours) == (version, LINK_PROTOCOL_VERSION))
        );
    }
}

#[tokio::test]
async fn a_second_link_of_the_same_life_replaces_the_first() {
    let world = World::new().await;
    let first = Runner::ready(&world).await;
    let mut second = Runner::again(&world, first.epoch).await;
    assert!(matches!(first.handle.ended().await, LinkError::Ended(_)));
    drop(first);
    second.reconciled().await;
    assert_eq!(world.services.links.connected().len(), 1, "the end of the first does not end the second");
    assert!(matches!(
        second.handle.received(FromRunner::Hello(hello("r", second.epoch))).await,
        Err(LinkError::Protocol(_))
    ));
}

#[tokio::test]
async fn there_are_no_more_runners_than_the_limit() {
    let world = World::with(|limits| limits.runners = 1).await;
    let first = Runner::ready(&world).await;
    let other = Runner::connect(&world, hello("other", Epoch::new())).await;
    assert!(matches!(other, Err(LinkRefusal::TooMany { limit: 1 })));
    assert!(Runner::connect(&world, hello("r", first.epoch)).await.is_ok(), "it is the same runner");
}

#[tokio::test]
async fn a_silent_link_is_ended_and_a_live_one_hears_the_server() {
    let (interval, silence) = (Duration::from_secs(60), Duration::from_secs(600));
    let world = World::with(|limits| {
        limits.heartbeat_interval = interval;
        limits.heartbeat_timeout = silence;
    })
    .await;
    let mut runner = Runner::ready(&world).await;
    let link = world.services.links.get(&"r".parse().unwrap()).unwrap();
    link.pass(interval);
    runner.hears_heartbeat().await;
    reconcile_once(&world.services.reconciler).await.unwrap();
    assert!(!link.has_ended(), "the link was not silent for long");
    link.pass(silence);
    let ended = tokio::time::timeout(PATIENCE, runner.handle.ended()).await.unwrap();
    assert_eq!(ended, LinkError::Ended("the runner sends no heartbeats"));
}

#[tokio::test]
async fn a_link_that_leaves_offers_unanswered_is_ended() {
    let window = Duration::from_secs(600);
    let world = World::with(|limits| limits.start_window = window).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.next_job().await;
    let link = world.services.links.get(&"r".parse().unwrap()).unwrap();
    link.pass(window / 2);
    reconcile_once(&world.services.reconciler).await.unwrap();
    assert!(!link.has_ended(), "the timeout has not expired");
    link.pass(window);
    let ended = tokio::time::timeout(PATIENCE, runner.handle.ended()).await.unwrap();
    assert_eq!(ended, LinkError::Ended("the runner did not answer an offer in time"));
    assert_eq!(world.get(record.id).await.state, ExecutionState::Starting);
}

#[tokio::test]
async fn the_streams_reach_runners_through_their_links() {
    let world = World::new().await;
    let id = airlock_domain::ExecutionId::new();
    let name = "r".parse().unwrap();
    let links = world.services.links.clone();
    assert_eq!(links.open_output(&name, id, "ticket").await, Err(LinkUnavailable::NotConnected));
    let mut runner = Runner::ready(&world).await;
    links.open_output(&name, id, "ticket").await.unwrap();
    assert_eq!(runner.next().await, ToRunner::OpenOutput { execution_id: id, ticket: "ticket".to_owned() });
    links.forget_job(&name, id).await.unwrap();
    assert_eq!(runner.next().await, ToRunner::ForgetJob { execution_id: id });
}

#[tokio::test]
async fn runners_are_listed_as_connected_only_when_they_accept_work() {
    let world = World::new().await;
    let page = PageQuery { size: 10, token: None };
    let mut runner = Runner::connect(&world, hello("r", Epoch::new())).await.unwrap();
    let state = async || world.services.runners.list(&[], &page).await.unwrap().items.pop().unwrap().state;
    assert_eq!(state().await, RunnerState::Unreachable);
    runner.reconciled().await;
    assert_eq!(state().await, RunnerState::Connected);
}

#[tokio::test]
async fn runners_are_listed_with_how_they_are() {
    let world = World::new().await;
    let page = PageQuery { size: 10, token: None };
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    runner.take().await;
    let view = world.services.runners.list(&[], &page).await.unwrap().items.pop().unwrap();
    assert_eq!((view.state, view.running, view.record.bases.len()), (RunnerState::Connected, 1, 1));
    runner.say(FromRunner::Draining { over: false }).await;
    let view = world.services.runners.list(&[], &page).await.unwrap().items.pop().unwrap();
    assert_eq!((view.state, view.record.draining), (RunnerState::Draining, true));
    drop(runner);
    let view = world.services.runners.list(&[RunnerState::Unreachable], &page).await.unwrap().items.pop();
    assert!(view.is_some());
}
