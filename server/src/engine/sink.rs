//! What runners say, taken in for the links.

use std::{sync::Arc, time::Duration};

use airlock_proto::domain::{Epoch, ExecutionId, FromRunner, RunnerHello, ToRunner};

use super::{Core, tend::TEND_PAGE};
use crate::{
    execution::PLACED,
    links::{Link, LinkError, LinkRefusal, LinkSink},
    model::{CapabilityRecord, LiveExecution, Micros, RunnerRecord, SessionState},
    store::{ExecutionQuery, PageQuery, RunnerPut, SessionQuery, StoreError},
};

/// Between tries of a report that the store did not take.
const RETRY: Duration = Duration::from_millis(250);

#[async_trait::async_trait]
impl LinkSink for Core {
    async fn arrived(&self, hello: &RunnerHello) -> Result<Option<Epoch>, LinkRefusal> {
        let unavailable = |error: StoreError| LinkRefusal::Unavailable { reason: error.to_string() };
        if self.stop.is_cancelled() {
            return Err(LinkRefusal::Unavailable { reason: "the server stops".to_owned() });
        }
        // Whether it drains it says after its first words; until then another server may know.
        let known = self.store().runner(&hello.runner_id).await.map_err(unavailable)?;
        let drains = known.is_some_and(|known| known.epoch == hello.epoch && known.draining);
        match self.store().put_runner(&self.runner_record(hello, drains)).await.map_err(unavailable)? {
            RunnerPut::Taken { before } => Ok(before),
            RunnerPut::Fenced => Err(LinkRefusal::Fenced),
        }
    }

    async fn heard(&self, link: &Arc<Link>, message: FromRunner) -> Result<(), LinkError> {
        loop {
            match self.take_in(link, message.clone()).await {
                Err(TakeIn::Protocol(what)) => return Err(LinkError::Protocol(what)),
                Ok(()) => return Ok(()),
                // The link reads nothing more until this is kept; if that takes too long it is ended for
                // its silence, and the runner says everything again on the next one.
                Err(TakeIn::Store(StoreError::Unavailable(_))) => tokio::time::sleep(RETRY).await,
                Err(TakeIn::Store(error)) => {
                    tracing::error!(runner = %link.hello.runner_id, %error, "a report cannot be kept");
                    return Ok(());
                }
            }
        }
    }

    fn gone(&self, link: &Arc<Link>) {
        tracing::info!(runner = %link.hello.runner_id, "the link is lost");
        // The poll finds what has no link any more.
        self.poll_now.notify_one();
    }
}

enum TakeIn {
    Protocol(&'static str),
    Store(StoreError),
}

impl From<StoreError> for TakeIn {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Core {
    async fn take_in(&self, link: &Arc<Link>, message: FromRunner) -> Result<(), TakeIn> {
        match message {
            FromRunner::Hello(_) => return Err(TakeIn::Protocol("a second hello")),
            FromRunner::Heartbeat { clock_ms, .. } => {
                link.set_clock(clock_ms);
                self.store().touch_runner(&link.hello.runner_id, link.hello.epoch).await?;
            }
            FromRunner::Job(report) => self.job_reported(link, report).await?,
            FromRunner::Session(report) => self.session_reported(link, report).await?,
            FromRunner::Draining { over } => {
                link.set_draining(!over);
                self.store().put_runner(&self.runner_record(&link.hello, !over)).await?;
                link.drain_word_taken();
                if over {
                    // What waited for it can be placed.
                    self.poll_now.notify_one();
                }
            }
            FromRunner::Reconciled => self.reconcile(link).await?,
            FromRunner::Probed { number } => self.probed(link, number).await?,
        }
        Ok(())
    }

    /// The runner has reported every job it has. Settles what the store has there and it has not, then
    /// lets it have new work.
    async fn reconcile(&self, link: &Arc<Link>) -> Result<(), StoreError> {
        let runner = &link.hello.runner_id;
        let placed = self.placed_on(link).await?;
        self.seats.reset(runner, placed.iter().copied().collect());
        link.set_reconciled();
        self.set_linked(runner);
        for id in placed {
            if let Some(record) = self.store().execution(id).await? {
                let record = LiveExecution::from(&record);
                if self.may_settle(&record) {
                    self.tend_placed(&record).await?;
                }
            }
        }
        self.reconcile_sessions(link).await?;
        self.keep_unstored(link).await?;
        tracing::info!(%runner, "the runner is connected and reconciled");
        self.poll_now.notify_one();
        Ok(())
    }

    /// Goes on with sessions that are to be made or removed. One that is open here and not there is lost.
    async fn reconcile_sessions(&self, link: &Link) -> Result<(), StoreError> {
        let reported = link.sessions();
        let query = SessionQuery {
            states: vec![SessionState::Opening, SessionState::Open, SessionState::Closing],
            runner_id: Some(link.hello.runner_id.clone()),
            ..SessionQuery::default()
        };
        let mut page = PageQuery { size: TEND_PAGE, token: None };
        let mut missing = Vec::new();
        loop {
            let found = self.store().sessions(&query, &page).await?;
            for session in &found.items {
                if session.state != SessionState::Open {
                    self.tend_session(session).await?;
                } else if !reported.contains(&session.id) {
                    missing.push(session.id);
                }
            }
            page.token = found.next;
            if page.token.is_none() {
                break;
            }
        }
        // One that was opened for another server is open in the store before it is reported here.
        if link.miss_sessions(missing) {
            return self.lose_missing(link).await;
        }
        self.send_probe(link).await;
        Ok(())
    }

    /// Says that the sessions are lost which a runner has not reported, though it had the time to.
    async fn lose_missing(&self, link: &Link) -> Result<(), StoreError> {
        for id in link.take_missing_sessions() {
            self.lose_session(id, "its runner does not have it any more").await?;
        }
        Ok(())
    }

    /// Asks a runner to say that it has said everything, if anybody waits for that.
    pub(crate) async fn send_probe(&self, link: &Link) {
        if let Some(number) = link.next_probe() {
            // Not sent means that the link has ended, and the next one begins anew.
            let _ = link.send(ToRunner::Probe { number }, self.parts.limits.send_wait).await;
        }
    }

    async fn probed(&self, link: &Link, number: u64) -> Result<(), StoreError> {
        link.set_probed(number);
        if link.has_told_of_sessions() {
            self.lose_missing(link).await?;
        }
        self.poll_now.notify_one();
        Ok(())
    }

    /// Has the output of what ended here taken, also of what the runner did not report: only it can say
    /// that there is none.
    async fn keep_unstored(&self, link: &Link) -> Result<(), StoreError> {
        let query = ExecutionQuery {
            runner_id: Some(link.hello.runner_id.clone()),
            unstored: true,
            ..ExecutionQuery::default()
        };
        let mut page = PageQuery { size: TEND_PAGE, token: None };
        loop {
            let found = self.store().executions(&query, &page).await?;
            for record in &found.items {
                self.parts.output.ended(record).await;
            }
            page.token = found.next;
            if page.token.is_none() {
                return Ok(());
            }
        }
    }

    async fn placed_on(&self, link: &Link) -> Result<Vec<ExecutionId>, StoreError> {
        let query = ExecutionQuery {
            states: PLACED.to_vec(),
            runner_id: Some(link.hello.runner_id.clone()),
            ..ExecutionQuery::default()
        };
        let mut page = PageQuery { size: TEND_PAGE, token: None };
        let mut ids = Vec::new();
        loop {
            let found = self.store().executions(&query, &page).await?;
            ids.extend(found.items.iter().map(|record| record.id));
            page.token = found.next;
            if page.token.is_none() {
                return Ok(ids);
            }
        }
    }

    fn runner_record(&self, hello: &RunnerHello, draining: bool) -> RunnerRecord {
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
