//! The choice of a runner for a new session: collects the candidates for [`choose`].

use std::{collections::HashSet, sync::Arc, time::Duration};

use airlock_domain::RunnerId;
use airlock_store::record::RunnerRecord;

use super::{
    Runners,
    choose::{Candidate, RunnerConnection, Unmet, Unplaced, Wants, choose},
};
use crate::{
    api::ApiError,
    links::{FLOOR, Link, UNSANDBOXED, holds_floor, permits_unsandboxed},
};

impl Runners {
    /// Returns a runner for a new session. A runner without a link to this server is chosen only if no linked
    /// runner is suitable.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` if no known runner can ever host the session, and `Unavailable` if none
    /// accepts work.
    pub(crate) fn pick_runner(&self, wants: &Wants<'_>) -> Result<RunnerId, ApiError> {
        let picked = self.among_candidates(|known| {
            choose(known, wants, &mut random_below).map(|picked| picked.id.clone())
        });
        picked.map_err(|why| match why {
            Unplaced::Never(unmet) => {
                let reason = match unmet {
                    Unmet::Base(_) => "NO_SUCH_BASE",
                    Unmet::Label(..) | Unmet::Unsandboxed | Unmet::Together => "NO_SUCH_RUNNER",
                };
                ApiError::FailedPrecondition { reason, message: unmet.to_string() }
            }
            Unplaced::NotNow => ApiError::Unavailable {
                reason: "NO_RUNNER",
                message: "no connected runner accepts work; try again".to_owned(),
                retry_after: Duration::from_secs(1),
            },
        })
    }

    /// Returns a runner with a link to this server and a free slot.
    pub(crate) fn pick_free_runner(&self, wants: &Wants<'_>) -> Option<RunnerId> {
        self.among_candidates(|known| {
            let free = |one: &&Candidate<'_>| one.connection == RunnerConnection::Link && one.load < FULL;
            let free: Vec<_> = known.iter().filter(free).copied().collect();
            choose(&free, wants, &mut random_below).ok().map(|picked| picked.id.clone())
        })
    }

    /// Collects the candidates: all runners that are not lost.
    fn among_candidates<T>(&self, look: impl FnOnce(&[Candidate<'_>]) -> T) -> T {
        let mut links = self.links.all();
        links.retain(|link| !link.has_ended());
        let own: HashSet<&RunnerId> = links.iter().map(|link| &link.hello.runner_id).collect();
        let mut others = self.presence.all_known();
        others.retain(|runner| !own.contains(&runner.id) && !self.is_gone(runner));
        let linked = links.iter().map(|link| self.candidate(link));
        let known: Vec<_> = linked.chain(others.iter().map(|runner| self.far_candidate(runner))).collect();
        look(&known)
    }

    fn is_gone(&self, runner: &RunnerRecord) -> bool {
        self.presence.is_lost(&runner.id)
            || (!self.fleet.reaches(&runner.id)
                && self.clock.since(runner.last_seen) > self.limits.lost_after)
    }

    fn candidate<'a>(&self, link: &'a Arc<Link>) -> Candidate<'a> {
        let hello = &link.hello;
        let takes_work = link.is_reconciled() && !link.is_draining() && hello.slots > 0;
        Candidate {
            id: &hello.runner_id,
            labels: &hello.labels,
            bases: &hello.bases,
            shells: &hello.shells,
            permits_unsandboxed: permits_unsandboxed(&link.hello),
            holds_floor: holds_floor(&link.hello),
            connection: if takes_work { RunnerConnection::Link } else { RunnerConnection::NotNow },
            load: self.slots.taken(&hello.runner_id).saturating_mul(FULL) / hello.slots.max(1),
        }
    }

    fn far_candidate<'a>(&self, runner: &'a RunnerRecord) -> Candidate<'a> {
        let takes_work = !runner.draining && runner.slots > 0 && self.fleet.reaches(&runner.id);
        Candidate {
            id: &runner.id,
            labels: &runner.labels,
            bases: &runner.bases,
            shells: &runner.shells,
            permits_unsandboxed: has(runner, UNSANDBOXED),
            holds_floor: !runner.capabilities.iter().any(|found| found.name == FLOOR && !found.enforced),
            connection: if takes_work { RunnerConnection::OtherServer } else { RunnerConnection::NotNow },
            load: self.slots.taken(&runner.id).saturating_mul(FULL) / runner.slots.max(1),
        }
    }

    /// Reports whether the runner's floor permits commands outside the sandbox, as far as is known.
    pub(crate) fn runner_permits_unsandboxed(&self, runner: &RunnerId) -> bool {
        match self.links.get(runner) {
            Some(link) => permits_unsandboxed(&link.hello),
            None => self.presence.known(runner).is_some_and(|runner| has(&runner, UNSANDBOXED)),
        }
    }

    /// Reports whether any runner's floor does.
    pub(crate) fn some_runner_permits_unsandboxed(&self) -> bool {
        self.among_candidates(|known| {
            known.iter().any(|one| one.permits_unsandboxed && one.connection != RunnerConnection::NotNow)
        }) || self.links.all().iter().any(|link| permits_unsandboxed(&link.hello))
    }

    /// Reports whether a runner accepts no new work, as far as is known.
    pub(crate) fn is_draining(&self, runner: &RunnerId) -> bool {
        match self.links.get(runner) {
            Some(link) => link.is_draining(),
            None => self.presence.known(runner).is_some_and(|runner| runner.draining),
        }
    }
}

/// The load of a runner without free slots.
const FULL: u32 = 1000;

fn has(runner: &RunnerRecord, capability: &str) -> bool {
    runner.capabilities.iter().any(|found| found.name == capability && found.enforced)
}

/// Returns a random number below `bound`. If no randomness is available, it is always 0, which only makes the
/// placement uneven.
fn random_below(bound: usize) -> usize {
    let random = getrandom::u64().unwrap_or(0);
    usize::try_from(random % (bound.max(1) as u64)).unwrap_or(0)
}
