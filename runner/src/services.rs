//! The services of the runner. Each owns the part of the runner's state that it works on.
//!
//! The services use no wire type and no connection. Each reply is a report to every server. A state is journaled
//! before it is reported, so that servers see a consistent order. The links and the loops of module `reconcile` are
//! above the services.

mod admission;
mod draining;
mod file_checks;
mod jobs;
mod links;
mod sessions;

use std::{collections::BTreeMap, sync::Arc};

use airlock_domain::{Capability, Epoch, RunnerHello, RunnerId};
use airlock_sandbox::Profile;
use tokio_util::task::TaskTracker;

use crate::{
    clock,
    config::RunnerConfig,
    environ::Environ,
    files::Files,
    floor::{Below, NO_USER, NO_USER_REMEDY, Outside},
    forward::Forwards,
    job::{EditPreviews, SnapshotMaker, Tools},
    journal::{Journal, JournalError},
    reports::Reports,
    secrets::Secrets,
    session::SessionTable,
    telemetry::Metrics,
};

use admission::Executor;
use airlock_proto::LINK_PROTOCOL_VERSION;
use file_checks::FileChecks;
use jobs::JobParts;
use sessions::SessionParts;

pub(crate) use admission::Admission;
pub(crate) use draining::Draining;
pub(crate) use jobs::Jobs;
pub(crate) use links::LinkState;
pub(crate) use sessions::Sessions;

/// The parts of a runner that its start opened.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) config: RunnerConfig,
    pub(crate) secrets: Secrets,
    pub(crate) environ: Environ,
    pub(crate) id: RunnerId,
    pub(crate) journal: Journal,
    pub(crate) sessions: SessionTable,
    pub(crate) files: Files,
    pub(crate) tools: Tools,
    /// The sandbox profile with the minimal root of the host system.
    pub(crate) root: Profile,
    pub(crate) capabilities: Vec<Capability>,
    /// The names of this host's shells, with their versions.
    pub(crate) shells: BTreeMap<String, String>,
    /// Whether this host lacks a layer that the floor requires.
    pub(crate) below: Below,
}

/// The services of a runner, as its links and loops use them.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) config: Arc<RunnerConfig>,
    pub(crate) identity: Identity,
    pub(crate) below: Below,
    pub(crate) links: Arc<LinkState>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) draining: Arc<Draining>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) session_table: Arc<SessionTable>,
    pub(crate) files: Arc<Files>,
    pub(crate) forwards: Arc<Forwards>,
    pub(crate) previews: Arc<EditPreviews>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) metrics: Arc<Metrics>,
    /// The tasks that must finish before the process ends.
    pub(crate) tasks: TaskTracker,
}

impl Services {
    /// Begins a new epoch. Jobs that earlier epochs left without a result become lost.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(crate) fn new(parts: Parts) -> Result<Arc<Self>, JournalError> {
        let Parts { config, secrets, environ, id, mut journal, sessions, files, tools, .. } = parts;
        let (root, below) = (Arc::new(parts.root), parts.below);
        let outside = outside(&config, &tools);
        let epoch = Epoch::new();
        journal.begin(epoch)?;
        let (config, tools, files) = (Arc::new(config), Arc::new(tools), Arc::new(files));
        let (session_table, reports) = (Arc::new(sessions), Arc::new(Reports::default()));
        let previews = previews(&tools, &root, &config, environ);
        let (metrics, tasks) = (Arc::new(Metrics::new()), TaskTracker::new());
        let links = Arc::new(LinkState::new(epoch));
        let draining = Arc::new(Draining::new(Arc::clone(&reports)));
        let job_parts = JobParts {
            journal,
            spools: Arc::clone(&tools.spools),
            reports: Arc::clone(&reports),
            metrics: Arc::clone(&metrics),
            keep: config.spool.keep,
            max_timeout: config.floor.max_timeout,
            tasks: tasks.clone(),
        };
        let jobs = Arc::new(Jobs::restore(job_parts, &session_table));
        let admission = Arc::new(Admission {
            config: Arc::clone(&config),
            root: Arc::clone(&root),
            below: below.clone(),
            outside,
            environ: Arc::clone(&previews.environ),
            secrets,
            disk_space: tools.disk_space.clone(),
            links: Arc::clone(&links),
            draining: Arc::clone(&draining),
            sessions: Arc::clone(&session_table),
            jobs: Arc::clone(&jobs),
            executor: executor(&tools, &jobs, &draining, &metrics, &tasks),
            file_checks: FileChecks::default(),
            tasks: tasks.clone(),
        });
        let snapshots =
            Arc::new(SnapshotMaker { tools: Arc::clone(&tools), root, config: Arc::clone(&config) });
        let sessions = Arc::new(Sessions::new(SessionParts {
            table: Arc::clone(&session_table),
            bases: config.bases.clone(),
            snapshots,
            below: below.clone(),
            disk_space: tools.disk_space.clone(),
            draining: Arc::clone(&draining),
            jobs: Arc::clone(&jobs),
            files: Arc::clone(&files),
            reports: Arc::clone(&reports),
            tasks: tasks.clone(),
        }));
        let identity = Identity::new(id, &config, parts.shells, parts.capabilities, (&below, outside));
        Ok(Arc::new(Self {
            forwards: Arc::new(Forwards::new(&tools, &session_table, &config)),
            config,
            identity,
            below,
            links,
            reports,
            draining,
            jobs,
            admission,
            sessions,
            session_table,
            files,
            previews,
            tools,
            metrics,
            tasks,
        }))
    }
}

/// Returns whether commands may run outside the sandbox on this host, and logs if the floor permits it without effect.
fn outside(config: &RunnerConfig, tools: &Tools) -> Outside {
    let outside = Outside::of(&config.floor, tools.launcher.uid_isolation());
    if outside == Outside::NoUser {
        tracing::warn!("`floor.unsandboxed` is set, but has no effect: {NO_USER}; {NO_USER_REMEDY}");
    }
    outside
}

fn executor(
    tools: &Arc<Tools>,
    jobs: &Arc<Jobs>,
    draining: &Arc<Draining>,
    metrics: &Arc<Metrics>,
    tasks: &TaskTracker,
) -> Arc<Executor> {
    Arc::new(Executor {
        tools: Arc::clone(tools),
        jobs: Arc::clone(jobs),
        draining: Arc::clone(draining),
        metrics: Arc::clone(metrics),
        tasks: tasks.clone(),
    })
}

fn previews(
    tools: &Arc<Tools>,
    root: &Arc<Profile>,
    config: &Arc<RunnerConfig>,
    environ: Environ,
) -> Arc<EditPreviews> {
    Arc::new(EditPreviews {
        tools: Arc::clone(tools),
        root: Arc::clone(root),
        config: Arc::clone(config),
        environ: Arc::new(environ),
    })
}

/// The capability that the runner needs to accept any command.
const FLOOR: &str = "floor";

/// The identity of the runner, and the properties of its host and configuration that servers use.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) id: RunnerId,
    labels: BTreeMap<String, String>,
    slots: u32,
    bases: Vec<String>,
    /// The names of this host's shells, with their versions.
    shells: BTreeMap<String, String>,
    /// The layers of the sandbox.
    layers: Vec<Capability>,
    /// Whether the floor is enforced, and whether commands may run outside the sandbox.
    admission: [Capability; 2],
}

impl Identity {
    fn new(
        id: RunnerId,
        config: &RunnerConfig,
        shells: BTreeMap<String, String>,
        layers: Vec<Capability>,
        (below, outside): (&Below, Outside),
    ) -> Self {
        let floor = Capability {
            name: FLOOR.to_owned(),
            enforced: below.as_text().is_none(),
            detail: below.as_text().unwrap_or("every layer of the floor is enforced").to_owned(),
        };
        let unsandboxed = Capability {
            name: "unsandboxed".to_owned(),
            enforced: outside.is_open(),
            detail: outside.as_text().to_owned(),
        };
        Self {
            id,
            labels: config.labels.clone(),
            slots: config.slots,
            bases: config.bases.keys().cloned().collect(),
            shells,
            layers,
            admission: [floor, unsandboxed],
        }
    }

    /// Builds the message for this epoch. `intact` and `vouched_epochs` describe the journal.
    pub(crate) fn hello(&self, epoch: Epoch, (intact, vouched_epochs): (bool, Vec<Epoch>)) -> RunnerHello {
        let journal = Capability {
            name: "journal_intact".to_owned(),
            enforced: intact,
            detail: if intact {
                "the journal contains every job that earlier epochs accepted".to_owned()
            } else {
                "the journal is new, or a host failure truncated it; jobs of earlier epochs are unknown"
                    .to_owned()
            },
        };
        let capabilities = self.layers.iter().chain([&journal]).chain(&self.admission).cloned().collect();
        RunnerHello {
            protocol_version: LINK_PROTOCOL_VERSION,
            runner_id: self.id.clone(),
            epoch,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: self.labels.clone(),
            slots: self.slots,
            bases: self.bases.clone(),
            capabilities,
            shells: self.shells.clone(),
            clock_ms: clock::now_ms(),
            vouched_epochs,
            answers_probes: true,
        }
    }
}
