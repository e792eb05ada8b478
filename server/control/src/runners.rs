//! The runners: their description for callers, and the choice of a runner for new work.

pub mod choose;
mod pick;

use std::{sync::Arc, time::Duration};

use airlock_domain::{Epoch, RunnerHello, RunnerId, SessionId, ToRunner};
use airlock_store::{
    Page, PageQuery, Store, StoreError,
    record::{CapabilityRecord, Micros, RunnerRecord, ServerRecord},
};

use crate::{
    api::ApiError,
    fleet::Fleet,
    limits::ServiceLimits,
    links::{Link, Links},
    shared::{Clock, Lifecycle, Presence, RunnerSlots, micros, runner_unreachable},
};

/// The interval of checks for a confirmation that the runner sent to another server.
const LOOK: Duration = Duration::from_millis(200);

/// The state of a runner in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunnerState {
    /// A server has a link to it.
    Connected,
    /// No server has a link to it now.
    Unreachable,
    /// It accepts no new work.
    Draining,
    /// It was unreachable for too long.
    Lost,
}

/// A runner in the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerView {
    /// The record from its last hello.
    pub record: RunnerRecord,
    /// The state of the runner.
    pub state: RunnerState,
    /// The number of its executions that have not finished, as known to this server.
    pub running: u32,
}

/// The runners of the store and their links.
pub struct Runners {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) slots: Arc<RunnerSlots>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) limits: ServiceLimits,
    /// The name of this server.
    pub(crate) server_id: String,
    /// The address of this server for other servers, or `None` if they cannot reach it.
    pub(crate) advertise: Option<String>,
}

impl Runners {
    /// Lists runners in these states by ID. Empty `states` selects all except `Lost`. A page may hold fewer items than
    /// requested.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, states: &[RunnerState], page: &PageQuery) -> Result<Page<RunnerView>, ApiError> {
        let found = self.store.runners(page).await?;
        let wanted = |state: RunnerState| {
            if states.is_empty() { state != RunnerState::Lost } else { states.contains(&state) }
        };
        let items = found
            .items
            .into_iter()
            .map(|record| self.view(record))
            .filter(|view| wanted(view.state))
            .collect();
        Ok(Page { items, next: found.next })
    }

    /// Returns a runner in any state.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn get(&self, id: &RunnerId) -> Result<RunnerView, ApiError> {
        let missing = || ApiError::NotFound { what: "runner", id: id.to_string() };
        Ok(self.view(self.store.runner(id).await?.ok_or_else(missing)?))
    }

    /// Tells a runner to drain or to resume, and waits for its confirmation.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable` (`RUNNER_UNREACHABLE`) if it has no link or does not answer.
    pub async fn drain(&self, id: &RunnerId, undo: bool) -> Result<RunnerView, ApiError> {
        self.get(id).await?;
        let Some(link) = self.links.get(id) else { return self.drain_through_peer(id, undo).await };
        let mut words = link.drain_words();
        let limits = &self.limits;
        link.send(ToRunner::Drain { undo }, limits.send_wait).await.map_err(|_| runner_unreachable(id))?;
        tokio::select! {
            // The link holds the sender, so this cannot fail.
            _ = words.changed() => {}
            _ = link.ended() => return Err(runner_unreachable(id)),
            () = tokio::time::sleep(limits.drain_wait) => return Err(runner_unreachable(id)),
            () = self.lifecycle.stopped() => return Err(ApiError::shutting_down()),
        }
        self.get(id).await
    }

    /// Does the same through another server. The confirmation is then read from the store.
    async fn drain_through_peer(&self, id: &RunnerId, undo: bool) -> Result<RunnerView, ApiError> {
        let told = self.fleet.tell(id, ToRunner::Drain { undo }).await;
        told.map_err(|_| runner_unreachable(id))?;
        let deadline = tokio::time::Instant::now() + self.limits.drain_wait;
        loop {
            let view = self.get(id).await?;
            if view.record.draining != undo {
                self.presence.learn(view.record.clone());
                return Ok(view);
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(runner_unreachable(id));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.lifecycle.stopped() => return Err(ApiError::shutting_down()),
            }
        }
    }

    fn view(&self, record: RunnerRecord) -> RunnerView {
        let (state, running) = (self.state_of(&record), self.slots.taken(&record.id));
        RunnerView { record, state, running }
    }

    fn state_of(&self, record: &RunnerRecord) -> RunnerState {
        match self.links.get(&record.id) {
            Some(link) if link.is_draining() => RunnerState::Draining,
            Some(link) if link.is_reconciled() => RunnerState::Connected,
            // The runner still reports its executions, and gets no work until it has.
            Some(_) => RunnerState::Unreachable,
            None if !self.fleet.linked(&record.id).is_empty() => match record.draining {
                true => RunnerState::Draining,
                false => RunnerState::Connected,
            },
            None if self.presence.is_lost(&record.id)
                || self.clock.since(record.last_seen) > self.limits.lost_after =>
            {
                RunnerState::Lost
            }
            None => RunnerState::Unreachable,
        }
    }

    /// Returns whether the link belongs to the runner's latest epoch.
    pub(crate) async fn is_current(&self, link: &Link) -> Result<bool, StoreError> {
        let runner = self.store.runner(&link.hello.runner_id).await?;
        Ok(runner.is_some_and(|runner| runner.epoch == link.hello.epoch))
    }

    /// Ends the link of an epoch that was replaced by a later one, which connected to another server.
    pub(crate) async fn end_fenced(&self, runner: &RunnerRecord) -> Result<(), StoreError> {
        let Some(link) = self.links.get(&runner.id) else { return Ok(()) };
        // A link is added only after its epoch is written, so the store cannot contain an older one.
        if link.hello.epoch != runner.epoch && !self.is_current(&link).await? {
            link.end("the runner was restarted");
        }
        Ok(())
    }

    /// Sends a hint to a server with a link to the runner that a session has work.
    pub(crate) async fn hint_session(&self, runner: &RunnerId, session: SessionId) {
        let wait = self.limits.send_wait;
        // A late hint does no harm: the next reconciliation repeats it.
        let _ = tokio::time::timeout(wait, self.fleet.hint_session(runner, session)).await;
    }

    /// Asks a runner to confirm that it has reported everything, if a session or execution depends on it.
    pub(crate) async fn send_probe(&self, link: &Link) {
        if let Some(number) = link.next_probe() {
            // A failure means that the link has ended. The next link starts again.
            let _ = link.send(ToRunner::Probe { number }, self.limits.send_wait).await;
        }
    }

    /// Returns the record of a runner from its hello.
    pub(crate) fn record_of(hello: &RunnerHello, draining: bool) -> RunnerRecord {
        let capabilities = hello.capabilities.iter().map(|found| CapabilityRecord {
            name: found.name.clone(),
            enforced: found.enforced,
            detail: found.detail.clone(),
        });
        RunnerRecord {
            id: hello.runner_id.clone(),
            epoch: hello.epoch,
            draining,
            version: hello.version.clone(),
            labels: hello.labels.clone(),
            slots: hello.slots,
            bases: hello.bases.clone(),
            capabilities: capabilities.collect(),
            shells: hello.shells.clone(),
            last_seen: Micros(0),
        }
    }
}

/// The links that this server announced last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced(Option<Vec<(RunnerId, Epoch)>>);

impl Runners {
    /// Announces this server and its links, if they have changed or `due` is set.
    pub(crate) async fn announce(&self, last: &mut Announced, due: bool) -> Result<(), StoreError> {
        let mut links: Vec<(RunnerId, Epoch)> = self
            .links
            .all()
            .iter()
            .filter(|link| link.is_reconciled() && !link.has_ended())
            .map(|link| (link.hello.runner_id.clone(), link.hello.epoch))
            .collect();
        links.sort_by(|one, other| one.0.cmp(&other.0));
        if due || last.0.as_ref() != Some(&links) {
            let record = ServerRecord { links: links.clone(), ..self.server_record() };
            self.store.announce(&record, micros(self.limits.lease)).await?;
            last.0 = Some(links);
        }
        Ok(())
    }

    /// Announces that this server is stopping.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        self.store.announce(&self.server_record(), 0).await
    }

    fn server_record(&self) -> ServerRecord {
        let (id, address) = (self.server_id.clone(), self.advertise.clone());
        ServerRecord { id, address, links: Vec::new() }
    }

    /// Returns how many of the runners with a link to any other server have a link to this one, and their total
    /// number.
    #[must_use]
    pub fn coverage(&self) -> (usize, usize) {
        let live = self.fleet.runners();
        let is_linked = |runner: &&RunnerId| self.links.get(runner).is_some_and(|link| link.is_reconciled());
        (live.iter().filter(is_linked).count(), live.len())
    }
}
