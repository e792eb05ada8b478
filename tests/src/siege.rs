//! A fleet under load and faults. Commands of every kind are started, read and awaited through any server, while
//! servers and runners are killed, replaced, drained and disconnected at random. A consistency check follows.
//!
//! The faults follow from the seed; the interleaving of threads and processes does not.

mod fire;
mod load;
mod marks;
mod points;
mod reckoning;
mod tally;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_client::{Client, Patience};
use fastrand::Rng;
use tokio::task::JoinSet;

use self::{
    load::{Done, Load},
    tally::Tally,
};
use crate::{
    cutter::Cutter,
    engines::{Bucket, Database},
    fleet::{
        Fleet, Shared, Timers,
        network::{Network, SWITCH},
    },
};

const SERVERS: u8 = 3;
const RUNNERS: u8 = 5;
/// The largest number of concurrent executions.
const WORKERS: usize = 20;
/// The longest time for any progress on a busy host with faults.
pub(super) const LIMIT: Duration = Duration::from_secs(240);

/// Links of hosts are cut during requests, which should then fail soon.
const STORE: &str = "connect_timeout = \"5s\"\n";
const STORAGE: &str = "connect_timeout = \"5s\"\nrequest_timeout = \"5s\"\nretry_for = \"1s\"\n";
/// A queue without a relevant timeout.
const SERVER: &str = "[limits]\nqueue_wait = \"10m\"\n";
const RUNNER: &str = "[reconnect]\nfirst = \"50ms\"\nmax = \"500ms\"\nrefused = \"500ms\"\n\
    [drain]\ngrace = \"2s\"\nhandover = \"10s\"\n";

/// The extent of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of executions.
    pub count: usize,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The number of faults that occurred.
    pub faults: u32,
    /// The tables of the run.
    pub table: String,
}

/// The fleet, and the relays between it and its stores.
#[derive(Debug)]
struct Field {
    fleet: Fleet,
    database: (Database, Cutter),
    bucket: (Bucket, Cutter),
    tally: Mutex<Tally>,
}

impl Field {
    /// Returns a client of all servers, which starts with a server that depends on the number.
    fn client(&self, number: usize) -> Client {
        let servers: Vec<usize> =
            (0..usize::from(SERVERS)).map(|one| (one + number) % usize::from(SERVERS)).collect();
        self.fleet.client_with(&servers, patience())
    }

    /// Returns a client of one server that retries only briefly.
    fn hasty(&self, server: usize) -> Client {
        self.fleet.client_with(&[server], Patience { call: Duration::from_secs(2), ..patience() })
    }
}

fn patience() -> Patience {
    Patience { call: LIMIT, view: LIMIT, ..Patience::default() }
}

/// Executes a plan. Returns the injected faults and the results as a table.
///
/// The calling thread moves to a private network namespace.
///
/// # Panics
/// At the first violated guarantee.
#[must_use]
pub fn carry_out(plan: Plan) -> Outcome {
    // They are outside, where other tests share them.
    let (database, bucket) = (Database::new(), Bucket::new());
    let network = Network::enter();
    let doors = (network.relay(database.address()), network.relay(bucket.address()));
    let at = |door: &Cutter| format!("{SWITCH}:{}", door.address.port());
    let shared = Shared {
        timers: Timers::Short,
        store: database.table_at(&at(&doors.0), true, STORE),
        outputs: bucket.table_at(&at(&doors.1), STORAGE),
        server: SERVER.to_owned(),
        runner: RUNNER.to_owned(),
    };
    let fleet = Fleet::on_hosts(&network, SERVERS, RUNNERS, &shared);
    let field =
        Field { fleet, database: (database, doors.0), bucket: (bucket, doors.1), tally: Mutex::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, besiege(Arc::new(field), plan))
}

async fn besiege(field: Arc<Field>, plan: Plan) -> Outcome {
    let mut rng = Rng::with_seed(plan.seed);
    let (servers, runners) = fire::start(&field).await;
    let load = Load::open(&field, rng.fork(), plan).await;
    let fires = [servers, runners].map(|fire| fire.burn(Arc::clone(&field), rng.fork()));
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        workers.spawn_local(Arc::clone(&load).work(Arc::clone(&field), number));
    }
    workers.spawn_local(load::ask(Arc::clone(&load), Arc::clone(&field), rng.fork()));
    let mut done: Vec<Done> = Vec::new();
    while let Some(ended) = workers.join_next().await {
        done.extend(ended.unwrap());
    }
    let [servers, runners] = fires;
    let (servers, runners) = (servers.cease(&field).await, runners.cease(&field).await);
    fire::ready(&field).await;
    assert_eq!(done.len(), plan.count, "everything that was accepted is accounted for");
    reckoning::reckon(&field, &load, &done, plan, runners.troubles()).await;
    runners.end();
    servers.end();
    let tally = field.tally.lock().unwrap();
    Outcome { faults: tally.faults(), table: tally.table(plan, &done) }
}
