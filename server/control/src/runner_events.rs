//! The handling of the runners' messages, for the links.

pub(crate) mod jobs;

use std::{sync::Arc, time::Duration};

use airlock_domain::{Epoch, ExecutionId, FromRunner, RunnerHello};
use airlock_lifecycle::PLACED;
use airlock_store::{
    ExecutionQuery, PageQuery, RunnerPut, SessionQuery, Store, StoreError,
    record::{LiveExecution, SessionState},
};

use self::jobs::JobReports;
use crate::{
    approval::Approvals,
    links::{Link, LinkError, LinkRefusal, LinkSink},
    reconcile::executions::{ExecutionReconciler, PAGE},
    runners::Runners,
    session::Sessions,
    shared::{Hints, Lifecycle, OutputKeeper, Presence, RunnerSlots},
};

/// The pause before a report is offered to the store again.
const RETRY: Duration = Duration::from_millis(250);

/// Processes the events on the links to runners.
pub(crate) struct RunnerEvents {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) jobs: JobReports,
    pub(crate) executions: Arc<ExecutionReconciler>,
    pub(crate) hints: Arc<Hints>,
    pub(crate) slots: Arc<RunnerSlots>,
    pub(crate) presence: Arc<Presence>,
    /// Copies the output of ended executions.
    pub(crate) output: Arc<dyn OutputKeeper>,
    pub(crate) lifecycle: Lifecycle,
}

#[async_trait::async_trait]
impl LinkSink for RunnerEvents {
    async fn arrived(&self, hello: &RunnerHello) -> Result<Option<Epoch>, LinkRefusal> {
        let unavailable = |error: StoreError| LinkRefusal::Unavailable { reason: error.to_string() };
        if self.lifecycle.is_stopping() {
            return Err(LinkRefusal::Unavailable { reason: "the server is stopping".to_owned() });
        }
        // The hello does not state whether the runner drains. Until it does, keep the data that another server may have
        // stored.
        let known = self.store.runner(&hello.runner_id).await.map_err(unavailable)?;
        let drains = known.is_some_and(|known| known.epoch == hello.epoch && known.draining);
        match self.store.put_runner(&Runners::record_of(hello, drains)).await.map_err(unavailable)? {
            RunnerPut::Taken { before } => Ok(before),
            RunnerPut::Fenced => Err(LinkRefusal::Fenced),
        }
    }

    async fn heard(&self, link: &Arc<Link>, message: FromRunner) -> Result<(), LinkError> {
        loop {
            match self.take_in(link, message.clone()).await {
                Err(TakeIn::Protocol(what)) => return Err(LinkError::Protocol(what)),
                Ok(()) => return Ok(()),
                // The link reads no further message until this one is stored. If that takes too long, the link times
                // out, and the runner repeats its reports on the next link.
                Err(TakeIn::Store(StoreError::Unavailable(_))) => tokio::time::sleep(RETRY).await,
                Err(TakeIn::Store(error)) => {
                    tracing::error!(runner = %link.hello.runner_id, %error, "cannot store a report of a runner");
                    return Ok(());
                }
            }
        }
    }

    fn gone(&self, link: &Arc<Link>) {
        tracing::info!(runner = %link.hello.runner_id, "link lost");
        // The reconciliation finds the executions without a link.
        self.hints.reconcile_now();
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

impl RunnerEvents {
    async fn take_in(&self, link: &Arc<Link>, message: FromRunner) -> Result<(), TakeIn> {
        match message {
            FromRunner::Hello(_) => return Err(TakeIn::Protocol("a second hello")),
            FromRunner::Heartbeat { clock_ms, .. } => {
                link.set_clock(clock_ms);
                self.store.touch_runner(&link.hello.runner_id, link.hello.epoch).await?;
            }
            FromRunner::Job(report) => self.jobs.reported(link, report).await?,
            FromRunner::Session(report) => self.sessions.reported(link, report).await?,
            FromRunner::Draining { over } => {
                link.set_draining(!over);
                self.store.put_runner(&Runners::record_of(&link.hello, !over)).await?;
                link.drain_word_taken();
                if over {
                    // Executions that waited for the runner can be placed.
                    self.hints.reconcile_now();
                }
            }
            FromRunner::Reconciled => self.reconcile(link).await?,
            FromRunner::Probed { number } => self.probed(link, number).await?,
            FromRunner::Asked(asked) => self.approvals.connection_asked(link, asked).await?,
            FromRunner::Unasked { execution_id, approval_id } => {
                self.approvals.connection_gone(link, execution_id, approval_id).await?;
            }
        }
        Ok(())
    }

    /// Handles the end of the runner's initial reports. Settles executions that the store has and the
    /// runner did not report, and then permits new work.
    async fn reconcile(&self, link: &Arc<Link>) -> Result<(), StoreError> {
        let runner = &link.hello.runner_id;
        let placed = self.placed_on(link).await?;
        self.slots.reset(runner, placed.iter().copied().collect());
        link.set_reconciled();
        self.presence.set_linked(runner);
        for id in placed {
            if let Some(record) = self.store.execution(id).await? {
                let record = LiveExecution::from(&record);
                if self.executions.may_settle(&record) {
                    self.executions.reconcile_placed(&record).await?;
                }
            }
        }
        self.reconcile_sessions(link).await?;
        self.keep_unstored(link).await?;
        tracing::info!(%runner, "runner connected and reconciled");
        self.hints.reconcile_now();
        Ok(())
    }

    /// Continues to open or close sessions. A session that is open in the store and was not reported is
    /// lost.
    async fn reconcile_sessions(&self, link: &Link) -> Result<(), StoreError> {
        let reported = link.sessions();
        let query = SessionQuery {
            states: vec![SessionState::Opening, SessionState::Open, SessionState::Closing],
            runner_id: Some(link.hello.runner_id.clone()),
            ..SessionQuery::default()
        };
        let mut page = PageQuery { size: PAGE, token: None };
        let mut missing = Vec::new();
        loop {
            let found = self.store.sessions(&query, &page).await?;
            for session in &found.items {
                if session.state != SessionState::Open {
                    self.sessions.reconcile(session).await?;
                } else if !reported.contains(&session.id) {
                    missing.push(session.id);
                }
            }
            page.token = found.next;
            if page.token.is_none() {
                break;
            }
        }
        // A session that another server opened is open in the store before its report arrives here.
        if link.miss_sessions(missing) {
            return self.lose_missing(link).await;
        }
        self.runners.send_probe(link).await;
        Ok(())
    }

    /// Marks sessions as lost that a runner has not reported in time.
    async fn lose_missing(&self, link: &Link) -> Result<(), StoreError> {
        for id in link.take_missing_sessions() {
            self.sessions.lose_session(id, "its runner no longer has it").await?;
        }
        Ok(())
    }

    async fn probed(&self, link: &Link, number: u64) -> Result<(), StoreError> {
        link.set_probed(number);
        if link.has_told_of_sessions() {
            self.lose_missing(link).await?;
        }
        self.hints.reconcile_now();
        Ok(())
    }

    /// Starts to copy the outputs of executions that ended on this runner. This includes unreported ones, because only
    /// the runner can confirm that there is no output.
    async fn keep_unstored(&self, link: &Link) -> Result<(), StoreError> {
        let query = ExecutionQuery {
            runner_id: Some(link.hello.runner_id.clone()),
            unstored: true,
            ..ExecutionQuery::default()
        };
        let mut page = PageQuery { size: PAGE, token: None };
        loop {
            let found = self.store.executions(&query, &page).await?;
            for record in &found.items {
                self.output.ended(record).await;
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
        let mut page = PageQuery { size: PAGE, token: None };
        let mut ids = Vec::new();
        loop {
            let found = self.store.executions(&query, &page).await?;
            ids.extend(found.items.iter().map(|record| record.id));
            page.token = found.next;
            if page.token.is_none() {
                return Ok(ids);
            }
        }
    }
}
