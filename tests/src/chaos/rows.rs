//! The rows of the fault table: the injections of each row, and its checks in addition to the consistency check.

mod away;
mod client;
mod clients;
mod disk;
mod points;
mod row;
mod states;
mod stops;
mod store;

pub use points::accepted_and_no_more;
pub use row::Row;

use std::time::Duration;

use airlock_client::{Events, From, v1::ExecutionState};
use client::through;

use super::plan::Plan;
use crate::chaos::actor::{Actor, Ending, Part, Permits, follow, lines};
use crate::chaos::actors::Actors;
use crate::chaos::ledger::Ledger;
use crate::chaos::plan::Extent;
use crate::chaos::scene::{Scene, Setting};
use crate::cutter::Cutter;

impl Row {
    /// Runs the plan's injections in sequence.
    ///
    /// # Panics
    /// At the first violated guarantee.
    pub async fn run(self, plan: &Plan) {
        match self {
            Self::StreamCut => Box::pin(client::over(plan)).await,
            Self::LiveStreamCut => Box::pin(client::live(plan)).await,
            Self::SlowReader => Box::pin(slow_readers(plan)).await,
            Self::ServerPoint => points::server(plan).await,
            Self::RunnerPoint => points::runner(plan).await,
            Self::NewRunner => points::new_runner(plan).await,
            Self::ServerMoment => Box::pin(away::server_moment(plan)).await,
            Self::RunnerMoment => Box::pin(away::runner_moment(plan)).await,
            Self::Away => Box::pin(away::short(plan)).await,
            Self::AwayForGood => Box::pin(away::long(plan)).await,
            Self::HeldState => Box::pin(states::held(plan)).await,
            Self::StoreGone => Box::pin(store::gone(plan)).await,
            Self::DiskFull => Box::pin(disk::full(plan)).await,
            Self::RunnerStops => Box::pin(stops::runner(plan)).await,
            Self::ServerStops => Box::pin(stops::server(plan)).await,
        }
    }
}

/// The way in which a reader does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// The program does not request events.
    Stopped,
    /// The network transfers no data, and the connection remains open.
    Stalled,
    /// The program reads an event from time to time.
    Slow,
}

const MANNERS: [Manner; 3] = [Manner::Stopped, Manner::Stalled, Manner::Slow];

/// A slow reader.
struct Laggard {
    id: String,
    events: Events,
    ledger: Ledger,
    relay: Cutter,
}

/// Readers that do not read, in each state of an execution. They block no other reader, and receive everything in the
/// end.
async fn slow_readers(plan: &Plan) {
    let scene = Scene::new(Setting::default()).await;
    let of_whom: Vec<(Manner, usize)> =
        MANNERS.iter().flat_map(|manner| (0..Actors::SIZE).map(|actor| (*manner, actor))).collect();
    let chosen = plan.choose(&of_whom);
    for manner in MANNERS {
        let mine: Vec<_> = chosen.iter().filter(|(_, (chosen, _))| *chosen == manner).collect();
        if mine.is_empty() {
            continue;
        }
        let key = format!("slow-{manner:?}-{}", plan.seed);
        let mut actors = Actors::enter(&scene, &key).await;
        let mut laggards = Vec::new();
        for (index, (_, actor)) in mine {
            let id = actors.all.get(*actor).expect("it is in the actors").id.clone();
            Row::SlowReader.note(plan, *index, &(manner, *actor));
            laggards.push(lag(&scene, id, manner).await);
        }
        let cancelled = cancel_another(&scene, &actors.session, &key).await;
        actors.all.push(cancelled);
        actors.stop(&scene, Permits::default()).await;
        for laggard in laggards {
            Box::pin(catch_up(&scene, laggard, manner)).await;
        }
    }
    assert!(matches!(plan.extent, Extent::One(_)) || plan.tally().injections >= MANNERS.len());
    scene.end().await;
}

async fn lag(scene: &Scene, id: String, manner: Manner) -> Laggard {
    let (client, relay) = through(scene);
    let mut events = client.attach(id.clone(), From::Beginning);
    let mut ledger = Ledger::default();
    ledger.take(events.next().await.unwrap().expect("a header"));
    relay.set_stalled(manner == Manner::Stalled);
    Laggard { id, events, ledger, relay }
}

/// Cancels another execution while they do not read.
async fn cancel_another(scene: &Scene, session: &str, key: &str) -> Actor {
    let part =
        Part { ending: Ending::Cancelled, ..Part::new("another", "seq 1 20; sleep 600", lines(1, 20)) };
    let actor = Actor::start(&scene.client, session, key, part).await;
    actor.reaches(&scene.client, ExecutionState::Running).await;
    actor.cancel(&scene.client).await;
    actor.reaches(&scene.client, ExecutionState::Finished).await;
    actor
}

async fn catch_up(scene: &Scene, mut laggard: Laggard, manner: Manner) {
    laggard.relay.set_stalled(false);
    let mut count = 0;
    while laggard.ledger.end.is_none() {
        match laggard.events.next().await.unwrap() {
            Some(event) => laggard.ledger.take(event),
            None => laggard.events.go_on(),
        }
        count += 1;
        if manner == Manner::Slow && count < 20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let told = follow(scene.client.clone(), laggard.id).await.unwrap();
    laggard.ledger.assert_same(&told, "who lagged behind, and who came later");
}
