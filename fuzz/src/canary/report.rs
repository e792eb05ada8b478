//! What a run of the canary saw, and how it is printed. It counts; it judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Something that a command called read-only did.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The command, or those among which it is.
    pub commands: Vec<String>,
    /// What is not as it was, what was started, or why it could not be watched.
    pub what: Vec<String>,
}

/// Counts of one program's commands.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Commands in which it stands that were called read-only, and were run.
    pub ran: usize,
    /// Commands in which it stands that were not.
    pub refused: usize,
    /// Those of its flags that were in a command that was run.
    pub flags: BTreeSet<usize>,
    /// Names of its flags that were given up: no command made for them was called read-only.
    pub never: Vec<String>,
    /// How many flags the tables call harmless.
    pub all_flags: usize,
}

/// A whole run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// By program.
    pub programs: BTreeMap<String, Tally>,
    /// Programs of the tables that this system has not.
    pub absent: Vec<String>,
    /// Commands run, by construct.
    pub constructs: BTreeMap<&'static str, usize>,
    /// Commands called read-only and run.
    pub ran: usize,
    /// Those of them that were not run after all: a planted file made the runner withdraw the verdict.
    pub withdrawn: usize,
    /// Commands that were not called read-only.
    pub refused: usize,
    /// Commands that had to be ended.
    pub ended_by_force: usize,
    /// Programs that were started, shells left out.
    pub started: usize,
    /// What must not be.
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
