//! Which runner gets a new session: the less loaded of two at random.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use airlock_proto::domain::{RunnerId, Shell};

use crate::{
    api::ApiError,
    engine::Core,
    links::{FLOOR, Link, UNSANDBOXED, lacks},
    model::RunnerRecord,
};

/// A runner that a session could be made on.
struct Candidate {
    id: RunnerId,
    bases: Vec<String>,
    shells: BTreeMap<String, String>,
    permits_unsandboxed: bool,
    holds_floor: bool,
    /// It is on a link of this server's own, or could be reached through another.
    way: Way,
    /// Thousandths of its slots.
    load: u32,
}

#[derive(PartialEq, Eq)]
enum Way {
    Link,
    /// A link whose runner has not told everything yet; it takes work in a moment.
    NewLink,
    OtherServer,
}

impl Core {
    /// A runner for a new session, one that lets commands run outside the sandbox where that is decided, and that has
    /// the session's shell, if any has. One that only other servers have a link to, where this one has none that would
    /// do.
    ///
    /// # Errors
    /// `Unavailable` while no runner takes work, `FailedPrecondition` if none of those that are
    /// connected offers the base.
    pub(crate) fn pick_runner(
        &self,
        base: Option<&str>,
        shell: Shell,
        unsandboxed: bool,
    ) -> Result<RunnerId, ApiError> {
        let mut found = self.candidates();
        found.retain(|one| !unsandboxed || one.permits_unsandboxed);
        let known = !found.is_empty();
        found.retain(|one| base.is_none_or(|base| one.bases.iter().any(|own| own == base)));
        if known && found.is_empty() {
            return Err(ApiError::FailedPrecondition {
                reason: "NO_SUCH_BASE",
                message: format!("no runner offers the base `{}`", base.unwrap_or_default()),
            });
        }
        // Where none holds its floor, one of them says what is missing.
        if found.iter().any(|one| one.holds_floor) {
            found.retain(|one| one.holds_floor);
        }
        if found.iter().any(|one| !lacks(&one.shells, shell)) {
            found.retain(|one| !lacks(&one.shells, shell));
        }
        let on = |way: Way| found.iter().filter(|one| one.way == way).collect::<Vec<_>>();
        let picked = less_loaded(&on(Way::Link)).or_else(|| less_loaded(&on(Way::OtherServer)));
        picked.map(|picked| picked.id.clone()).ok_or_else(|| ApiError::Unavailable {
            reason: "NO_RUNNER",
            message: "no runner is connected that takes work".to_owned(),
            retry_after: Duration::from_secs(1),
        })
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut links = self.parts.links.all();
        links.retain(|link| !link.has_ended());
        let own: HashSet<RunnerId> = links.iter().map(|link| link.hello.runner_id.clone()).collect();
        links.retain(|link| !link.is_draining() && link.hello.slots > 0);
        let linked = links.iter().map(|link| self.candidate(link));
        let others = self.known_runners().into_iter().filter(|runner| {
            !own.contains(&runner.id)
                && !runner.draining
                && runner.slots > 0
                && self.parts.fleet.reaches(&runner.id)
        });
        linked.chain(others.map(|runner| far_candidate(&runner))).collect()
    }

    fn candidate(&self, link: &Link) -> Candidate {
        let hello = &link.hello;
        Candidate {
            id: hello.runner_id.clone(),
            bases: hello.bases.clone(),
            shells: hello.shells.clone(),
            permits_unsandboxed: link.permits_unsandboxed(),
            holds_floor: link.holds_floor(),
            way: if link.is_reconciled() { Way::Link } else { Way::NewLink },
            load: self.seats.taken(&hello.runner_id).saturating_mul(1000) / hello.slots.max(1),
        }
    }

    /// Whether the runner's own floor lets commands run outside the sandbox, as far as it is known now.
    pub(crate) fn runner_permits_unsandboxed(&self, runner: &RunnerId) -> bool {
        match self.parts.links.get(runner) {
            Some(link) => link.permits_unsandboxed(),
            None => self.known_runner(runner).is_some_and(|runner| has(&runner, UNSANDBOXED)),
        }
    }

    /// Whether that of any runner does.
    pub(crate) fn some_runner_permits_unsandboxed(&self) -> bool {
        self.candidates().iter().any(|one| one.permits_unsandboxed)
            || self.parts.links.all().iter().any(|link| link.permits_unsandboxed())
    }

    /// Whether a runner takes no new work, as far as it is known now.
    pub(crate) fn is_draining(&self, runner: &RunnerId) -> bool {
        match self.parts.links.get(runner) {
            Some(link) => link.is_draining(),
            None => self.known_runner(runner).is_some_and(|runner| runner.draining),
        }
    }
}

fn far_candidate(runner: &RunnerRecord) -> Candidate {
    Candidate {
        id: runner.id.clone(),
        bases: runner.bases.clone(),
        shells: runner.shells.clone(),
        permits_unsandboxed: has(runner, UNSANDBOXED),
        holds_floor: !runner.capabilities.iter().any(|found| found.name == FLOOR && !found.enforced),
        way: Way::OtherServer,
        load: 0,
    }
}

fn has(runner: &RunnerRecord, capability: &str) -> bool {
    runner.capabilities.iter().any(|found| found.name == capability && found.enforced)
}

fn less_loaded<'a>(found: &[&'a Candidate]) -> Option<&'a Candidate> {
    let first = random_below(found.len());
    let other = (first + 1 + random_below(found.len().saturating_sub(1))) % found.len().max(1);
    let (first, other) = (found.get(first)?, found.get(other)?);
    Some(if other.load < first.load { other } else { first })
}

/// A number below `bound`, or 0. Without randomness it is always 0, which only places unevenly.
fn random_below(bound: usize) -> usize {
    let random = getrandom::u64().unwrap_or(0);
    usize::try_from(random % (bound.max(1) as u64)).unwrap_or(0)
}
