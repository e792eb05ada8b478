//! Property 1: of generated commands, run by real bash, every program that bash or a
//! launcher starts was predicted. Commands are made and decided here, and run in
//! sandboxes by workers. Nothing here may run one on the host.

pub mod claim;
mod decider;
pub mod grammar;
mod mutate;
pub mod sandbox;
mod shrink;
pub mod stops;
pub mod tally;
pub mod worker;
mod workers;

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;

use decider::Decider;
use grammar::Construct;
use tally::{Report, Tally};
use workers::Worker;

pub use decider::Judged;

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// From which every command follows.
    pub seed: u64,
    /// How many commands to generate in all at least; each construct gets its share.
    pub count: usize,
    /// How many of each construct are run by bash, of those about which something is
    /// claimed: these, and as many of the allowed ones as are enough.
    pub tried: usize,
    /// How many of a construct have to come out complete, and allowed, where any does.
    pub enough: usize,
    /// How many workers.
    pub jobs: usize,
    /// Only the construct of this name.
    pub only: Option<String>,
    /// The program with the worker in it.
    pub worker: PathBuf,
    /// Whether to tell how far it is.
    pub progress: bool,
    /// Takes the last word from every command found, so that the check must fire.
    pub withhold: bool,
}

/// Of how many commands of a hundred the text is changed at random.
const MUTATED: u8 = 25;
/// Of how many of a hundred the session has a snapshot.
const BEHIND_SNAPSHOT: u8 = 20;
/// How many times its share of commands a construct gets at most, so that enough of them
/// come out complete and allowed.
const MOST_SHARES: usize = 12;
/// Most findings of one construct: the rest is most likely the same.
const MOST_FINDINGS: usize = 3;

/// Generates, decides, runs and compares.
///
/// # Errors
///
/// Where no sandbox can be made or a worker answers nothing sensible.
pub fn run(options: &Options) -> io::Result<Report> {
    let all: Vec<Construct> = grammar::constructs()
        .into_iter()
        .filter(|construct| options.only.as_ref().is_none_or(|name| name == construct.name))
        .collect();
    if all.is_empty() {
        return Err(io::Error::other("there is no construct of that name"));
    }
    let root = tempfile::tempdir()?;
    sandbox::write_root(root.path())?;
    let next = AtomicUsize::new(0);
    let tallies: Mutex<Vec<(usize, Tally)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs.max(1))
            .map(|_| {
                scope.spawn(|| -> io::Result<()> {
                    let mut worker = Worker::start(&options.worker, root.path())?;
                    let decider = Decider::new(options.withhold);
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(construct) = all.get(index) else {
                            return Ok(());
                        };
                        let tally = try_construct(construct, options, all.len(), &decider, &mut worker)?;
                        if options.progress {
                            eprintln!("{}/{} {}", index + 1, all.len(), tally.line());
                        }
                        lock(&tallies).push((index, tally));
                    }
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the fuzzer failed")))
        })
    })?;
    let mut tallies = std::mem::take(&mut *lock(&tallies));
    tallies.sort_by_key(|(index, _)| *index);
    Ok(Report { seed: options.seed, tallies: tallies.into_iter().map(|(_, tally)| tally).collect() })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn try_construct(
    construct: &Construct,
    options: &Options,
    constructs: usize,
    decider: &Decider,
    worker: &mut Worker,
) -> io::Result<Tally> {
    let mut tally = Tally::new(construct.name);
    let share = options.count.div_ceil(constructs);
    for index in 0..share * MOST_SHARES {
        if index >= share && tally.has_enough(options.enough) {
            break;
        }
        let Command { text, mutated, snapshot } = command(construct, options.seed, index);
        let judged = decider.judge(&text, snapshot);
        // An alias of the snapshot may make a comment of the whole construct.
        tally.count(&judged, mutated || snapshot);
        if !judged.claimed || !tally.wants_run(&judged, options) {
            continue;
        }
        let trace = worker.run(&text, judged.way)?;
        tally.ran(&judged, &trace);
        if let Some(exec) = claim::unpredicted(&trace, &judged.commands) {
            let finding = shrink::finding((&text, snapshot), exec, decider, worker)?;
            tally.findings.push(finding);
        }
    }
    Ok(tally)
}

/// The text of that number: generated, some of it changed at random.
#[must_use]
pub fn text(construct: &Construct, seed: u64, index: usize) -> Vec<u8> {
    command(construct, seed, index).text
}

/// One generated command.
struct Command {
    text: Vec<u8>,
    /// Whether it was changed at random.
    mutated: bool,
    /// Whether its session has a snapshot.
    snapshot: bool,
}

/// The command of that number. It depends on nothing else.
fn command(construct: &Construct, seed: u64, index: usize) -> Command {
    let name =
        construct.name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut rng = Rng::with_seed(name.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64));
    let mut text = grammar::generate(construct, &mut rng);
    let mutated = rng.u8(..100) < MUTATED;
    if mutated {
        mutate::mutate(&mut text, &mut rng);
    }
    Command { text, mutated, snapshot: rng.u8(..100) < BEHIND_SNAPSHOT }
}
