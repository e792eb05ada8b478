//! The start and end of exchanges: tickets, limits, absent runners, clients that disconnect, and a server
//! that stops.

use std::time::Duration;

use airlock_domain::{ExchangeFromRunner, ExchangeOrder, SessionId};
use airlock_output::tickets::TicketRefused;
use futures::stream;
use tokio::time::{Instant, sleep};

use super::world::{World, info, outcome, runner_id, who};
use crate::{
    api::ApiError,
    exchange::{ExchangeBroken, ExchangeKind, ExchangeLimits, ExchangeOutcome},
    files,
};

impl World {
    /// Requests a file's description in a new task.
    fn stat(&self, tenant: &'static str) -> tokio::task::JoinHandle<Result<(), ApiError>> {
        let exchanges = self.exchanges.clone();
        tokio::spawn(async move {
            let path = b"a".to_vec();
            files::stat(&exchanges, &who(tenant), &runner_id(), SessionId::new(), path).await.map(drop)
        })
    }
}

fn nothing() -> stream::Pending<Result<ExchangeFromRunner, ExchangeBroken>> {
    stream::pending()
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_cannot_be_reached_is_said_at_once() {
    let world = World::new();
    world.go_away();
    let began = Instant::now();
    let error = outcome(world.stat("one")).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(world.exchanges.open_now(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_does_not_come_is_not_waited_for_without_end_and_may_not_come_late() {
    let world = World::new();
    let call = world.stat("one");
    let ticket = world.ticket().await;
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
    let late = world.exchanges.accept(&runner_id(), &ticket, nothing()).err();
    assert_eq!(late, Some(TicketRefused::UnknownTicket));
    assert_eq!(world.exchanges.open_now(), 0);
    assert_eq!(world.ended(ExchangeKind::Stat, ExchangeOutcome::Cut), 1);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_for_one_runner_and_one_use() {
    let world = World::new();
    let _call = world.stat("one");
    let ticket = world.ticket().await;
    let guessed = world.exchanges.accept(&runner_id(), "0", nothing()).err();
    assert_eq!(guessed, Some(TicketRefused::UnknownTicket));
    let other = world.exchanges.accept(&"r2".parse().unwrap(), &ticket, nothing()).err();
    assert_eq!(other, Some(TicketRefused::OtherRunner));
    assert!(
        world.exchanges.accept(&runner_id(), &ticket, nothing()).is_ok(),
        "the exchange of its own runner works"
    );
    let twice = world.exchanges.accept(&runner_id(), &ticket, nothing()).err();
    assert_eq!(twice, Some(TicketRefused::UnknownTicket));
}

#[tokio::test(start_paused = true)]
async fn each_tenant_and_all_together_have_so_many_and_get_them_back() {
    let limits = ExchangeLimits { exchanges_per_tenant: 2, exchanges: 3, ..ExchangeLimits::default() };
    let world = World::with(limits);
    let calls = [world.stat("one"), world.stat("one"), world.stat("two")];
    let mut lines = Vec::new();
    for _ in &calls {
        lines.push(world.line().await.0);
    }
    for (tenant, name, most) in [("one", "exchanges_per_tenant", 2), ("two", "exchanges", 3)] {
        let error = outcome(world.stat(tenant)).await.unwrap_err();
        assert!(
            matches!(error, ApiError::Exhausted { limit, value, .. } if (limit, value) == (name, most)),
            "{error:?}"
        );
    }
    // The first call succeeds, the client of the second and the runner of the third disconnect.
    let [first, second, third] = calls;
    lines[0].say(ExchangeFromRunner::File(info("/workspace/a"))).await;
    lines.remove(2);
    second.abort();
    let _ = second.await;
    for call in [first, third] {
        let _ = outcome(call).await;
    }
    assert_eq!(world.exchanges.open_now(), 0);
    let again = world.stat("one");
    let (line, order) = world.line().await;
    assert!(matches!(order, ExchangeOrder::Stat { .. }));
    line.say(ExchangeFromRunner::File(info("/workspace/a"))).await;
    outcome(again).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_ends_its_exchange_at_every_step() {
    let world = World::new();
    let waiting = world.stat("one");
    let ticket = world.ticket().await;
    waiting.abort();
    let _ = waiting.await;
    let late = world.exchanges.accept(&runner_id(), &ticket, nothing()).err();
    assert_eq!(late, Some(TicketRefused::UnknownTicket));

    let answered = world.stat("one");
    let (line, _) = world.line().await;
    answered.abort();
    assert_eq!(line.rest().await, []);
    assert_eq!(world.exchanges.open_now(), 0);
    assert_eq!(world.ended(ExchangeKind::Stat, ExchangeOutcome::Left), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_ends_every_exchange_and_says_how_to_go_on() {
    let world = World::new();
    let (waiting, answered) = (world.stat("one"), world.stat("one"));
    let (line, _) = world.line().await;
    sleep(Duration::from_millis(5)).await;
    world.exchanges.shut_down().await;
    for call in [waiting, answered, world.stat("one")] {
        let error = outcome(call).await.unwrap_err();
        assert!(matches!(error, ApiError::Unavailable { reason: "SHUTTING_DOWN", .. }), "{error:?}");
    }
    assert_eq!(line.rest().await, []);
    assert_eq!(world.exchanges.open_now(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_comes_and_says_nothing_is_given_up() {
    let world = World::new();
    let call = world.stat("one");
    let (line, _) = world.line().await;
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
    assert_eq!(line.rest().await, []);
}
