//! The program of `make fuzz-bash`: checks property 1 with real bash. It prints the counts by
//! construct and exits with 1 if a program was started without a prediction.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use airlock_fuzz::bash::{self, Options, table, worker};
use clap::Parser;

/// The document that lists the constructs that are never allowed.
const CONSTRUCTS: &str = include_str!("../../../docs/constructs.md");

#[derive(Parser)]
#[command(about = "Runs generated commands with real bash, and compares what starts with what was predicted")]
struct Args {
    /// Seed that determines every command; the default is different in each run
    #[arg(long)]
    seed: Option<u64>,
    /// Minimum number of commands to generate in total
    #[arg(long, default_value_t = 300_000)]
    count: usize,
    /// How many commands of each construct to run, of those with a claim
    #[arg(long, default_value_t = 1_400)]
    tried: usize,
    /// How many commands of each construct must be complete, and how many allowed, if there are any
    #[arg(long, default_value_t = 500)]
    enough: usize,
    /// Number of workers; the default is one per core
    #[arg(long)]
    jobs: Option<usize>,
    /// Run only this construct
    #[arg(long)]
    only: Option<String>,
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fuzz-bash: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> io::Result<ExitCode> {
    if args.worker {
        worker::serve()?;
        return Ok(ExitCode::SUCCESS);
    }
    let worker: PathBuf = std::env::current_exe()?;
    let cores = std::thread::available_parallelism()?.get();
    let options = Options {
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000)),
        count: args.count,
        tried: args.tried,
        enough: args.enough,
        jobs: args.jobs.unwrap_or(cores),
        only: args.only,
        worker,
        progress: true,
        drop_last_prediction: false,
    };
    eprintln!("fuzz-bash: seed {}", options.seed);
    let report = bash::run(&options)?;
    print!("{report}");
    let too_few = report.too_few(options.enough);
    for tally in &too_few {
        println!("fewer than {} complete or allowed: {}", options.enough, tally.name);
    }
    let differing =
        if options.only.is_none() { table::differing(CONSTRUCTS, &report.tallies) } else { Vec::new() };
    for name in &differing {
        println!("docs/constructs.md is wrong about {name}");
    }
    println!("seed {}", report.seed);
    Ok(if report.findings().next().is_some() || !too_few.is_empty() || !differing.is_empty() {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}
