//! The choice of a runner for a new session. Of all runners that meet the requirements, two are drawn at random, and
//! the less loaded one is chosen. Pure; the simulation in `benches/` also uses it.

use std::{collections::BTreeMap, fmt};

use airlock_domain::{RunnerId, Shell};

use crate::links::lacks;

/// A runner as a candidate.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its name.
    pub id: &'a RunnerId,
    /// Its configured labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The bases that it offers.
    pub bases: &'a [String],
    /// Its shells with their versions. Empty: unknown.
    pub shells: &'a BTreeMap<String, String>,
    /// Its floor permits commands outside the sandbox.
    pub permits_unsandboxed: bool,
    /// It can enforce its own floor.
    pub holds_floor: bool,
    /// The connection to it.
    pub connection: RunnerConnection,
    /// The share of its slots that are taken, in thousandths.
    pub load: u32,
}

/// The connection over which a runner gets new work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerConnection {
    /// A link of this server.
    Link,
    /// A link of another server.
    OtherServer,
    /// The runner accepts no work at present: it drains, has no slots, has not reported all jobs yet, or has no link to
    /// any server.
    NotNow,
}

/// The requirements of a session for its runner.
#[derive(Debug, Clone, Copy)]
pub struct Wants<'a> {
    /// The runner must have all of these labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The runner must offer this base.
    pub base: Option<&'a str>,
    /// Preferred. If no runner has this shell, the start reports it.
    pub shell: Shell,
    /// The runner's floor must permit commands outside the sandbox.
    pub unsandboxed: bool,
}

/// The reason why there is no runner for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unplaced {
    /// A runner meets the requirements but accepts no work at present.
    NotNow,
    /// No known runner meets the requirements.
    Never(Unmet),
}

/// A requirement that no runner meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// No runner offers the base.
    Base(String),
    /// No runner has the label.
    Label(String, String),
    /// No runner's floor permits commands outside the sandbox.
    Unsandboxed,
    /// Every requirement is met by some runner, but no runner meets all of them.
    Together,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(base) => write!(f, "no runner offers the base `{base}`"),
            Self::Label(key, value) => write!(f, "no runner has the label `{key}={value}`"),
            Self::Unsandboxed => f.write_str("no runner permits commands outside the sandbox"),
            Self::Together => f.write_str("no runner has all of the requested labels and the base"),
        }
    }
}

/// Chooses the runner for a session. `random` returns a number below its argument.
///
/// # Errors
/// Returns the reason why there is no runner.
pub fn choose<'c, 'a>(
    known: &'c [Candidate<'a>],
    wants: &Wants<'_>,
    random: &mut impl FnMut(usize) -> usize,
) -> Result<&'c Candidate<'a>, Unplaced> {
    let mut fits: Vec<_> = known.iter().filter(|one| meets(one, wants)).collect();
    if fits.is_empty() && !known.is_empty() {
        return Err(Unplaced::Never(unmet(known, wants)));
    }
    fits.retain(|one| one.connection != RunnerConnection::NotNow);
    // If no runner enforces its floor or has the shell, the chosen runner reports the missing layer or shell.
    prefer(&mut fits, |one| one.holds_floor);
    prefer(&mut fits, |one| !lacks(one.shells, wants.shell));
    prefer(&mut fits, |one| one.connection == RunnerConnection::Link);
    less_loaded(&fits, random).ok_or(Unplaced::NotNow)
}

fn meets(one: &Candidate<'_>, wants: &Wants<'_>) -> bool {
    (one.permits_unsandboxed || !wants.unsandboxed)
        && wants.base.is_none_or(|base| offers(one, base))
        && wants.labels.iter().all(|(key, value)| has(one, key, value))
}

fn offers(one: &Candidate<'_>, base: &str) -> bool {
    one.bases.iter().any(|own| own == base)
}

fn has(one: &Candidate<'_>, key: &str, value: &str) -> bool {
    one.labels.get(key).is_some_and(|own| own == value)
}

/// Returns the first requirement that no runner meets.
fn unmet(known: &[Candidate<'_>], wants: &Wants<'_>) -> Unmet {
    if let Some(base) = wants.base.filter(|base| !known.iter().any(|one| offers(one, base))) {
        return Unmet::Base(base.to_owned());
    }
    let mut labels = wants.labels.iter();
    if let Some((key, value)) = labels.find(|(key, value)| !known.iter().any(|one| has(one, key, value))) {
        return Unmet::Label(key.clone(), value.clone());
    }
    if wants.unsandboxed && !known.iter().any(|one| one.permits_unsandboxed) {
        return Unmet::Unsandboxed;
    }
    Unmet::Together
}

/// Keeps only the elements for which `holds` is true, if there are any.
fn prefer<T>(found: &mut Vec<&T>, holds: impl Fn(&T) -> bool) {
    if found.iter().any(|one| holds(one)) {
        found.retain(|one| holds(one));
    }
}

fn less_loaded<'c, 'a>(
    found: &[&'c Candidate<'a>],
    random: &mut impl FnMut(usize) -> usize,
) -> Option<&'c Candidate<'a>> {
    let one = random(found.len().max(1));
    let step = 1 + random(found.len().saturating_sub(1).max(1));
    let first = found.get(one)?;
    let other = found.get((one + step) % found.len().max(1)).unwrap_or(first);
    Some(if other.load < first.load { other } else { first })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The properties that the tests vary.
    struct Runner {
        id: RunnerId,
        labels: BTreeMap<String, String>,
        bases: Vec<String>,
        shells: BTreeMap<String, String>,
    }

    fn runner(name: &str, zone: &str, base: &str, shell: &str) -> Runner {
        Runner {
            id: name.parse().unwrap(),
            labels: label("zone", zone),
            bases: vec![base.to_owned()],
            shells: label(shell, "5"),
        }
    }

    fn label(key: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(key.to_owned(), value.to_owned())])
    }

    fn candidate(runner: &Runner, connection: RunnerConnection, load: u32) -> Candidate<'_> {
        let Runner { id, labels, bases, shells } = runner;
        Candidate {
            id,
            labels,
            bases,
            shells,
            permits_unsandboxed: false,
            holds_floor: true,
            connection,
            load,
        }
    }

    fn wants(labels: &BTreeMap<String, String>) -> Wants<'_> {
        Wants { labels, base: None, shell: Shell::Bash, unsandboxed: false }
    }

    fn picked(known: &[Candidate<'_>], wants: &Wants<'_>) -> Result<String, Unplaced> {
        choose(known, wants, &mut |_| 0).map(|one| one.id.to_string())
    }

    #[test]
    fn labels_and_base_are_had_by_the_runner_that_is_picked() {
        let (a, b) = (runner("a", "north", "x", "bash"), runner("b", "south", "y", "bash"));
        let known = [candidate(&a, RunnerConnection::Link, 900), candidate(&b, RunnerConnection::Link, 0)];
        for (zone, base, id) in [("north", None, "a"), ("south", None, "b"), ("north", Some("x"), "a")] {
            let labels = label("zone", zone);
            assert_eq!(picked(&known, &Wants { base, ..wants(&labels) }).as_deref(), Ok(id));
        }
    }

    #[test]
    fn what_nobody_could_ever_take_says_which_want_it_is() {
        let (a, b) = (runner("a", "north", "x", "bash"), runner("b", "south", "y", "bash"));
        let known = [candidate(&a, RunnerConnection::Link, 0), candidate(&b, RunnerConnection::NotNow, 0)];
        let (none, east, south) = (BTreeMap::new(), label("zone", "east"), label("zone", "south"));
        let never = |wants: &Wants<'_>| picked(&known, wants).unwrap_err();
        let by_base = Wants { base: Some("z"), ..wants(&none) };
        assert_eq!(never(&by_base), Unplaced::Never(Unmet::Base("z".to_owned())));
        assert_eq!(never(&wants(&east)), Unplaced::Never(Unmet::Label("zone".to_owned(), "east".to_owned())));
        let outside = Wants { unsandboxed: true, ..wants(&none) };
        assert_eq!(never(&outside), Unplaced::Never(Unmet::Unsandboxed));
        let both = Wants { base: Some("x"), ..wants(&south) };
        assert_eq!(never(&both), Unplaced::Never(Unmet::Together));
        assert_eq!(never(&wants(&south)), Unplaced::NotNow, "a draining runner may accept work again");
        assert_eq!(picked(&[], &wants(&east)), Err(Unplaced::NotNow), "no runner is known yet");
    }

    #[test]
    fn own_links_go_first_and_shell_and_floor_are_preferred() {
        let (a, b) = (runner("a", "north", "x", "zsh"), runner("b", "north", "x", "bash"));
        let none = BTreeMap::new();
        let ways =
            [candidate(&a, RunnerConnection::OtherServer, 0), candidate(&b, RunnerConnection::Link, 1000)];
        assert_eq!(picked(&ways, &Wants { shell: Shell::Zsh, ..wants(&none) }).as_deref(), Ok("a"));
        assert_eq!(picked(&ways, &wants(&none)).as_deref(), Ok("b"));
        let broken = Candidate { holds_floor: false, ..ways[1] };
        assert_eq!(picked(&[ways[0], broken], &wants(&none)).as_deref(), Ok("a"));
        assert_eq!(picked(&[broken], &wants(&none)).as_deref(), Ok("b"));
    }

    #[test]
    fn of_two_at_random_the_less_loaded_one_is_taken() {
        let runners: Vec<_> = (0..4).map(|n| runner(&format!("r{n}"), "z", "x", "bash")).collect();
        let known: Vec<_> = runners
            .iter()
            .zip([3, 2, 1, 0])
            .map(|(r, load)| candidate(r, RunnerConnection::Link, load))
            .collect();
        let none = BTreeMap::new();
        let with = |numbers: [usize; 2]| {
            let mut numbers = numbers.into_iter();
            choose(&known, &wants(&none), &mut |_| numbers.next().unwrap()).unwrap().id.to_string()
        };
        assert_eq!(with([0, 0]), "r1");
        assert_eq!(with([1, 1]), "r3");
        assert_eq!(with([3, 0]), "r3", "never the same runner twice, and from the start after the end");
    }
}
