//! A fleet under load and faults. Commands of every kind are started, read and awaited through any server, while
//! servers and runners are killed, replaced, drained and disconnected at random. A consistency check follows.
//!
//! The faults follow from the seed; the interleaving of threads and processes does not.

mod consistency_check;
mod field;
mod fire;
mod load;
mod points;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use tokio::task::JoinSet;

pub use field::Plan;

use crate::{
    cutter::Cutter,
    engines::{Bucket, Database},
    fleet::{
        Fleet, Shared, Timers,
        network::{Network, SWITCH},
    },
    reader::cause,
};
use airlock_client::v1;
use field::{Field, RUNNERS, SERVERS, Tally};
use load::{Done, Load};

/// The largest number of concurrent executions.
const WORKERS: usize = 20;
/// Links of hosts are cut during requests, which should then fail soon.
const STORE: &str = "connect_timeout = \"5s\"\n";
const STORAGE: &str = "connect_timeout = \"5s\"\nrequest_timeout = \"5s\"\nretry_for = \"1s\"\n";
/// A queue without a relevant timeout.
const SERVER: &str = "[limits]\nqueue_wait = \"10m\"\n";
const RUNNER: &str = "[reconnect]\nfirst = \"50ms\"\nmax = \"500ms\"\nrefused = \"500ms\"\n\
    [drain]\ngrace = \"2s\"\nhandover = \"10s\"\n";

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The number of faults that occurred.
    pub faults: u32,
    /// The tables of the run.
    pub table: String,
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
    let relays = (network.relay(database.address()), network.relay(bucket.address()));
    let at = |relay: &Cutter| format!("{SWITCH}:{}", relay.address.port());
    let shared = Shared {
        timers: Timers::Short,
        store: database.table_at(&at(&relays.0), true, STORE),
        outputs: bucket.table_at(&at(&relays.1), STORAGE),
        server: SERVER.to_owned(),
        runner: RUNNER.to_owned(),
    };
    let fleet = Fleet::on_hosts(&network, SERVERS, RUNNERS, &shared);
    let field =
        Field { fleet, database: (database, relays.0), bucket: (bucket, relays.1), tally: Mutex::default() };
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
    assert_eq!(done.len(), plan.count, "every accepted execution has a result");
    consistency_check::check(&field, &load, &done, plan, runners.troubles()).await;
    runners.end();
    servers.end();
    let tally = field.tally.lock().unwrap();
    Outcome { faults: tally.faults(), table: table_of(&tally, plan, &done) }
}

/// Returns the injected faults and the results as tables.
fn table_of(tally: &Tally, plan: Plan, done: &[Done]) -> String {
    let mut table = format!(
        "fleet: SEED={} COUNT={}: {} faults; {} executions, {} MB of output told and counted; {} answers of single \
         servers under fire, {} executions that every server agrees about\n",
        plan.seed,
        plan.count,
        tally.faults(),
        done.len(),
        tally.bytes / 1_000_000,
        tally.answers,
        tally.agreed,
    );
    let mut rows = |title: &str, counts: &BTreeMap<String, u32>| {
        writeln!(table, "{title}").unwrap();
        for (what, count) in counts {
            writeln!(table, "  {count:>5}  {what}").unwrap();
        }
    };
    rows("injected", &tally.injected);
    rows("died at", &tally.died);
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for one in done {
        let cause = cause(&one.end);
        let cause = cause.as_str_name().trim_start_matches("CAUSE_CODE_");
        let started = one.end.result.as_ref().map_or(v1::Started::Unspecified, v1::Result::started);
        let started = started.as_str_name().trim_start_matches("STARTED_");
        *ends.entry(format!("{:?}: {cause} (started: {started})", one.kind)).or_default() += 1;
    }
    rows("ends", &ends);
    table
}
