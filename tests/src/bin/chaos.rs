//! `make chaos`: runs rows of the fault table in random order with random plans until the time has expired,
//! or repeats one injection. The last line contains a summary.

use std::{
    collections::BTreeMap,
    process::ExitCode,
    time::{Duration, Instant},
};

use airlock_tests::chaos::{
    plan::{Extent, Plan},
    rows::Row,
};
use clap::Parser;
use tokio::{runtime::Handle, task::spawn_blocking};

/// The largest number of consecutive injections of one row.
const AT_ONCE: usize = 8;

/// Inject faults, and check the surviving state.
#[derive(Debug, Parser)]
struct Arguments {
    /// The duration in seconds.
    #[arg(long, default_value_t = 3600)]
    seconds: u64,
    /// The seed of all random choices [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// Run only this row.
    #[arg(long)]
    row: Option<String>,
    /// Run only this injection of the row, once.
    #[arg(long, requires = "row")]
    index: Option<usize>,
}

/// The results of all plans.
#[derive(Debug, Default)]
struct Sum {
    by_row: BTreeMap<String, usize>,
    failed: Vec<String>,
}

impl Sum {
    /// Runs a plan. A violated guarantee is recorded, and does not stop further plans.
    async fn make(&mut self, row: Row, plan: Plan) {
        let (made, here) = (plan.clone(), Handle::current());
        let broken = spawn_blocking(move || here.block_on(row.run(&made))).await.is_err();
        let tally = plan.tally();
        *self.by_row.entry(format!("{row:?}")).or_default() += tally.injections;
        if broken {
            // A failure before the first injection is in the setup, which the first injection repeats.
            let first = format!("SEED={} ROW={row:?} INDEX=0", plan.seed);
            let last = if tally.last.is_empty() { first } else { tally.last };
            self.failed.push(format!("make chaos {last}"));
        }
    }

    fn tell(&self, seed: u64) -> ExitCode {
        for failed in &self.failed {
            println!("FAILED: {failed}");
        }
        let rows: Vec<String> = self.by_row.iter().map(|(row, count)| format!("{row} {count}")).collect();
        let all: usize = self.by_row.values().sum();
        println!("chaos: seed {seed}: {all} injections ({}), {} failed", rows.join(", "), self.failed.len());
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    drop(rustls::crypto::ring::default_provider().install_default());
    let row = match arguments.row.as_deref().map(|name| (name, Row::named(name))) {
        None => None,
        Some((_, Some(row))) => Some(row),
        Some((name, None)) => {
            let names: Vec<String> = Row::ALL.iter().map(|(row, ..)| format!("{row:?}")).collect();
            eprintln!("chaos: there is no row `{name}`; there are {}", names.join(", "));
            return ExitCode::from(2);
        }
    };
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    let mut sum = Sum::default();
    if let (Some(row), Some(index)) = (row, arguments.index) {
        sum.make(row, Plan::new(seed, Extent::One(index))).await;
        return sum.tell(seed);
    }
    let mut rng = fastrand::Rng::with_seed(seed);
    let over = Instant::now() + Duration::from_secs(arguments.seconds);
    while Instant::now() < over {
        let any = rng.choice(Row::ALL).map_or(Row::ServerPoint, |(row, ..)| row);
        sum.make(row.unwrap_or(any), Plan::new(rng.u64(..), Extent::Some(AT_ONCE))).await;
    }
    sum.tell(seed)
}
