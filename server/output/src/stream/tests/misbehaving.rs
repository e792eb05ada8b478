//! Runners that violate the protocol, and streams that were not requested.

use std::time::Duration;

use airlock_domain::{ExecutionId, PushFromRunner};
use bytes::Bytes;
use futures::stream;
use tokio::time::{sleep, timeout};

use super::{
    runner::{Trick, runner_id},
    world::{Stdout, World},
};
use crate::{
    stream::{PushHello, StreamError},
    tickets::TicketRefused,
};

fn chunk(read_id: u32, offset: u64, length: usize) -> PushFromRunner {
    PushFromRunner::Chunk { read_id, offset, data: Bytes::from(vec![9; length]) }
}

fn tricks() -> Vec<(&'static str, Trick)> {
    let done = |offset, end| PushFromRunner::Done { read_id: 1, offset, end, total: offset };
    let hello = PushFromRunner::Hello {
        runner_id: runner_id(),
        execution_id: ExecutionId::new(),
        ticket: String::new(),
        missing: false,
    };
    vec![
        ("wrong offset", Trick::Say(vec![chunk(1, 7, 10)])),
        ("unknown read", Trick::Say(vec![chunk(77, 0, 10)])),
        ("long chunk", Trick::Say(vec![chunk(1, 0, 32 * 1024 + 1)])),
        ("empty chunk", Trick::Say(vec![chunk(1, 0, 0)])),
        ("more than credit", Trick::Say((0..17).map(|index| chunk(1, index * 32_768, 32_768)).collect())),
        ("another hello", Trick::Say(vec![hello])),
        ("done too early", Trick::Say(vec![done(0, false)])),
        ("done elsewhere", Trick::Say(vec![done(5, true)])),
        ("gap backwards", Trick::Say(vec![PushFromRunner::Gap { read_id: 1, from: 0, to: 0 }])),
        (
            "gaps without end",
            Trick::Say((0..500).map(|n| PushFromRunner::Gap { read_id: 1, from: n, to: n + 1 }).collect()),
        ),
        ("silence", Trick::Silence),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_misbehaves_costs_its_own_stream_and_invents_no_end() {
    for (name, trick) in tricks() {
        let world = World::new();
        let id = world.run(false);
        world.write(id, Stdout, &[1; 100_000]);
        world.finish(id);
        world.runner.play(Some(trick));
        let mut reader = world.reader(id).await;
        let error = reader.read_all().await.err().unwrap_or_else(|| panic!("{name}: it has no end"));
        assert!(matches!(error, StreamError::Unreachable { .. }), "{name}: {error:?}");
        let opened = world.runner.opened();
        assert!((1..=40).contains(&opened), "{name}: opened {opened} times");
        assert!(world.streams.retained_bytes() <= 2 * world.limits.ring_bytes, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_comes_to_its_senses_is_read_again() {
    for (name, trick) in tricks() {
        // These deliver data before the violation is detected, and that data is kept.
        if matches!(name, "more than credit" | "gaps without end") {
            continue;
        }
        let world = World::new();
        let id = world.run(false);
        world.write(id, Stdout, &[1; 100_000]);
        world.runner.play(Some(trick));
        let mut reader = world.reader(id).await;
        let waited = timeout(Duration::from_secs(60), reader.read_to(1)).await;
        assert!(waited.is_err(), "{name}");
        world.runner.play(None);
        world.finish(id);
        reader.read_all().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(reader.heard.stdout, [1; 100_000], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_output_stream_that_is_cut_at_any_time_is_opened_again() {
    let world = World::new();
    let id = world.run(false);
    let mut reader = world.reader(id).await;
    for round in 1..=30 {
        world.write(id, Stdout, &[round; 50_000]);
        reader.read_to(usize::from(round) * 50_000 - 30_000).await;
        world.runner.cut_streams();
    }
    world.finish(id);
    reader.read_all().await.unwrap();
    assert!(
        (0..30).all(|round| reader.heard.stdout[round * 50_000..][..50_000] == [round as u8 + 1; 50_000])
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_read_of_bytes_that_are_there_is_given_up_in_time() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &[1; 5_000_000]);
    let mut fast = world.reader(id).await;
    fast.read_to(4_000_000).await;
    world.runner.play(Some(Trick::Silence));
    world.runner.cut_streams();
    let mut behind = world.reader(id).await;
    assert!(timeout(Duration::from_millis(500), behind.read_to(1)).await.is_err());
    world.runner.play(None);
    let limits = &world.limits;
    let soon = timeout(limits.read_timeout + limits.retry_most + limits.open_wait, behind.read_to(5_000_000));
    assert!(soon.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_reader_behind_the_ring_goes_on_when_its_own_read_is_cut() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &[1; 5_000_000]);
    let mut fast = world.reader(id).await;
    fast.read_to(4_000_000).await;
    let mut behind = world.reader(id).await;
    for place in (1..100).map(|step| step * 30_000) {
        behind.read_to(place).await;
        world.runner.cut_streams();
    }
    let soon = timeout(Duration::from_secs(5), behind.read_to(5_000_000));
    assert!(soon.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_ticket_is_turned_away() {
    let world = World::new();
    let id = world.run(false);
    let nothing = || stream::empty::<Result<PushFromRunner, crate::stream::PushBroken>>();
    let hello = |ticket: &str| PushHello {
        runner_id: runner_id(),
        execution_id: id,
        ticket: ticket.to_owned(),
        missing: false,
    };
    let refused = world.streams.accept_push(&hello("0"), nothing()).err();
    assert_eq!(refused, Some(TicketRefused::UnknownTicket));

    let (ticket, _waits) = world.streams.inner.tickets.issue(id, runner_id());
    let other_runner = PushHello { runner_id: "r2".parse().unwrap(), ..hello(ticket.text()) };
    assert_eq!(world.streams.accept_push(&other_runner, nothing()).err(), Some(TicketRefused::OtherRunner));
    let other_execution = PushHello { execution_id: ExecutionId::new(), ..hello(ticket.text()) };
    assert_eq!(
        world.streams.accept_push(&other_execution, nothing()).err(),
        Some(TicketRefused::OtherSubject)
    );
    assert!(world.streams.accept_push(&hello(ticket.text()), nothing()).is_ok());
    let twice = world.streams.accept_push(&hello(ticket.text()), nothing()).err();
    assert_eq!(twice, Some(TicketRefused::UnknownTicket));

    let (ticket, waits) = world.streams.inner.tickets.issue(id, runner_id());
    let text = ticket.text().to_owned();
    drop((ticket, waits));
    sleep(Duration::from_millis(1)).await;
    let late = world.streams.accept_push(&hello(&text), nothing()).err();
    assert_eq!(late, Some(TicketRefused::UnknownTicket));
}
