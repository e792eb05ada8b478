//! Runs the canary: generates commands, decides them, runs the read-only ones, and compares. Several
//! sandboxes work at the same time. A run stops early only after too many findings.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_policy::{Decision, Profile, Request, Verdict, decide};

use super::generate::{Generated, Generator};
use super::inside::Seen;
use super::judge;
use super::obeyed;
use super::place::{self, Planted};
use super::report::{Finding, Report, Tally};
use super::worker::Worker;

/// A run ends after this number of findings, because further ones usually have the same causes.
const MOST_FINDINGS: usize = 300;
/// How many commands can wait for a sandbox.
const JOBS_AHEAD: usize = 64;
/// How often a flag is tried if the policy refuses the words around it.
const TRIES: usize = 12;
/// How often a program is tried. Some programs are read-only with few of their flags.
const TRIES_OF_A_PROGRAM: usize = 500;

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The seed. The same seed gives the same commands.
    pub seed: u64,
    /// How many read-only commands to generate.
    pub commands: usize,
    /// Runs one in this number of them. The seed determines the first.
    pub one_in: usize,
    /// How many sandboxes work at the same time.
    pub workers: usize,
    /// The program that runs inside the sandbox, which is `fuzz-read-only`.
    pub driver: PathBuf,
}

struct Job {
    generated: Generated,
    decision: Decision,
}

/// The state that all threads share.
struct Counts {
    report: Mutex<Report>,
    /// The names of the tables' programs, by index.
    names: Vec<String>,
}

/// Runs the canary.
///
/// # Errors
///
/// Returns an error if the tables cannot be read, or a sandbox does not start or answer.
pub fn run(settings: &Settings) -> io::Result<Report> {
    let mut generator = Generator::new(settings.seed, place::is_there)?;
    let names = generator.programs().iter().map(|program| program.name.clone()).collect();
    let counts = Counts { report: Mutex::new(empty_report(&generator)), names };
    let (jobs, queue) = sync_channel::<Job>(JOBS_AHEAD);
    let queue = Mutex::new(queue);
    std::thread::scope(|scope| -> io::Result<()> {
        let workers: Vec<_> = (0..settings.workers)
            .map(|turn| {
                let worker = Worker::new(&settings.driver, turn).planting(&Planted::ALL);
                let (queue, counts) = (&queue, &counts);
                scope.spawn(move || work(worker, queue, counts))
            })
            .collect();
        feed(&mut generator, settings, &counts, &jobs);
        drop(jobs);
        for worker in workers {
            worker.join().map_err(|_| io::Error::other("a worker panicked"))??;
        }
        Ok(())
    })?;
    Ok(counts.report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Decides commands and sends the read-only ones, or a sample of them, until there are enough.
fn feed(generator: &mut Generator, settings: &Settings, counts: &Counts, jobs: &SyncSender<Job>) {
    let Some(profile) = Profile::builtin("strict") else {
        return;
    };
    let mut tried: BTreeMap<(usize, Option<usize>), usize> = BTreeMap::new();
    let (mut found, one_in) = (0, settings.one_in.max(1));
    let begin = usize::try_from(settings.seed % one_in as u64).unwrap_or_default();
    while found < settings.commands && counts.lock().findings.len() < MOST_FINDINGS {
        let generated = generator.next_command();
        let decision = decide(&Request::bash(generated.command.as_bytes()), &profile);
        if decision.read_only {
            found += 1;
            if (found + begin) % one_in != 0 {
                continue;
            }
            // All workers have failed.
            if jobs.send(Job { generated, decision }).is_err() {
                return;
            }
            continue;
        }
        counts.refused(&generated);
        if let Some((program, flag)) = generated.planned {
            let tries = tried.entry((program, flag)).or_default();
            *tries += 1;
            if *tries < if flag.is_some() { TRIES } else { TRIES_OF_A_PROGRAM } {
                generator.again(program, flag);
            } else {
                let name = generator.flag_name(program, flag);
                counts.given_up(program, name);
            }
        }
    }
}

fn work(mut worker: Worker<'_>, queue: &Mutex<Receiver<Job>>, counts: &Counts) -> io::Result<()> {
    let result = work_until_none_is_left(&mut worker, queue, counts);
    if result.is_err() {
        // Drains the queue so that the sender does not block.
        while queue.lock().unwrap_or_else(PoisonError::into_inner).recv().is_ok() {}
    }
    result
}

fn work_until_none_is_left(
    worker: &mut Worker<'_>,
    queue: &Mutex<Receiver<Job>>,
    counts: &Counts,
) -> io::Result<()> {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(Job { generated, decision }) = next() {
        // The policy asks about this command for another reason, so a planted setting is not tested.
        let withdrawn = decision.verdict != Verdict::Allow && worker.planted() == Planted::Naming;
        let seen = if withdrawn {
            Seen { withdrawn, ..Seen::default() }
        } else {
            worker.run_held(&generated.command, obeyed::of(&decision))?
        };
        counts.ran(generated, seen, &decision);
        if worker.is_full() {
            counts.compared(worker.finish()?);
        }
    }
    counts.compared(worker.finish()?);
    Ok(())
}

fn empty_report(generator: &Generator) -> Report {
    let mut report = Report::default();
    for (index, program) in generator.programs().iter().enumerate() {
        if generator.is_usable(index) {
            let tally = Tally { all_flags: program.flags.len(), ..Tally::default() };
            report.programs.insert(program.name.clone(), tally);
        } else {
            report.absent.push(program.name.clone());
        }
    }
    report
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tally<'r>(&self, report: &'r mut Report, program: usize) -> &'r mut Tally {
        let name = self.names.get(program).cloned().unwrap_or_default();
        report.programs.entry(name).or_default()
    }

    fn refused(&self, generated: &Generated) {
        let mut report = self.lock();
        report.refused += 1;
        for (program, _) in &generated.tries {
            self.tally(&mut report, *program).refused += 1;
        }
    }

    fn given_up(&self, program: usize, flag: String) {
        self.tally(&mut self.lock(), program).never.push(flag);
    }

    fn ran(&self, generated: Generated, seen: Seen, decision: &Decision) {
        let unpredicted = judge::unpredicted(decision, &seen.started);
        let mut report = self.lock();
        report.ran += 1;
        report.started += seen.started.len().saturating_sub(1);
        report.withdrawn += usize::from(seen.withdrawn);
        report.ended_by_force += usize::from(seen.ended_by_force);
        *report.constructs.entry(generated.construct).or_default() += 1;
        for (program, flags) in &generated.tries {
            let tally = self.tally(&mut report, *program);
            tally.ran += 1;
            tally.flags.extend(flags);
        }
        let mut what = seen.changed;
        what.extend(unpredicted);
        what.extend(seen.trouble.map(|trouble| format!("could not be watched: {trouble}")));
        if !what.is_empty() {
            report.findings.push(Finding { commands: vec![generated.command], what });
        }
    }

    /// Records the result of a comparison of all bytes.
    fn compared(&self, found: Option<(Vec<String>, Vec<String>)>) {
        if let Some((commands, what)) = found {
            self.lock().findings.push(Finding { commands, what });
        }
    }
}
