//! This server among the other servers of the store: what it announces, what it reads about them, and how it
//! delegates work that needs a link it does not have.

use std::{collections::HashMap, sync::Arc};

use airlock_domain::{Epoch, RunnerId, SessionId};

use super::{Core, core::micros};
use crate::{
    links::Link,
    model::{LiveExecution, RunnerRecord, ServerRecord, SessionState},
    store::{StoreError, Transition},
};

/// The links that this server announced last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said(Option<Vec<(RunnerId, Epoch)>>);

/// The runners of the store, as of the last read.
#[derive(Debug, Default)]
pub(super) struct KnownRunners(HashMap<RunnerId, Arc<RunnerRecord>>);

impl KnownRunners {
    pub(super) fn get(&self, id: &RunnerId) -> Option<Arc<RunnerRecord>> {
        self.0.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<RunnerRecord>> {
        self.0.values().cloned().collect()
    }

    pub(super) fn put(&mut self, runner: RunnerRecord) {
        self.0.insert(runner.id.clone(), Arc::new(runner));
    }

    pub(super) fn replace(&mut self, runners: HashMap<RunnerId, Arc<RunnerRecord>>) {
        self.0 = runners;
    }
}

impl Core {
    /// Announces this server and its links, if they have changed or `due` is set.
    pub(super) async fn announce(&self, said: &mut Said, due: bool) -> Result<(), StoreError> {
        let mut links: Vec<(RunnerId, Epoch)> = self
            .parts
            .links
            .all()
            .iter()
            .filter(|link| link.is_reconciled() && !link.has_ended())
            .map(|link| (link.hello.runner_id.clone(), link.hello.epoch))
            .collect();
        links.sort_by(|one, other| one.0.cmp(&other.0));
        if due || said.0.as_ref() != Some(&links) {
            let record = ServerRecord { links: links.clone(), ..self.server_record() };
            self.store().announce(&record, micros(self.parts.limits.lease)).await?;
            said.0 = Some(links);
        }
        Ok(())
    }

    /// Announces that this server leaves.
    pub(super) async fn leave(&self) -> Result<(), StoreError> {
        self.store().announce(&self.server_record(), 0).await
    }

    fn server_record(&self) -> ServerRecord {
        let (id, address) = (self.parts.server_id.clone(), self.parts.advertise.clone());
        ServerRecord { id, address, links: Vec::new() }
    }

    pub(super) fn coverage(&self) -> (usize, usize) {
        let live = self.parts.fleet.runners();
        let is_linked =
            |runner: &&RunnerId| self.parts.links.get(runner).is_some_and(|link| link.is_reconciled());
        (live.iter().filter(is_linked).count(), live.len())
    }

    /// Returns whether this server may settle an execution that its runner did not report: it owns the execution, or
    /// the lease has expired.
    pub(super) fn may_settle(&self, record: &LiveExecution) -> bool {
        match record.owner_server.as_deref() {
            Some(owner) if owner == self.parts.server_id => true,
            Some(_) => record.lease_until <= self.now(),
            None => true,
        }
    }

    /// Hands the ownership of an execution to a server with a link to its runner. Returns whether there is one.
    pub(super) async fn hand_over(&self, record: &LiveExecution, to: &RunnerId) -> Result<bool, StoreError> {
        let Some(other) = self.parts.fleet.linked(to).into_iter().next() else { return Ok(false) };
        let lease = Some((other, micros(self.parts.limits.lease)));
        let step = Transition { lease, ..Transition::default() };
        // A single attempt by version. If another step came first, the next reconciliation tries again.
        self.store().transition(record.id, record.version, &step).await?;
        Ok(true)
    }

    /// Sends a hint to a server with a link to the runner that a session has work.
    pub(crate) async fn nudge(&self, runner: &RunnerId, session: SessionId) {
        let wait = self.parts.limits.send_wait;
        // A late hint does no harm: the next reconciliation repeats it.
        let _ = tokio::time::timeout(wait, self.parts.fleet.nudge(runner, session)).await;
    }

    /// Handles the hint of another server that a session has work here.
    pub(super) async fn nudged(&self, id: SessionId) -> Result<(), StoreError> {
        let Some(session) = self.store().session(id).await? else { return Ok(()) };
        if matches!(session.state, SessionState::Opening | SessionState::Closing) {
            self.tend_session(&session).await?;
        }
        self.wake.wake(id);
        Ok(())
    }

    /// Returns whether the link belongs to the runner's latest epoch.
    pub(crate) async fn is_current(&self, link: &Link) -> Result<bool, StoreError> {
        let runner = self.store().runner(&link.hello.runner_id).await?;
        Ok(runner.is_some_and(|runner| runner.epoch == link.hello.epoch))
    }

    /// Ends the link of an epoch that was replaced by a later one, which connected to another server.
    pub(super) async fn end_fenced(&self, runner: &RunnerRecord) -> Result<(), StoreError> {
        let Some(link) = self.parts.links.get(&runner.id) else { return Ok(()) };
        // A link is added only after its epoch is written, so the store cannot contain an older one.
        if link.hello.epoch != runner.epoch && !self.is_current(&link).await? {
            link.end("the runner was restarted");
        }
        Ok(())
    }
}
