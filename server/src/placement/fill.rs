//! Filling the free slots of runners that more wait for than there are: who is next, the store says.

use std::{
    collections::HashSet,
    sync::Arc,
    time::Duration,
};

use crate::{
    engine::{Core, micros},
    links::Link,
    store::{StoreError, TakeQueued},
};

/// For how long what a server took from the queue is left to it. If it is not on a runner by then, any server has it.
const HOLD: Duration = Duration::from_secs(5);

/// Works until the engine stops.
pub(crate) async fn fill_vacancies(core: Arc<Core>) {
    loop {
        for runner in core.vacant.take(usize::MAX, &HashSet::new()) {
            let link = core.parts.links.get(&runner);
            if let Some(link) = link.filter(|link| link.is_reconciled() && !link.is_draining())
                && let Err(error) = core.fill(&link).await
            {
                // The poll wakes every session with a queue again.
                tracing::warn!(%runner, %error, "free slots could not be given away");
            }
        }
        core.vacant.notified().await;
    }
}

impl Core {
    /// Wants the free slots of a runner to be given to those who wait, if there are such.
    pub(crate) fn wake_waiting(&self, link: &Link) {
        if self.seats.vacancy(&link.hello.runner_id, link.hello.slots).is_some() {
            self.vacant.wake(link.hello.runner_id.clone());
        }
    }

    /// Takes as many from the queue as a runner has free slots, and wakes their sessions.
    async fn fill(&self, link: &Link) -> Result<(), StoreError> {
        let (runner, slots) = (&link.hello.runner_id, link.hello.slots);
        let Some(vacancy) = self.seats.vacancy(runner, slots) else { return Ok(()) };
        let take = TakeQueued {
            server_id: self.parts.server_id.clone(),
            runner: runner.clone(),
            at_most: vacancy.free,
            lease_micros: micros(self.parts.limits.lease),
            hold_micros: micros(HOLD),
        };
        let taken = self.store().take_queued(&take).await?;
        if taken.len() < vacancy.free as usize {
            self.seats.none_waits(runner, vacancy);
        }
        for (id, session) in taken {
            if self.seats.hold(runner, slots, id) {
                self.wake.wake(session);
            }
        }
        Ok(())
    }
}
