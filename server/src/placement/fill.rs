//! The assignment of free slots on contended runners. The store determines who is next.

use std::{collections::HashSet, sync::Arc, time::Duration};

use airlock_domain::ExecutionId;

use super::choose::Wants;
use crate::{
    engine::{Core, micros},
    links::Link,
    model::{SessionRecord, SessionState},
    store::{SessionChange, StoreError, TakeQueued},
};

/// How long an execution that a server took from the queue is reserved for this server. After it, any server
/// can take it.
const HOLD: Duration = Duration::from_secs(5);

/// Assigns slots until the engine stops.
pub(crate) async fn fill_vacancies(core: Arc<Core>) {
    loop {
        for runner in core.vacant.take(usize::MAX, &HashSet::new()) {
            let link = core.parts.links.get(&runner);
            if let Some(link) = link.filter(|link| link.is_reconciled() && !link.is_draining())
                && let Err(error) = core.fill(&link).await
            {
                // The reconcile loop schedules every session with a queue again.
                tracing::warn!(%runner, %error, "cannot fill the free slots of a runner; retrying");
            }
        }
        core.vacant.notified().await;
    }
}

impl Core {
    /// Schedules the assignment of a runner's free slots if executions wait for them.
    pub(crate) fn wake_waiting(&self, link: &Link) {
        if self.seats.vacancy(&link.hello.runner_id, link.hello.slots).is_some() {
            self.vacant.wake(link.hello.runner_id.clone());
        }
    }

    /// Takes as many executions from the queue as the runner has free slots, and schedules their sessions.
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

    /// Moves a throw-away session to a runner with a free slot, if there is one. Applies only if its runner
    /// was not asked for it yet and cannot create it at present.
    pub(super) async fn move_on(&self, session: &SessionRecord, id: ExecutionId) -> Result<(), StoreError> {
        let asked = self.parts.links.get(&session.runner_id).is_some_and(|link| link.is_opening(session.id));
        if !session.throwaway || session.state != SessionState::Opening || asked {
            return Ok(());
        }
        let wants = |unsandboxed| Wants {
            labels: &session.runner_labels,
            base: Some(session.base.as_str()).filter(|base| !base.is_empty()),
            shell: session.shell,
            unsandboxed,
        };
        if self.pick_free_runner(&wants(false)).is_none() {
            return Ok(());
        }
        let Some(record) = self.store().execution(id).await? else { return Ok(()) };
        let wants = Wants { shell: record.spec.shell, ..wants(record.spec.dangerously_disable_sandbox) };
        let Some(runner) = self.pick_free_runner(&wants) else { return Ok(()) };
        self.change_session(session.id, |now| {
            let is_same = now.state == SessionState::Opening && now.version == session.version;
            is_same.then(|| SessionChange { runner_id: Some(runner.clone()), ..SessionChange::default() })
        })
        .await
        .map(drop)
    }
}
