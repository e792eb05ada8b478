//! The program of `make fuzz-read-only`: checks property 2 with real programs on a writable tree.
//! Exits with 1 if a command that the policy calls read-only changed something or started a program
//! without a prediction.

use std::io;
use std::process::ExitCode;

use airlock_fuzz::canary::place::Planted;
use airlock_fuzz::canary::run::{Settings, run};
use airlock_fuzz::canary::worker::Worker;
use airlock_fuzz::canary::{inside, judge};
use airlock_policy::{Profile, Request, decide};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Runs generated commands that are called read-only, on files that must not change")]
struct Args {
    /// Seed that determines every command; the default is different in each run
    #[arg(long)]
    seed: Option<u64>,
    /// How many read-only commands to run
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// How many sandboxes run at the same time; the default is one per core
    #[arg(long)]
    jobs: Option<usize>,
    /// Run only this command, whatever the policy decides, and print the result; can be repeated
    #[arg(long = "try")]
    tries: Vec<String>,
    #[arg(hide = true)]
    place: Option<String>,
    #[arg(hide = true)]
    planted: Option<String>,
}

fn main() -> ExitCode {
    match work(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fuzz-read-only: {error}");
            ExitCode::from(2)
        }
    }
}

fn work(args: &Args) -> io::Result<ExitCode> {
    if args.place.as_deref() == Some("inside") {
        let planted = args.planted.as_deref().and_then(Planted::from_name);
        let planted = planted.ok_or_else(|| io::Error::other("it runs inside its sandbox only"))?;
        return inside::run(planted).map(|()| ExitCode::SUCCESS);
    }
    let driver = std::env::current_exe()?;
    if !args.tries.is_empty() {
        return try_each(&driver, &args.tries);
    }
    let jobs = std::thread::available_parallelism()?.get();
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    println!("seed {seed}");
    let workers = args.jobs.unwrap_or(jobs);
    let report = run(&Settings { seed, commands: args.count, one_in: 1, workers, driver })?;
    print!("{report}");
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn try_each(driver: &std::path::Path, commands: &[String]) -> io::Result<ExitCode> {
    let profile =
        Profile::builtin("strict").ok_or_else(|| io::Error::other("the profile `strict` is missing"))?;
    let mut worker = Worker::new(driver, 0);
    for command in commands {
        let decision = decide(&Request::bash(command.as_bytes()), &profile);
        let seen = worker.run(command)?;
        let unpredicted = judge::unpredicted(&decision, &seen.started);
        println!("{command:?}: read-only {}, unpredicted {unpredicted:?}, {seen:?}", decision.read_only);
    }
    Ok(ExitCode::SUCCESS)
}
