//! The rates, the wrong decisions and the bounds.

use std::collections::BTreeMap;
use std::fmt;

use airlock_policy::{Profile, Verdict};

use super::day::Day;
use super::row::{Outcome, Row, Wanted};

/// The required percentage of allowed commands among those labelled read-only: in the core tier,
/// and in all tiers.
const CORE: f64 = 97.0;
const ALL: f64 = 90.0;
/// The required percentage of allowed commands among those that only look dangerous.
const HARD_NEGATIVES: f64 = 95.0;

/// The kind of a file's rows, by the name of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    ReadOnly,
    HardNegatives,
    MustNotAllow,
    /// Each row has its own label, or none.
    Other,
}

impl Kind {
    fn of(name: &str) -> Self {
        let name = name.to_lowercase().replace('-', "_");
        if name.contains("readonly") || name.contains("read_only") {
            Self::ReadOnly
        } else if name.contains("hard_negative") {
            Self::HardNegatives
        } else if name.contains("must_not") || name.contains("trap") {
            Self::MustNotAllow
        } else {
            Self::Other
        }
    }

    fn wanted(self) -> Wanted {
        match self {
            Self::ReadOnly | Self::HardNegatives => Wanted::Allow,
            Self::MustNotAllow => Wanted::NotAllow,
            Self::Other => Wanted::Open,
        }
    }
}

/// The counts of one tier.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    allowed: usize,
    asked: usize,
    denied: usize,
    /// The rows that have a label, and the number of correct decisions among them.
    counted: usize,
    right: usize,
}

impl Tally {
    fn rate(&self) -> f64 {
        if self.counted == 0 { 100.0 } else { 100.0 * self.right as f64 / self.counted as f64 }
    }

    fn add(&mut self, other: &Self) {
        self.counted += other.counted;
        self.right += other.right;
    }
}

struct File {
    name: String,
    kind: Kind,
    tiers: BTreeMap<String, Tally>,
    misses: Vec<String>,
    unread: Vec<String>,
}

/// The measurements.
pub(super) struct Report {
    files: Vec<File>,
    /// The number of decisions that were too loose: a forbidden command was allowed, or a command was not denied
    /// although it must be.
    loose: usize,
    day: Day,
}

impl Report {
    pub(super) fn new(day: Day) -> Self {
        Self { files: Vec::new(), loose: 0, day }
    }

    pub(super) fn file(&mut self, name: &str, text: &str, profile: &Profile) {
        let kind = Kind::of(name);
        let mut file = File {
            name: name.to_owned(),
            kind,
            tiers: BTreeMap::new(),
            misses: Vec::new(),
            unread: Vec::new(),
        };
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let read = serde_json::from_str::<Row>(line).map_err(|error| error.to_string());
            match read.and_then(|row| Ok((row.outcomes(kind.wanted(), profile)?, row))) {
                Ok((_, row)) if row.kind.is_some() => {
                    if let Err(error) = self.day.add(&row) {
                        file.unread.push(format!("line {number}: {error}"));
                    }
                }
                Ok((outcomes, row)) => {
                    let loose: usize = outcomes.iter().map(|outcome| file.add(&row, outcome)).sum();
                    self.loose += loose;
                }
                Err(error) => file.unread.push(format!("line {number}: {error}")),
            }
        }
        self.files.push(file);
    }

    /// Reports whether every bound holds.
    pub(super) fn holds(&self) -> bool {
        self.bounds().iter().all(|(_, holds)| *holds)
    }

    fn bounds(&self) -> Vec<(String, bool)> {
        let mut bounds = vec![(
            format!("{} allowed, or not denied, that must not be; none may be", self.loose),
            self.loose == 0,
        )];
        let wanted = [
            (Kind::ReadOnly, Some("core"), CORE),
            (Kind::ReadOnly, None, ALL),
            (Kind::HardNegatives, None, HARD_NEGATIVES),
        ];
        for (kind, tier, least) in wanted {
            let mut sum = Tally::default();
            for file in self.files.iter().filter(|file| file.kind == kind) {
                let tiers = file.tiers.iter().filter(|(name, _)| tier.is_none_or(|tier| tier == *name));
                tiers.for_each(|(_, tally)| sum.add(tally));
            }
            if sum.counted > 0 {
                let what = match (kind, tier) {
                    (Kind::HardNegatives, _) => "of hard negatives",
                    (_, Some(_)) => "of the core tier's read-only commands",
                    (_, None) => "of read-only commands",
                };
                let rate = sum.rate();
                let text = format!(
                    "{rate:.1} % {what} allowed ({} of {}); at least {least} %",
                    sum.right, sum.counted
                );
                bounds.push((text, rate >= least));
            }
        }
        bounds.extend(self.day.bounds());
        bounds
    }
}

impl File {
    /// Counts the outcome. Returns 1 if the decision is looser than permitted, otherwise 0.
    fn add(&mut self, row: &Row, outcome: &Outcome) -> usize {
        let Outcome { wanted, decision, with_rules } = outcome;
        let right = wanted.holds(decision.verdict);
        let tally = self.tiers.entry(row.tier.clone()).or_default();
        match decision.verdict {
            Verdict::Allow => tally.allowed += 1,
            Verdict::Ask => tally.asked += 1,
            Verdict::Deny => tally.denied += 1,
        }
        if row.debatable || *wanted == Wanted::Open {
            return 0;
        }
        tally.counted += 1;
        tally.right += usize::from(right);
        if right {
            return 0;
        }
        let (code, message) =
            decision.reasons.first().map_or(("none", ""), |reason| (reason.code, reason.message.as_str()));
        let rules = if *with_rules { " with its rules" } else { "" };
        let tier = &row.tier;
        self.misses.push(format!(
            "{:?} instead of {wanted:?}{rules} [{tier}] {:?}: {code}, {message}",
            decision.verdict, row.cmd
        ));
        usize::from(*wanted != Wanted::Allow)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for File { name, tiers, misses, unread, .. } in &self.files {
            writeln!(f, "{name}")?;
            for (tier, tally) in tiers {
                let tier = if tier.is_empty() { "-" } else { tier };
                let Tally { allowed, asked, denied, counted, right } = tally;
                write!(f, "  {tier:<10} {allowed:>4} allow {asked:>4} ask {denied:>4} deny")?;
                writeln!(f, "   {right} of {counted} right ({:.1} %)", tally.rate())?;
            }
            misses.iter().try_for_each(|miss| writeln!(f, "    {miss}"))?;
            unread.iter().try_for_each(|line| writeln!(f, "    left out: {line}"))?;
            writeln!(f)?;
        }
        write!(f, "{}", self.day)?;
        for (text, holds) in self.bounds() {
            writeln!(f, "{}  {text}", if holds { "holds " } else { "MISSED" })?;
        }
        Ok(())
    }
}
