//! The tasks that process the queues of sessions, and that assign the free slots of contended runners. The store
//! determines the next execution of a contended runner.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use airlock_domain::ExecutionId;
use airlock_store::{
    SessionChange, StoreError, TakeQueued,
    record::{SessionRecord, SessionState},
};
use tokio::task::JoinSet;

use super::Placement;
use crate::{links::Link, runners::choose::Wants, shared::micros};

/// The time for which an execution that a server took from the queue is reserved for this server. After this time, any
/// server can take it.
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

/// Processes queues until the task is dropped.
pub(crate) async fn drive_sessions(placement: Arc<Placement>) {
    let mut workers = JoinSet::new();
    let mut busy = HashSet::new();
    let mut by_task = HashMap::new();
    loop {
        let room = placement.limits.drives_at_once.saturating_sub(busy.len());
        for id in placement.hints.sessions.take(room, &busy) {
            let worker = placement.clone();
            let task = workers.spawn(async move {
                if let Err(error) = worker.drive(id).await {
                    // The reconcile loop schedules every session with a queue again.
                    tracing::warn!(session_id = %id, %error, "cannot process the queue of a session; retrying");
                }
            });
            busy.insert(id);
            by_task.insert(task.id(), id);
        }
        tokio::select! {
            Some(done) = workers.join_next_with_id() => {
                let task = match done {
                    Ok((task, ())) => task,
                    Err(error) => {
                        tracing::error!(%error, "a queue worker failed");
                        error.id()
                    }
                };
                if let Some(id) = by_task.remove(&task) {
                    busy.remove(&id);
                }
            }
            () = placement.hints.sessions.notified() => {}
        }
    }
}
