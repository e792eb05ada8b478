//! The result of a canary run, and its text form. This module counts; it does not judge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A violation by a command that the policy called read-only.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The command, or the commands that may have caused it.
    pub commands: Vec<String>,
    /// The changes, the programs started, or the reason why the command could not be watched.
    pub what: Vec<String>,
}

/// Counts of the commands of one program.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Commands with this program that were called read-only and ran.
    pub ran: usize,
    /// Commands with this program that were not called read-only.
    pub refused: usize,
    /// Flags that were in a command that ran.
    pub flags: BTreeSet<usize>,
    /// Names of flags that the run stopped trying, because no command with them was called read-only.
    pub never: Vec<String>,
    /// How many flags the tables list as harmless.
    pub all_flags: usize,
}

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The counts by program.
    pub programs: BTreeMap<String, Tally>,
    /// Programs of the tables that this system does not have.
    pub absent: Vec<String>,
    /// Commands that ran, by construct.
    pub constructs: BTreeMap<&'static str, usize>,
    /// Commands that were called read-only and selected to run.
    pub ran: usize,
    /// Selected commands that did not run: a planted file made the runner withdraw the verdict.
    pub withdrawn: usize,
    /// Commands that were not called read-only.
    pub refused: usize,
    /// Commands that had to be killed.
    pub ended_by_force: usize,
    /// Programs that were started, except shells.
    pub started: usize,
    /// The violations.
    pub findings: Vec<Finding>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<24} {:>7} {:>9} {:>12}", "program", "ran", "refused", "flags ran")?;
        for (name, tally) in &self.programs {
            let flags = format!("{}/{}", tally.flags.len(), tally.all_flags);
            writeln!(out, "{name:<24} {:>7} {:>9} {flags:>12}", tally.ran, tally.refused)?;
        }
        for (name, tally) in self.programs.iter().filter(|(_, tally)| !tally.never.is_empty()) {
            writeln!(out, "never read-only: {name} {}", tally.never.join(" "))?;
        }
        writeln!(out, "not installed, so not run: {}", self.absent.join(", "))?;
        for (construct, count) in &self.constructs {
            writeln!(out, "{construct:<24} {count:>7}")?;
        }
        for finding in &self.findings {
            writeln!(out, "FOUND {:?}\n      {}", finding.commands, finding.what.join("\n      "))?;
        }
        writeln!(
            out,
            "{} commands called read-only were tried, and of {} the verdict was withdrawn; {} were not called so and \
             dropped; {} programs started, {} commands ended by force; {} findings",
            self.ran,
            self.withdrawn,
            self.refused,
            self.started,
            self.ended_by_force,
            self.findings.len()
        )
    }
}
