//! The options of a run, and its counts by construct. This module does not judge results.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::decider::{Judged, Stop};
use crate::trace::{Ended, Trace};

/// The maximum number of findings of one construct. More findings most likely have the same cause.
const MOST_FINDINGS: usize = 3;

/// A program that was started without a prediction.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The command as it was generated.
    pub text: Vec<u8>,
    /// The smallest text that still starts the program.
    pub small: Vec<u8>,
    /// Whether its session has the snapshot.
    pub snapshot: bool,
    /// The program that was started.
    pub started: String,
    /// The commands predicted for the smallest text, and whether it was allowed.
    pub predicted: String,
}

/// The counts of one construct.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The name of the construct.
    pub name: &'static str,
    /// Commands generated and decided.
    pub generated: usize,
    /// Commands changed at random or by aliases. They may no longer belong to the construct.
    pub changed: usize,
    /// Unchanged commands with a complete parse.
    pub complete: usize,
    /// Unchanged commands that are allowed.
    pub allowed: usize,
    /// Commands with a claim that bash ran.
    pub tried: usize,
    /// Allowed commands that bash ran.
    tried_allowed: usize,
    /// Programs that these commands started.
    pub started: usize,
    /// Runs that were stopped because of time or number of processes. The programs that they
    /// started are checked.
    pub cut: usize,
    /// Runs that ended the worker itself.
    pub lost: usize,
    /// The steps that stop commands that are not allowed.
    pub stops: BTreeMap<Stop, usize>,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Tally {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    pub(super) fn count(&mut self, judged: &Judged, changed: bool) {
        self.generated += 1;
        if changed {
            self.changed += 1;
            return;
        }
        self.complete += usize::from(judged.complete);
        self.allowed += usize::from(judged.allowed);
        if let Some(stop) = judged.stop {
            *self.stops.entry(stop).or_default() += 1;
        }
    }

    /// Returns whether the numbers of complete and of allowed commands are both either sufficient
    /// or zero.
    pub(super) fn has_enough(&self, enough: usize) -> bool {
        [self.complete, self.allowed].iter().all(|count| *count == 0 || *count >= enough)
    }

    pub(super) fn wants_run(&self, judged: &Judged, options: &Options) -> bool {
        let few_allowed = judged.allowed && self.tried_allowed < options.enough;
        self.findings.len() < MOST_FINDINGS && (self.tried < options.tried || few_allowed)
    }

    pub(super) fn ran(&mut self, judged: &Judged, trace: &Trace) {
        self.tried += 1;
        self.tried_allowed += usize::from(judged.allowed);
        self.started += trace.execs.len().saturating_sub(1);
        self.cut += usize::from(matches!(trace.ended, Ended::TimedOut | Ended::TooManyProcesses));
        self.lost += usize::from(trace.execs.is_empty());
    }

    /// Returns the step that stops most commands.
    #[must_use]
    pub fn main_stop(&self) -> Option<Stop> {
        self.stops.iter().max_by_key(|(_, count)| **count).map(|(stop, _)| *stop)
    }

    /// Formats one line of the table.
    #[must_use]
    pub fn line(&self) -> String {
        let stop = self.main_stop().map_or(String::new(), |stop| format!("{} {}", stop.step, stop.code));
        format!(
            "{:34} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>5} {:>5} {:>4}  {stop}",
            self.name,
            self.generated,
            self.changed,
            self.complete,
            self.allowed,
            self.tried,
            self.started,
            self.cut,
            self.lost,
            self.findings.len(),
        )
    }
}

/// The result of a whole run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The seed that determines every command.
    pub seed: u64,
    /// The counts by construct.
    pub tallies: Vec<Tally>,
}

impl Report {
    /// Returns all findings, each with the name of its construct.
    pub fn findings(&self) -> impl Iterator<Item = (&'static str, &Finding)> {
        self.tallies.iter().flat_map(|tally| tally.findings.iter().map(|finding| (tally.name, finding)))
    }

    /// Returns the constructs with some complete or allowed commands, but too few to count.
    #[must_use]
    pub fn too_few(&self, enough: usize) -> Vec<&Tally> {
        self.tallies.iter().filter(|tally| !tally.has_enough(enough)).collect()
    }

    /// Returns the sum over all constructs.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::new("total");
        for tally in &self.tallies {
            total.generated += tally.generated;
            total.changed += tally.changed;
            total.complete += tally.complete;
            total.allowed += tally.allowed;
            total.tried += tally.tried;
            total.started += tally.started;
            total.cut += tally.cut;
            total.lost += tally.lost;
            total.findings.extend(tally.findings.iter().cloned());
        }
        total
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:34} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>5} {:>5} {:>4}  stopped by",
            "construct",
            "generated",
            "changed",
            "complete",
            "allowed",
            "tried",
            "started",
            "cut",
            "lost",
            "bad"
        )?;
        for tally in &self.tallies {
            writeln!(out, "{}", tally.line())?;
        }
        writeln!(out, "{}", self.total().line())?;
        for (name, finding) in self.findings() {
            writeln!(out, "\nfinding in {name}, seed {}", self.seed)?;
            writeln!(out, "  generated  {}", finding.text.escape_ascii())?;
            writeln!(out, "  smallest   {}", finding.small.escape_ascii())?;
            writeln!(out, "  snapshot   {}", finding.snapshot)?;
            writeln!(out, "  started    {}", finding.started)?;
            writeln!(out, "  predicted  {}", finding.predicted)?;
        }
        Ok(())
    }
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed that determines every command.
    pub seed: u64,
    /// The minimum number of commands to generate in total. Each construct gets an equal share.
    pub count: usize,
    /// How many commands of each construct bash runs, of those with a claim. Allowed commands
    /// continue to run beyond this number until `enough` of them ran.
    pub tried: usize,
    /// How many commands of a construct must be complete, and how many allowed, if there are any.
    pub enough: usize,
    /// The number of workers.
    pub jobs: usize,
    /// Limits the run to the construct of this name.
    pub only: Option<String>,
    /// The program that contains the worker.
    pub worker: PathBuf,
    /// Whether to print progress.
    pub progress: bool,
    /// Removes the last command from each prediction, so that the check must fail.
    pub drop_last_prediction: bool,
}
