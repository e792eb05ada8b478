//! Tests of links and epochs, against the rule over a list of events.

use proptest::prelude::*;

use super::*;
use crate::samples::epoch;

fn up(server: usize, welcomed: Epoch, grace_ms: u64, now_ms: u64) -> LinkEvent {
    LinkEvent::Up { server, server_id: format!("s{server}"), epoch: welcomed, grace_ms, now_ms }
}

fn tick(now_ms: u64, next: u8) -> LinkEvent {
    LinkEvent::Tick { now_ms, next: epoch(next) }
}

fn down(server: usize) -> LinkEvent {
    LinkEvent::Down { server_id: format!("s{server}") }
}

fn all(events: impl IntoIterator<Item = LinkEvent>) -> (Links, Vec<LinkEffect>) {
    let mut effects = Vec::new();
    let links = events.into_iter().fold(Links::new(epoch(1)), |links, event| {
        let (links, effect) = links.step(event);
        effects.extend(effect);
        links
    });
    (links, effects)
}

#[test]
fn an_epoch_ends_when_no_server_was_heard_for_the_shortest_grace() {
    let begun = [up(0, epoch(1), 100, 0), up(1, epoch(1), 50, 0), down(0)];
    let (_, effects) = all(begun.clone().into_iter().chain([tick(1000, 2)]));
    assert_eq!(effects, [], "a server is linked");
    let ended = begun.into_iter().chain([LinkEvent::Heard { now_ms: 10 }, down(1)]);
    let (_, effects) = all(ended.clone().chain([tick(59, 2)]));
    assert_eq!(effects, []);
    let (links, effects) = all(ended.chain([tick(60, 2), tick(1000, 3)]));
    assert_eq!(effects, [LinkEffect::BeginEpoch(epoch(2))], "no server connected in the second epoch");
    assert_eq!(links.epoch(), epoch(2));
}

#[test]
fn a_runner_that_was_never_linked_keeps_its_epoch() {
    assert_eq!(all([tick(1_000_000, 2)]).1, []);
}

#[test]
fn a_welcome_to_an_ended_epoch_is_not_a_link() {
    let (links, effects) = all([up(0, epoch(2), 100, 0)]);
    assert_eq!(effects, [LinkEffect::Close]);
    assert!(!links.is_linked() && !links.is_linked_to("s0"));
}

#[test]
fn servers_are_told_once_each() {
    let (links, _) = all([0, 1, 0].map(|server| LinkEvent::Told { server }));
    assert_eq!(links.told_count(), 2);
}

fn any_event() -> impl Strategy<Value = LinkEvent> {
    prop_oneof![
        (0_usize..3, 1_u8..4, 1_u64..100, 0_u64..50).prop_map(|(server, welcomed, grace, now)| up(
            server,
            epoch(welcomed),
            grace,
            now
        )),
        (0_u64..500).prop_map(|now_ms| LinkEvent::Heard { now_ms }),
        (0_usize..3).prop_map(down),
        (0_u64..500, 2_u8..9).prop_map(|(now, next)| tick(now, next)),
    ]
}

proptest! {
    #[test]
    fn an_epoch_changes_only_by_its_effect_and_never_while_a_server_is_linked(
        events in proptest::collection::vec(any_event(), 0..40),
    ) {
        let mut links = Links::new(epoch(1));
        for event in events {
            let before = (links.epoch(), links.is_linked());
            let (next, effect) = links.step(event);
            match effect {
                Some(LinkEffect::BeginEpoch(began)) => {
                    prop_assert!(!before.1);
                    prop_assert_eq!(next.epoch(), began);
                }
                Some(LinkEffect::Close) | None => prop_assert_eq!(next.epoch(), before.0),
            }
            links = next;
        }
    }
}
