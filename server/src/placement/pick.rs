//! Which runner gets a new session: the less loaded of two at random.

use std::{sync::Arc, time::Duration};

use airlock_proto::domain::{RunnerId, Shell};

use crate::{api::ApiError, engine::Core, links::Link};

impl Core {
    /// A runner for a new session, one that lets commands run outside the sandbox where that is decided, and
    /// that has the session's shell, if any has.
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
        let mut links = self.parts.links.all();
        links.retain(|link| !link.has_ended() && !link.is_draining() && link.hello.slots > 0);
        links.retain(|link| !unsandboxed || link.permits_unsandboxed());
        let known = !links.is_empty();
        let offers = |link: &Link| base.is_none_or(|base| link.hello.bases.iter().any(|own| own == base));
        links.retain(|link| offers(link));
        if known && links.is_empty() {
            return Err(ApiError::FailedPrecondition {
                reason: "NO_SUCH_BASE",
                message: format!("no runner offers the base `{}`", base.unwrap_or_default()),
            });
        }
        // Where none holds its floor, one of them says what is missing.
        if links.iter().any(|link| link.holds_floor()) {
            links.retain(|link| link.holds_floor());
        }
        if links.iter().any(|link| !link.lacks(shell)) {
            links.retain(|link| !link.lacks(shell));
        }
        // One that has not told everything yet takes work in a moment.
        let ready: Vec<_> = links.iter().filter(|link| link.is_reconciled()).collect();
        let picked = self.less_loaded(&ready).ok_or_else(|| ApiError::Unavailable {
            reason: "NO_RUNNER",
            message: "no runner is connected that takes work".to_owned(),
            retry_after: Duration::from_secs(1),
        })?;
        Ok(picked.hello.runner_id.clone())
    }

    fn less_loaded<'a>(&self, links: &[&'a Arc<Link>]) -> Option<&'a Arc<Link>> {
        let first = random_below(links.len());
        let other = (first + 1 + random_below(links.len().saturating_sub(1))) % links.len().max(1);
        let (first, other) = (links.get(first)?, links.get(other)?);
        Some(if self.load(other) < self.load(first) { other } else { first })
    }

    /// Thousandths of its slots.
    fn load(&self, link: &Link) -> u32 {
        let taken = self.seats.taken(&link.hello.runner_id);
        taken.saturating_mul(1000) / link.hello.slots.max(1)
    }
}

/// A number below `bound`, or 0. Without randomness it is always 0, which only places unevenly.
fn random_below(bound: usize) -> usize {
    let random = getrandom::u64().unwrap_or(0);
    usize::try_from(random % (bound.max(1) as u64)).unwrap_or(0)
}
