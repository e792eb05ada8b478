//! The reconciliation loop. Once per second, and after a hint, it checks everything that has not
//! ended. It enforces all timeouts; other notifications only make a change visible sooner.

pub(crate) mod executions;
pub(crate) mod runners;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_domain::ExecutionState;
use airlock_store::{
    PageQuery, SessionQuery, Store, StoreError,
    changes::Changes,
    record::{Micros, SessionState},
};

use self::{
    executions::{ExecutionReconciler, PAGE},
    runners::RunnerReconciler,
};
use crate::{
    approval::Approvals,
    fleet::Fleet,
    limits::ServiceLimits,
    links::Links,
    runners::{Announced, Runners},
    session::Sessions,
    shared::{
        Clock, Hints, Levels, Observer, OutputKeeper, Presence, RunnerSlots, SessionUses, TransientState,
        micros,
    },
};

const INTERVAL: Duration = Duration::from_secs(1);
/// The interval of checks for slow changes.
const SLOW: Duration = Duration::from_secs(5);
/// The interval of checks for outputs of unreachable runners.
const RARE: Duration = Duration::from_secs(60);
/// The minimum pause before a check that is due sooner than the regular interval.
const SHORTEST: Duration = Duration::from_millis(20);
/// The maximum number of approvals and sessions that are ended per check.
const AT_ONCE: u32 = 100;

/// The time at which each periodic step was last done.
#[derive(Default)]
struct Done {
    leases: Option<Instant>,
    slow: Option<Instant>,
    outputs: Option<Instant>,
    announced: Announced,
    /// The earliest end of a foreground budget, as of this check.
    next_yield: Option<Micros>,
}

/// Reconciles until the task is dropped.
pub(crate) async fn reconcile_forever(reconciler: Arc<Reconciler>) {
    let mut done = Done::default();
    let mut failing = false;
    loop {
        match reconciler.reconcile(&mut done).await {
            Ok(()) => failing = false,
            Err(error) if failing => {
                reconciler.presence.forget_absences();
                tracing::debug!(%error, "the store still cannot be read");
            }
            Err(error) => {
                failing = true;
                reconciler.presence.forget_absences();
                tracing::warn!(%error, "the store cannot be read; no new command starts until it recovers");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(reconciler.pause(done.next_yield)) => {}
            () = reconciler.hints.reconcile_wanted() => {}
        }
    }
}

/// Reconciles once, at the start.
pub(crate) async fn reconcile_once(reconciler: &Reconciler) -> Result<(), StoreError> {
    reconciler.reconcile(&mut Done::default()).await
}

/// Reconciles everything that has not ended.
pub(crate) struct Reconciler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) execution: Arc<ExecutionReconciler>,
    pub(crate) runner: RunnerReconciler,
    pub(crate) runners: Arc<Runners>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) changes: Changes,
    pub(crate) hints: Arc<Hints>,
    pub(crate) slots: Arc<RunnerSlots>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) transient: Arc<TransientState>,
    pub(crate) uses: SessionUses,
    pub(crate) clock: Arc<Clock>,
    /// Copies the output of ended executions.
    pub(crate) output: Arc<dyn OutputKeeper>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) limits: ServiceLimits,
    /// The name of this server in leases.
    pub(crate) server_id: String,
}

impl Reconciler {
    async fn reconcile(&self, done: &mut Done) -> Result<(), StoreError> {
        let limits = &self.limits;
        self.reconcile_links();
        self.clock.set(self.store.now().await?);
        let renew = is_due(&mut done.leases, limits.lease / 3);
        if renew {
            self.store.renew_leases(&self.server_id, micros(limits.lease)).await?;
        }
        self.runners.announce(&mut done.announced, renew).await?;
        self.fleet.learn(self.store.servers().await?);
        self.reconcile_runners().await?;
        done.next_yield = self.reconcile_executions().await?;
        self.approvals.expire_due(AT_ONCE).await?;
        for session in self.store.idle_sessions(AT_ONCE).await? {
            if !self.uses.contains(session.id) {
                self.sessions.begin_close(session.id, "it exceeded its idle timeout").await?;
            }
        }
        if is_due(&mut done.slow, SLOW) {
            for session in self.uses.all() {
                self.store.touch_session(session).await?;
            }
            self.reconcile_sessions().await?;
            for record in self.store.unstored(&self.server_id, AT_ONCE).await? {
                self.output.ended(&record).await;
            }
            self.observer.sessions(&self.store.session_levels().await?);
        }
        // After this time every available runner has reported, even if all servers were down for
        // long.
        if self.presence.up_for() >= limits.lost_after && is_due(&mut done.outputs, RARE) {
            self.lose_outputs().await?;
        }
        Ok(())
    }

    /// Marks outputs as lost if their runners were unreachable for too long.
    async fn lose_outputs(&self) -> Result<(), StoreError> {
        loop {
            let away = micros(self.limits.outputs_lost_after);
            let lost = self.store.lose_outputs(away, AT_ONCE).await?;
            self.observer.outputs_lost(lost.len() as u64);
            for id in &lost {
                tracing::warn!(execution_id = %id, "output lost: its runner did not return within outputs.lost_after");
                self.changes.notify(*id);
            }
            if lost.len() < AT_ONCE as usize {
                return Ok(());
            }
        }
    }

    /// Sends heartbeats, and ends links that are silent or do not answer an offer.
    fn reconcile_links(&self) {
        let limits = &self.limits;
        for link in self.links.all() {
            link.keep_alive(limits.heartbeat_interval);
            if link.silent_for() > limits.heartbeat_timeout {
                link.end("the runner sends no heartbeats");
            } else if link.is_overdue(limits.start_window) {
                link.end("the runner did not answer an offer in time");
            }
        }
    }

    async fn reconcile_runners(&self) -> Result<(), StoreError> {
        let mut page = PageQuery { size: PAGE, token: None };
        let mut known = HashMap::new();
        loop {
            let found = self.store.runners(&page).await?;
            for runner in found.items {
                self.runner.reconcile(&runner).await?;
                known.insert(runner.id.clone(), Arc::new(runner));
            }
            page.token = found.next;
            if page.token.is_none() {
                self.presence.set_known(known);
                return Ok(());
            }
        }
    }

    /// Returns the time until the next check.
    fn pause(&self, next_yield: Option<Micros>) -> Duration {
        next_yield.map_or(INTERVAL, |at| at.since(self.clock.now()).clamp(SHORTEST, INTERVAL))
    }

    /// Reconciles every execution. Returns the earliest end of a foreground budget.
    async fn reconcile_executions(&self) -> Result<Option<Micros>, StoreError> {
        let links = self.links.all();
        let mut levels = Levels {
            runners: links.len() as u64,
            draining: links.iter().filter(|link| link.is_draining()).count() as u64,
            slots: links.iter().map(|link| u64::from(link.hello.slots)).sum(),
            slots_taken: links.iter().map(|link| u64::from(self.slots.taken(&link.hello.runner_id))).sum(),
            ..Levels::default()
        };
        let begun = Instant::now();
        let (mut live, mut placed) = (HashSet::new(), HashSet::new());
        let (mut next_yield, mut others_wait) = (None, false);
        let mut after = None;
        loop {
            let found = self.store.live_executions(None, after, PAGE).await?;
            for record in &found {
                live.insert(record.id);
                let due_later = record.yields_at.filter(|at| *at > self.clock.now());
                next_yield = next_yield.into_iter().chain(due_later).min();
                match record.state {
                    ExecutionState::PendingApproval => {
                        levels.pending_approval += 1;
                        levels.approval_age = levels.approval_age.max(self.clock.since(record.created));
                    }
                    ExecutionState::Queued => {
                        levels.queued += 1;
                        others_wait |= record.owner_server.as_deref() != Some(self.server_id.as_str());
                        levels.queue_age = levels.queue_age.max(self.clock.since(record.queued));
                    }
                    ExecutionState::Starting | ExecutionState::Running => {
                        placed.insert(record.id);
                        levels.active += 1;
                    }
                    ExecutionState::Finished => {}
                }
                match self.execution.reconcile(record).await {
                    Ok(()) => {}
                    Err(error @ StoreError::Unavailable(_)) => return Err(error),
                    // A failure with one execution must not stop the others.
                    Err(error) => {
                        tracing::error!(execution_id = %record.id, %error, "execution not reconciled");
                    }
                }
            }
            after = found.last().map(|last| last.id);
            if found.len() < PAGE as usize {
                break;
            }
        }
        self.transient.prune(&live);
        self.slots.prune(&placed, begun);
        self.slots.set_others_wait(others_wait);
        self.observer.levels(&levels);
        Ok(next_yield)
    }

    async fn reconcile_sessions(&self) -> Result<(), StoreError> {
        let query = SessionQuery {
            states: vec![SessionState::Opening, SessionState::Closing],
            ..SessionQuery::default()
        };
        let mut page = PageQuery { size: PAGE, token: None };
        loop {
            let found = self.store.sessions(&query, &page).await?;
            for session in &found.items {
                self.sessions.reconcile(session).await?;
            }
            page.token = found.next;
            if page.token.is_none() {
                return Ok(());
            }
        }
    }
}

/// Returns whether the step is due after `every`, and if so records it as done now.
fn is_due(last: &mut Option<Instant>, every: Duration) -> bool {
    let due = last.is_none_or(|last| last.elapsed() >= every);
    if due {
        *last = Some(Instant::now());
    }
    due
}
