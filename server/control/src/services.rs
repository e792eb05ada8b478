//! The services of a server for its executions: they are created, started and stopped together. Each service owns
//! what it uses. The store holds the authoritative state. In memory are only hints, timers and links, which can be
//! lost at any time.

use std::{sync::Arc, thread::available_parallelism};

use airlock_limits::{LimitError, slots::Slots};
use airlock_store::{Store, StoreError, changes::Changes};

use crate::{
    approval::{Approvals, FileLook},
    background::Background,
    decision::DecisionEncoder,
    decisions::Decisions,
    deliveries::{self, Deliveries, Reports},
    execution::Executions,
    fleet::Fleet,
    hooks::{HookDesk, Hooks},
    limits::ServiceLimits,
    links::{LinkSink, Links},
    placement::{self, Placement},
    profiles::LiveProfiles,
    reconcile::{self, Reconciler, executions::ExecutionReconciler, runners::RunnerReconciler},
    runner_events::{RunnerEvents, jobs::JobReports},
    runners::Runners,
    session::Sessions,
    shared::{
        Clock, Hints, Lifecycle, Observer, OutputKeeper, Presence, RunnerSlots, SessionUses, SessionWaits,
        TraceHooks, TransientState,
    },
    transition::Transitions,
    watch::Watches,
};

/// The dependencies of [`Services`].
pub struct ServiceParts {
    /// The authoritative state.
    pub store: Arc<dyn Store>,
    /// The profiles, for decisions and for sandboxes.
    pub profiles: LiveProfiles,
    /// The links to the runners. They exist before the services, because the streams need them too.
    pub links: Links,
    /// Copies the output of ended executions.
    pub output: Arc<dyn OutputKeeper>,
    /// Reads the state of files in sessions.
    pub files: Arc<dyn FileLook>,
    /// Notifies tasks that wait for an execution.
    pub changes: Changes,
    /// The other servers of the store.
    pub fleet: Fleet,
    /// The name of this server in leases.
    pub server_id: String,
    /// The address of this server for other servers, or `None` if they cannot reach it.
    pub advertise: Option<String>,
    /// The limits of the services.
    pub limits: ServiceLimits,
    /// Encodes decisions for the contract.
    pub encode_decision: DecisionEncoder,
    /// The hooks of the configuration.
    pub hooks: Arc<dyn Hooks>,
    /// The trace context functions.
    pub trace: TraceHooks,
    /// Receives events for telemetry.
    pub observer: Arc<dyn Observer>,
}

/// The reason why the services failed to start.
#[derive(Debug, thiserror::Error)]
pub enum StartUpError {
    /// The limits contradict each other.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The running services. Clones are cheap and share the same state.
#[derive(Clone)]
pub struct Services {
    /// Starts, reads and controls executions.
    pub executions: Arc<Executions>,
    /// Creates, reads and closes sessions.
    pub sessions: Arc<Sessions>,
    /// Answers approvals, and holds the remembered rules.
    pub approvals: Arc<Approvals>,
    /// Decides commands.
    pub decisions: Arc<Decisions>,
    /// The runners as operators see them.
    pub runners: Arc<Runners>,
    /// The watches on executions.
    pub watches: Arc<Watches>,
    /// The links to the runners.
    pub links: Links,
    reconciler: Arc<Reconciler>,
    /// The links hold only a weak reference to it.
    events: Arc<dyn LinkSink>,
    store: Arc<dyn Store>,
    lifecycle: Lifecycle,
    limits: ServiceLimits,
    server_id: String,
}

/// The state that several services share.
struct Shared {
    hints: Arc<Hints>,
    slots: Arc<RunnerSlots>,
    presence: Arc<Presence>,
    transient: Arc<TransientState>,
    clock: Arc<Clock>,
    uses: SessionUses,
    lifecycle: Lifecycle,
}

impl Services {
    /// Takes over unfinished executions, attaches to the links and starts the tasks. Call it once.
    ///
    /// # Errors
    /// The limits contradict each other, or the store cannot be read.
    pub async fn start_up(parts: ServiceParts) -> Result<Self, StartUpError> {
        parts.limits.check(parts.profiles.now().longest_grace())?;
        let shared = Shared {
            hints: Arc::default(),
            slots: Arc::default(),
            presence: Arc::default(),
            transient: Arc::default(),
            clock: Arc::new(Clock::new(parts.store.now().await?)),
            uses: SessionUses::default(),
            lifecycle: Lifecycle::default(),
        };
        let lifecycle = shared.lifecycle.clone();
        let links = parts.links.clone();
        let deliveries = Arc::new(deliveries(&parts, &shared));
        let (services, placement) = build(parts, shared);
        reconcile::reconcile_once(&services.reconciler).await?;
        lifecycle.spawn(placement::tasks::drive_sessions(placement.clone()));
        lifecycle.spawn(placement::tasks::fill_vacancies(placement));
        lifecycle.spawn(reconcile::reconcile_forever(services.reconciler.clone()));
        deliveries::start(&deliveries, &lifecycle);
        links.attach(Arc::downgrade(&services.events));
        Ok(services)
    }

    /// Stops the services within `stop_wait`: starts no more commands, ends the tasks, releases the leases and closes
    /// the links. Commands continue on their runners.
    pub async fn shut_down(&self) {
        self.lifecycle.stop();
        let handed_over = async {
            self.lifecycle.wait().await;
            // The tasks have ended, so the leases are not renewed again.
            let handed = self.store.renew_leases(&self.server_id, 0).await.map(drop);
            if let Err(error) = handed.and(self.runners.leave().await) {
                tracing::warn!(%error, "cannot release the leases of executions; other servers take over when they expire");
            }
        };
        if tokio::time::timeout(self.limits.stop_wait, handed_over).await.is_err() {
            tracing::warn!("services did not stop in time; other servers take over when their leases expire");
        }
        self.links.close();
    }
}

/// The services that the others are built on.
struct Base {
    runners: Arc<Runners>,
    transitions: Arc<Transitions>,
    decisions: Arc<Decisions>,
    desk: Arc<HookDesk>,
    background: Arc<Background>,
    sessions: Arc<Sessions>,
    approvals: Arc<Approvals>,
}

/// Creates the services, and the one that drives the queues.
fn build(parts: ServiceParts, shared: Shared) -> (Services, Arc<Placement>) {
    let base = base(&parts, &shared);
    let executions = Arc::new(executions(&parts, &shared, &base));
    let placement = Arc::new(placement(&parts, &shared, &base));
    let reconciler = Arc::new(execution_reconciler(&parts, &shared, &base, placement.clone()));
    let events = Arc::new(RunnerEvents {
        store: parts.store.clone(),
        runners: base.runners.clone(),
        sessions: base.sessions.clone(),
        approvals: base.approvals.clone(),
        jobs: job_reports(&parts, &shared, &base),
        executions: reconciler.clone(),
        hints: shared.hints.clone(),
        slots: shared.slots.clone(),
        presence: shared.presence.clone(),
        output: parts.output.clone(),
        lifecycle: shared.lifecycle.clone(),
    });
    let watches = Watches::new(
        parts.store.clone(),
        parts.changes.clone(),
        shared.lifecycle.clone(),
        parts.limits.clone(),
    );
    let services = Services {
        executions,
        sessions: base.sessions.clone(),
        approvals: base.approvals.clone(),
        decisions: base.decisions.clone(),
        runners: base.runners.clone(),
        watches: Arc::new(watches),
        links: parts.links.clone(),
        reconciler: Arc::new(main_reconciler(&parts, &shared, &base, reconciler)),
        events,
        store: parts.store,
        lifecycle: shared.lifecycle,
        limits: parts.limits,
        server_id: parts.server_id,
    };
    (services, placement)
}

fn base(parts: &ServiceParts, shared: &Shared) -> Base {
    let runners = Arc::new(Runners {
        store: parts.store.clone(),
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        slots: shared.slots.clone(),
        presence: shared.presence.clone(),
        clock: shared.clock.clone(),
        lifecycle: shared.lifecycle.clone(),
        limits: parts.limits.clone(),
        server_id: parts.server_id.clone(),
        advertise: parts.advertise.clone(),
    });
    let transitions = Arc::new(Transitions {
        store: parts.store.clone(),
        changes: parts.changes.clone(),
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        slots: shared.slots.clone(),
        hints: shared.hints.clone(),
        transient: shared.transient.clone(),
        clock: shared.clock.clone(),
        observer: parts.observer.clone(),
    });
    let decisions = Arc::new(Decisions {
        store: parts.store.clone(),
        profiles: parts.profiles.clone(),
        runners: runners.clone(),
        slots: Arc::new(Slots::new(available_parallelism().map_or(1, usize::from))),
        encode: parts.encode_decision,
    });
    let desk = Arc::new(HookDesk::new(
        (parts.hooks.clone(), parts.store.clone()),
        (shared.hints.clone(), shared.lifecycle.clone()),
        parts.encode_decision,
    ));
    let background = Arc::new(Background {
        store: parts.store.clone(),
        profiles: parts.profiles.clone(),
        links: parts.links.clone(),
        transitions: transitions.clone(),
        limits: parts.limits.clone(),
    });
    let sessions = Arc::new(sessions(parts, shared, (&runners, &transitions, &decisions)));
    let approvals = Arc::new(Approvals {
        store: parts.store.clone(),
        profiles: parts.profiles.clone(),
        decisions: decisions.clone(),
        transitions: transitions.clone(),
        desk: desk.clone(),
        files: parts.files.clone(),
        clock: shared.clock.clone(),
        lifecycle: shared.lifecycle.clone(),
        observer: parts.observer.clone(),
        limits: parts.limits.clone(),
    });
    Base { runners, transitions, decisions, desk, background, sessions, approvals }
}

fn sessions(
    parts: &ServiceParts,
    shared: &Shared,
    (runners, transitions, decisions): (&Arc<Runners>, &Arc<Transitions>, &Arc<Decisions>),
) -> Sessions {
    Sessions {
        store: parts.store.clone(),
        profiles: parts.profiles.clone(),
        decisions: decisions.clone(),
        runners: runners.clone(),
        transitions: transitions.clone(),
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        hints: shared.hints.clone(),
        uses: shared.uses.clone(),
        waits: SessionWaits::default(),
        clock: shared.clock.clone(),
        lifecycle: shared.lifecycle.clone(),
        limits: parts.limits.clone(),
    }
}

fn executions(parts: &ServiceParts, shared: &Shared, base: &Base) -> Executions {
    Executions {
        store: parts.store.clone(),
        decisions: base.decisions.clone(),
        desk: base.desk.clone(),
        runners: base.runners.clone(),
        transitions: base.transitions.clone(),
        background: base.background.clone(),
        sessions: base.sessions.clone(),
        approvals: base.approvals.clone(),
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        changes: parts.changes.clone(),
        clock: shared.clock.clone(),
        lifecycle: shared.lifecycle.clone(),
        observer: parts.observer.clone(),
        limits: parts.limits.clone(),
        server_id: parts.server_id.clone(),
    }
}

fn placement(parts: &ServiceParts, shared: &Shared, base: &Base) -> Placement {
    Placement {
        store: parts.store.clone(),
        profiles: parts.profiles.clone(),
        decisions: base.decisions.clone(),
        desk: base.desk.clone(),
        runners: base.runners.clone(),
        transitions: base.transitions.clone(),
        sessions: base.sessions.clone(),
        approvals: base.approvals.clone(),
        links: parts.links.clone(),
        hints: shared.hints.clone(),
        slots: shared.slots.clone(),
        transient: shared.transient.clone(),
        output: parts.output.clone(),
        trace: parts.trace,
        limits: parts.limits.clone(),
        server_id: parts.server_id.clone(),
    }
}

fn deliveries(parts: &ServiceParts, shared: &Shared) -> Deliveries {
    Deliveries {
        store: parts.store.clone(),
        sender: Arc::new(Reports { store: parts.store.clone(), hooks: parts.hooks.clone() }),
        hooks: parts.hooks.names(),
        observer: parts.observer.clone(),
        clock: shared.clock.clone(),
        max_age: parts.limits.hook_delivery,
        server_id: parts.server_id.clone(),
    }
}

fn job_reports(parts: &ServiceParts, shared: &Shared, base: &Base) -> JobReports {
    JobReports {
        store: parts.store.clone(),
        transitions: base.transitions.clone(),
        background: base.background.clone(),
        sessions: base.sessions.clone(),
        approvals: base.approvals.clone(),
        changes: parts.changes.clone(),
        hints: shared.hints.clone(),
        slots: shared.slots.clone(),
        output: parts.output.clone(),
        observer: parts.observer.clone(),
        limits: parts.limits.clone(),
        server_id: parts.server_id.clone(),
    }
}

fn execution_reconciler(
    parts: &ServiceParts,
    shared: &Shared,
    base: &Base,
    placement: Arc<Placement>,
) -> ExecutionReconciler {
    ExecutionReconciler {
        store: parts.store.clone(),
        transitions: base.transitions.clone(),
        background: base.background.clone(),
        approvals: base.approvals.clone(),
        placement,
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        hints: shared.hints.clone(),
        clock: shared.clock.clone(),
        limits: parts.limits.clone(),
        server_id: parts.server_id.clone(),
    }
}

fn main_reconciler(
    parts: &ServiceParts,
    shared: &Shared,
    base: &Base,
    execution: Arc<ExecutionReconciler>,
) -> Reconciler {
    let runner = RunnerReconciler {
        store: parts.store.clone(),
        runners: base.runners.clone(),
        transitions: base.transitions.clone(),
        sessions: base.sessions.clone(),
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        slots: shared.slots.clone(),
        presence: shared.presence.clone(),
        clock: shared.clock.clone(),
        limits: parts.limits.clone(),
    };
    Reconciler {
        store: parts.store.clone(),
        execution,
        runner,
        runners: base.runners.clone(),
        sessions: base.sessions.clone(),
        approvals: base.approvals.clone(),
        links: parts.links.clone(),
        fleet: parts.fleet.clone(),
        changes: parts.changes.clone(),
        hints: shared.hints.clone(),
        slots: shared.slots.clone(),
        presence: shared.presence.clone(),
        transient: shared.transient.clone(),
        uses: shared.uses.clone(),
        clock: shared.clock.clone(),
        output: parts.output.clone(),
        observer: parts.observer.clone(),
        limits: parts.limits.clone(),
        server_id: parts.server_id.clone(),
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the services with a real store and with runners that the tests control.

    mod again;
    mod approvals;
    mod background;
    mod deliveries;
    mod edits;
    mod ends;
    mod fleet;
    mod happy;
    mod hooks;
    mod leading;
    mod limits;
    mod links;
    mod networks;
    mod order;
    mod placing;
    mod questions;
    mod remember;
    mod requested;
    mod restart;
    mod support;
    mod watches;
}
