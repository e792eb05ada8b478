//! Fuzzes property 1: when real bash runs a generated command, the policy has predicted every
//! program that bash or a launcher starts. This module generates the commands and decides them;
//! workers run them in sandboxes. No generated command may run on the host.

pub mod claim;
mod decider;
pub mod grammar;
mod mutate;
pub mod sandbox;
pub mod table;
pub mod tally;
pub mod worker;
mod workers;

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;

use decider::Decider;
use grammar::Construct;
use tally::{Finding, Report, Tally};
use workers::Worker;

use crate::trace::Exec;

pub use decider::Judged;
pub use tally::Options;

/// The percentage of commands with text that is changed at random.
const MUTATED: u8 = 25;
/// The percentage of commands with a session that has a snapshot.
const BEHIND_SNAPSHOT: u8 = 20;
/// The maximum number of shares that a construct gets to reach enough complete and allowed
/// commands.
const MOST_SHARES: usize = 12;
/// Generates commands, decides them, runs them and compares the results.
///
/// # Errors
///
/// Returns an error if no sandbox can be created or a worker sends an invalid answer.
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
                    let decider = Decider::new(options.drop_last_prediction);
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
        // An alias of the snapshot can turn the whole construct into a comment.
        tally.count(&judged, mutated || snapshot);
        if !judged.claimed || !tally.wants_run(&judged, options) {
            continue;
        }
        let trace = worker.run(&text, judged.mode)?;
        tally.ran(&judged, &trace);
        if let Some(exec) = claim::unpredicted(&trace, &judged.commands) {
            let finding = shrunk_finding((&text, snapshot), exec, decider, worker)?;
            tally.findings.push(finding);
        }
    }
    Ok(tally)
}

/// Returns the generated text with this index, after any random changes.
#[must_use]
pub fn text(construct: &Construct, seed: u64, index: usize) -> Vec<u8> {
    command(construct, seed, index).text
}

/// A generated command.
struct Command {
    text: Vec<u8>,
    /// Whether the text was changed at random.
    mutated: bool,
    /// Whether its session has a snapshot.
    snapshot: bool,
}

/// Generates the command with this index. The result depends only on the arguments.
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

/// The maximum number of runs for one finding.
const MOST_RUNS: usize = 400;

/// Returns the finding with the smallest text that still starts an unpredicted program.
fn shrunk_finding(
    (text, snapshot): (&[u8], bool),
    exec: &Exec,
    decider: &Decider,
    worker: &mut Worker,
) -> io::Result<Finding> {
    let mut small = text.to_vec();
    let mut started = words(&exec.argv);
    let mut size = small.len() / 2;
    let mut runs = 0;
    while size > 0 && runs < MOST_RUNS {
        let mut at = 0;
        while at < small.len() && runs < MOST_RUNS {
            let mut shorter = small.clone();
            shorter.drain(at..(at + size).min(small.len()));
            let judged = decider.judge(&shorter, snapshot);
            let seen = if judged.claimed {
                runs += 1;
                let trace = worker.run(&shorter, judged.mode)?;
                claim::unpredicted(&trace, &judged.commands).map(|exec| words(&exec.argv))
            } else {
                None
            };
            match seen {
                Some(seen) => (small, started) = (shorter, seen),
                None => at += size,
            }
        }
        size /= 2;
    }
    let judged = decider.judge(&small, snapshot);
    Ok(Finding { text: text.to_vec(), small, snapshot, started, predicted: predicted(&judged) })
}

fn words(argv: &[Vec<u8>]) -> String {
    let words: Vec<String> = argv.iter().map(|word| format!("`{}`", word.escape_ascii())).collect();
    words.join(" ")
}

fn predicted(judged: &Judged) -> String {
    let word = |word: &airlock_policy::Word| match (&word.text, word.exactly_one) {
        (Some(text), _) => format!("`{}`", text.escape_ascii()),
        (None, true) => "one".to_owned(),
        (None, false) => "any".to_owned(),
    };
    let commands: Vec<String> = judged
        .commands
        .iter()
        .map(|command| command.argv.iter().map(word).collect::<Vec<_>>().join(" "))
        .collect();
    format!("{} (complete: {}, allowed: {})", commands.join("; "), judged.complete, judged.allowed)
}
