//! The assignment of free slots on contended runners. The store determines the next execution.

use std::{collections::HashSet, sync::Arc, time::Duration};

use airlock_domain::ExecutionId;
use airlock_store::{
    SessionChange, StoreError, TakeQueued,
    record::{SessionRecord, SessionState},
};

use super::Placement;
use crate::{control::micros, links::Link, runners::choose::Wants};

/// How long an execution that a server took from the queue is reserved for this server. After it, any server
/// can take it.
const HOLD: Duration = Duration::from_secs(5);

/// Assigns slots until the task is dropped.
pub(crate) async fn fill_vacancies(placement: Arc<Placement>) {
    loop {
        for runner in placement.hints.runners.take(usize::MAX, &HashSet::new()) {
            let link = placement.links.get(&runner);
            if let Some(link) = link.filter(|link| link.is_reconciled() && !link.is_draining())
                && let Err(error) = placement.fill(&link).await
            {
                // The reconcile loop schedules every session with a queue again.
                tracing::warn!(%runner, %error, "cannot fill the free slots of a runner; retrying");
            }
        }
        placement.hints.runners.notified().await;
    }
}

impl Placement {
    /// Takes as many executions from the queue as the runner has free slots, and schedules their sessions.
    async fn fill(&self, link: &Link) -> Result<(), StoreError> {
        let (runner, slots) = (&link.hello.runner_id, link.hello.slots);
        let Some(vacancy) = self.slots.vacancy(runner, slots) else { return Ok(()) };
        let take = TakeQueued {
            server_id: self.server_id.clone(),
            runner: runner.clone(),
            at_most: vacancy.free,
            lease_micros: micros(self.limits.lease),
            hold_micros: micros(HOLD),
        };
        let taken = self.store.take_queued(&take).await?;
        if taken.len() < vacancy.free as usize {
            self.slots.none_waits(runner, vacancy);
        }
        for (id, session) in taken {
            if self.slots.hold(runner, slots, id) {
                self.hints.sessions.insert(session);
            }
        }
        Ok(())
    }

    /// Moves a temporary session to a runner with a free slot, if there is one. Applies only if its runner
    /// was not asked for it yet and cannot create it at present.
    pub(super) async fn move_on(&self, session: &SessionRecord, id: ExecutionId) -> Result<(), StoreError> {
        let asked = self.links.get(&session.runner_id).is_some_and(|link| link.is_opening(session.id));
        if !session.throwaway || session.state != SessionState::Opening || asked {
            return Ok(());
        }
        let wants = |unsandboxed| Wants {
            labels: &session.runner_labels,
            base: Some(session.base.as_str()).filter(|base| !base.is_empty()),
            shell: session.shell,
            unsandboxed,
        };
        if self.runners.pick_free_runner(&wants(false)).is_none() {
            return Ok(());
        }
        let Some(record) = self.store.execution(id).await? else { return Ok(()) };
        let wants =
            Wants { shell: record.spec.command.shell, ..wants(record.spec.dangerously_disable_sandbox) };
        let Some(runner) = self.runners.pick_free_runner(&wants) else { return Ok(()) };
        self.sessions
            .change(session.id, |now| {
                let is_same = now.state == SessionState::Opening && now.version == session.version;
                is_same.then(|| SessionChange { runner_id: Some(runner.clone()), ..SessionChange::default() })
            })
            .await
            .map(drop)
    }
}
