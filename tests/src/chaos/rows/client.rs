//! A client's stream is cut after each of its events, by the client or by the network, and continued from its
//! cursor.

use std::time::Duration;

use airlock_client::{
    Client, Events, From, OutputPiece, Selection, Settings,
    v1::{self, ExecutionState},
};

use super::Row;
use crate::{
    chaos::{
        actor::{Actor, GATE, Part, Permits, WAIT, follow, lines},
        consistency_check,
        ledger::{Ledger, Told},
        plan::Plan,
        scenario::open_session,
        scene::{Scene, Setting},
    },
    cutter::Cutter,
};

/// The cause of the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The client drops the view.
    Client,
    /// The connection is cut.
    Network,
}

/// The bytes kept at each end of a stream: half of the profile's `limits.output_bytes`.
const KEPT: u64 = 1_048_576 / 2;
/// A live execution is cut after at most this number of events, which is about the number that it has.
const LIVE: usize = 10;

/// Returns a client with connections that can be cut.
pub(super) fn through(scene: &Scene) -> (Client, Cutter) {
    let relay = Cutter::still(scene.site.address);
    let settings =
        Settings { address: format!("https://localhost:{}", relay.address.port()), ..scene.site.settings() };
    (Client::connect_lazy(settings).unwrap(), relay)
}

/// Reads `count` events and returns true, or false if there are fewer.
async fn read(events: &mut Events, ledger: &mut Ledger, count: usize) -> bool {
    for _ in 0..count {
        match events.next().await.unwrap() {
            Some(event) => ledger.take(event),
            None if ledger.end.is_some() => return false,
            None => events.go_on(),
        }
    }
    true
}

/// Reads all events, with one cut after `count` events.
async fn cut_once(scene: &Scene, id: String, count: usize, by: By) -> Ledger {
    let (client, relay) = through(scene);
    let mut ledger = Ledger::default();
    let mut events = client.attach(id.clone(), From::Beginning);
    read(&mut events, &mut ledger, count).await;
    match by {
        By::Client => events = client.attach(id, events.position()),
        By::Network => {
            relay.cut();
            assert!(count == 0 || relay.cuts() > 0, "there was a connection to cut");
        }
    }
    while ledger.end.is_none() {
        read(&mut events, &mut ledger, 1).await;
    }
    ledger
}

/// Runs an execution with all kinds of events: states, both streams, a gap, the background.
async fn story(scene: &Scene, key: &str) -> (String, Actor) {
    let session = open_session(&scene.client, key).await;
    let body = format!("seq 1 100; seq 1 50 >&2; {WAIT}; seq 101 300000; seq 51 100 >&2; exit 7");
    let part = Part { stderr: lines(1, 100), ..Part::new("story", body, lines(1, 300_000)) };
    let actor = Actor::start(&scene.client, &session, key, part).await;
    actor.reaches(&scene.client, ExecutionState::Running).await;
    actor.detach(&scene.client).await;
    scene.open_gate(GATE);
    (session, actor)
}

pub(super) async fn over(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    let (session, mut actor) = story(&scene, &format!("story-{}", plan.seed)).await;
    let (end, live) = actor.ended(&scene.client).await;
    consistency_check::stored(&scene, &actor).await;
    let full = follow(scene.client.clone(), actor.id.clone()).await.unwrap();
    // In the background it exceeds its output limit, and is ended some time after that.
    let result = end.result.unwrap_or_default();
    let told = |script: &[u8], length: u64| {
        script.iter().copied().take(usize::try_from(length).unwrap()).collect::<Vec<u8>>()
    };
    let script = told(&actor.part.stdout, result.stdout_bytes);
    let cut = (KEPT, result.stdout_bytes - KEPT);
    assert_eq!(full.stdout.gaps, [cut], "one gap in the kept output, between its two halves");
    full.stdout.assert_of(&script, cut, "what is kept");
    live.stdout.assert_of(&script, cut, "what was read live");
    let whole = (told(&actor.part.stderr, result.stderr_bytes), vec![]);
    assert_eq!((&full.stderr.bytes, &full.stderr.gaps), (&whole.0, &whole.1));
    assert_eq!((live.steps, &live.stderr), (full.steps.clone(), &full.stderr));
    assert_eq!(on_demand(&scene, &actor.id).await, full.stdout, "reads on demand return the same bytes");
    let mut events = scene.client.attach(actor.id.clone(), From::Beginning);
    let (mut told, mut count) = (Ledger::default(), 0);
    while read(&mut events, &mut told, 1).await {
        count += 1;
    }
    let list: Vec<(usize, By)> =
        (0..count).flat_map(|after| [(after, By::Client), (after, By::Network)]).collect();
    for (index, (after, by)) in plan.choose(&list) {
        Row::StreamCut.note(plan, index, &(after, by));
        let cut = cut_once(&scene, actor.id.clone(), after, by).await;
        full.assert_same(&cut, "the rest after the cut");
    }
    consistency_check::close(&scene.client, &session).await;
    scene.nothing_is_left().await;
    scene.end().await;
}

/// Returns all of standard output as `ReadOutput` returns it.
async fn on_demand(scene: &Scene, id: &str) -> Told {
    let mut told = Told::default();
    let mut reader = scene.client.read_output(id, v1::OutputStream::Stdout, Selection::All);
    while let Some(piece) = reader.next().await.unwrap() {
        match piece {
            OutputPiece::Bytes { offset, data } => told.piece(offset, &data),
            OutputPiece::Gap { from, to } => told.gap(from, to),
            OutputPiece::Done(done) => assert!(done.complete, "{done:?}"),
            OutputPiece::Line(line) => panic!("{line:?}"),
        }
    }
    told
}

pub(super) async fn live(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    let list: Vec<(usize, By)> =
        (0..LIVE).flat_map(|after| [(after, By::Client), (after, By::Network)]).collect();
    for (index, (after, by)) in plan.choose(&list) {
        let key = Row::LiveStreamCut.note(plan, index, &(after, by));
        let session = open_session(&scene.client, &key).await;
        let body = format!("seq 1 100; seq 1 50 >&2; {WAIT}; seq 101 200; seq 51 100 >&2; exit 7");
        let part = Part { stderr: lines(1, 100), ..Part::new("live", body, lines(1, 200)) };
        let actor = Actor::start(&scene.client, &session, &key, part).await;
        let goes_on = async {
            actor.reaches(&scene.client, ExecutionState::Running).await;
            tokio::time::sleep(Duration::from_millis(plan.rng(index).u64(0..200))).await;
            actor.detach(&scene.client).await;
            scene.open_gate(GATE);
        };
        let (cut, ()) = tokio::join!(cut_once(&scene, actor.id.clone(), after, by), goes_on);
        let told = follow(scene.client.clone(), actor.id.clone()).await.unwrap();
        cut.assert_same(&told, "what was read over the cut, and what was read at once");
        consistency_check::check(&scene, &session, &mut [actor], Permits::default()).await;
    }
    scene.end().await;
}
