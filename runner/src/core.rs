//! The runner without its links: the requests of servers and the reports to them.
//!
//! This module uses no wire type and no connection. Each reply is a report to every server. A state is journaled
//! before it is reported, so that servers see a consistent order.

mod answer;
mod drain;
mod ending;
mod epoch;
mod levels;
mod looks;
mod sessions;

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{
    Capability, Cause, Epoch, ExecutionId, FromRunner, JobPhase, JobReport, RunnerHello, RunnerId, SessionId,
    SessionPhase, SessionReport, Signal, TerminalSize, ToRunner,
};
use airlock_proto::LINK_PROTOCOL_VERSION;
use airlock_sandbox::Profile;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::{
    clock,
    config::RunnerConfig,
    environ::Environ,
    files::Files,
    floor::{Below, NO_USER, NO_USER_CURE, Outside},
    job::{self, Handle, Tools},
    journal::{JobRecord, Journal, JournalError, Phase},
    link::LinkedServers,
    reports::Reports,
    secrets::Secrets,
    session::Sessions,
    spool::JobSpool,
    telemetry::Metrics,
};

use drain::Draining;
use looks::Looks;

pub(crate) use epoch::LinkClock;

/// The capability that the runner needs to accept any command.
const FLOOR: &str = "floor";
/// The permits of [`Core::disk_work`].
const DISK_WORK_AT_ONCE: usize = 4;

/// The parts from which a [`Core`] is built.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) config: RunnerConfig,
    pub(crate) secrets: Secrets,
    pub(crate) environ: Environ,
    pub(crate) id: RunnerId,
    pub(crate) journal: Journal,
    pub(crate) sessions: Sessions,
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

/// A job that has not ended.
#[derive(Debug)]
struct Live {
    session: SessionId,
    handle: Arc<Handle>,
}

/// The state of the runner that all links share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: RunnerConfig,
    pub(crate) id: RunnerId,
    pub(crate) clock: LinkClock,
    pub(crate) reports: Reports,
    pub(crate) linked_servers: LinkedServers,
    bases: HashMap<String, PathBuf>,
    secrets: Secrets,
    environ: Environ,
    journal: Mutex<Journal>,
    sessions: Arc<Sessions>,
    pub(crate) files: Files,
    tools: Arc<Tools>,
    root: Profile,
    capabilities: Vec<Capability>,
    shells: BTreeMap<String, String>,
    below: Below,
    outside: Outside,
    live: Mutex<HashMap<ExecutionId, Live>>,
    /// The time at which an ended job that no server fetched is forgotten, on the runner's clock.
    keep_until: Mutex<HashMap<ExecutionId, u64>>,
    draining: Draining,
    looks: Looks,
    pub(crate) metrics: Metrics,
    /// Limits how many sessions are created or removed at once. This is slow disk work, which must not occupy the
    /// threads that drain the output of commands.
    disk_work: Semaphore,
    /// The tasks that must finish before the process ends.
    tasks: TaskTracker,
}

impl Core {
    /// Begins a new epoch. Jobs that earlier epochs left without a result become `Lost`.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(crate) fn new(parts: Parts) -> Result<Arc<Self>, JournalError> {
        let outside = Outside::of(&parts.config.floor, parts.tools.launcher.uid_isolation());
        if outside == Outside::NoUser {
            tracing::warn!("`floor.unsandboxed` is set, but has no effect: {NO_USER}; {NO_USER_CURE}");
        }
        let epoch = Epoch::new();
        let mut journal = parts.journal;
        journal.begin(epoch)?;
        let core = Arc::new(Self {
            bases: parts.config.bases.clone().into_iter().collect(),
            clock: LinkClock::new(epoch),
            config: parts.config,
            secrets: parts.secrets,
            environ: parts.environ,
            id: parts.id,
            reports: Reports::default(),
            linked_servers: LinkedServers::default(),
            journal: Mutex::new(journal),
            sessions: Arc::new(parts.sessions),
            files: parts.files,
            tools: Arc::new(parts.tools),
            root: parts.root,
            capabilities: parts.capabilities,
            shells: parts.shells,
            below: parts.below,
            outside,
            live: Mutex::default(),
            keep_until: Mutex::default(),
            draining: Draining::default(),
            looks: Looks::default(),
            metrics: Metrics::new(),
            disk_work: Semaphore::new(DISK_WORK_AT_ONCE),
            tasks: TaskTracker::new(),
        });
        core.bury_the_lost();
        Ok(core)
    }

    /// Handles a message of a server, or starts to. The link itself handles `OpenOutput`, `OpenExchange`, `Probe` and
    /// `Welcome`.
    pub(crate) fn handle(self: &Arc<Self>, message: ToRunner) {
        match message {
            ToRunner::OpenSession { session_id, base, profile } => {
                self.open_session(session_id, &base, profile);
            }
            ToRunner::CloseSession { session_id } => self.close_session(session_id),
            ToRunner::StartJob(offer) => self.start_job(*offer),
            ToRunner::EndJob { execution_id, cause } => self.end_job(&execution_id, cause),
            ToRunner::ForgetJob { execution_id } => self.forget_job(execution_id),
            ToRunner::SignalJob { execution_id, signal } => self.signal_job(&execution_id, signal),
            ToRunner::ResizeJob { execution_id, size } => self.resize_job(&execution_id, size),
            ToRunner::DetachJob { execution_id, timeout } => self.detach_job(&execution_id, timeout),
            ToRunner::Drain { undo } => self.drain_for_server(undo),
            ToRunner::Welcome { .. }
            | ToRunner::OpenOutput { .. }
            | ToRunner::OpenExchange { .. }
            | ToRunner::Probe { .. }
            | ToRunner::Heartbeat => {}
        }
    }

    /// Builds the message with which the runner introduces itself.
    pub(crate) fn hello(&self) -> RunnerHello {
        let (intact, vouched_epochs) = {
            let journal = self.journal();
            (journal.intact(), journal.vouched().to_vec())
        };
        let mut capabilities = self.capabilities.clone();
        capabilities.push(Capability {
            name: "journal_intact".to_owned(),
            enforced: intact,
            detail: if intact {
                "the journal contains every job that earlier epochs accepted".to_owned()
            } else {
                "the journal is new, or a host failure truncated it; jobs of earlier epochs are unknown"
                    .to_owned()
            },
        });
        capabilities.push(Capability {
            name: FLOOR.to_owned(),
            enforced: self.below.as_text().is_none(),
            detail: self.below.as_text().unwrap_or("every layer of the floor is enforced").to_owned(),
        });
        capabilities.push(Capability {
            name: "unsandboxed".to_owned(),
            enforced: self.outside.is_open(),
            detail: self.outside.as_text().to_owned(),
        });
        RunnerHello {
            protocol_version: LINK_PROTOCOL_VERSION,
            runner_id: self.id.clone(),
            epoch: self.clock.epoch(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: self.config.labels.clone(),
            slots: self.config.slots,
            bases: self.config.bases.keys().cloned().collect(),
            capabilities,
            shells: self.shells.clone(),
            clock_ms: clock::now_ms(),
            vouched_epochs,
            answers_probes: true,
        }
    }

    /// Returns the reason why the runner accepts no commands on this host, or `None` if it accepts them.
    pub(crate) fn below_floor(&self) -> Option<&str> {
        self.below.as_text()
    }

    /// Reports whether the runner refuses new commands because it drains.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_on()
    }

    /// Builds a heartbeat with the clock and the number of running jobs.
    pub(crate) fn heartbeat(&self) -> FromRunner {
        let running = u32::try_from(self.live().len()).unwrap_or(u32::MAX);
        FromRunner::Heartbeat { clock_ms: clock::now_ms(), running }
    }

    /// Returns the reports for a new link: all sessions, all jobs, and the marker that the list is complete.
    pub(crate) fn snapshot(&self) -> Vec<FromRunner> {
        let mut told: Vec<FromRunner> = self
            .sessions
            .all()
            .into_iter()
            .map(|session| {
                let phase = sessions::open_phase(&session);
                FromRunner::Session(SessionReport { session_id: session.id, phase })
            })
            .collect();
        told.extend(self.sessions.lost().iter().map(|(id, why)| {
            let phase = SessionPhase::Failed { reason: "disk".to_owned(), message: why.clone() };
            FromRunner::Session(SessionReport { session_id: *id, phase })
        }));
        told.extend(self.journal().jobs().map(|(id, job)| FromRunner::Job(report(*id, job))));
        told.push(FromRunner::Reconciled);
        if self.draining.is_on() {
            told.push(FromRunner::Draining { over: false });
        }
        told
    }

    /// Returns the spool of a job, if it is kept.
    pub(crate) fn output(&self, id: &ExecutionId) -> Option<Arc<JobSpool>> {
        self.tools.spools.find(id)
    }

    /// Adds the inline output to a message that reports the end of a job. The output is read just before the message
    /// is sent, so that no queue holds it.
    pub(crate) async fn with_inline(&self, mut message: FromRunner) -> FromRunner {
        if let FromRunner::Job(JobReport { execution_id, phase, result: Some(result), .. }) = &mut message
            && matches!(phase, JobPhase::Ended | JobPhase::Lost)
            && let Some(spool) = self.output(execution_id)
        {
            let inline = tokio::task::spawn_blocking(move || job::inline(&spool)).await;
            result.inline = inline.ok().flatten().map(Arc::new);
        }
        message
    }

    /// Returns the handle of a job that has not ended.
    pub(crate) fn live_job(&self, id: &ExecutionId) -> Option<Arc<Handle>> {
        self.live().get(id).map(|live| Arc::clone(&live.handle))
    }

    /// Reports whether the journal has a record that the job was offered to this runner.
    pub(crate) fn knows_job(&self, id: &ExecutionId) -> bool {
        let journal = self.journal();
        journal.job(id).is_some() || journal.was_forgotten(id)
    }

    fn signal_job(&self, id: &ExecutionId, signal: Signal) {
        if self.live_job(id).is_some_and(|job| !job.signal(signal)) {
            tracing::debug!(execution = %id, "signal queue full; signal dropped");
        }
    }

    fn resize_job(&self, id: &ExecutionId, size: TerminalSize) {
        if let Some(Err(error)) = self.live_job(id).map(|job| job.resize(size)) {
            tracing::warn!(execution = %id, %error, "cannot resize the command's terminal");
        }
    }

    fn detach_job(&self, id: &ExecutionId, timeout: Duration) {
        if let Some(job) = self.live_job(id) {
            job.detach(timeout.min(self.config.floor.max_timeout));
        }
    }

    fn end_job(&self, id: &ExecutionId, cause: Cause) {
        // The pending offers come first: an offer becomes live before it leaves that list.
        self.looks.stop(id, &cause);
        self.end_live(id, cause);
    }

    fn end_live(&self, id: &ExecutionId, cause: Cause) {
        if let Some(live) = self.live().get(id) {
            live.handle.switch.end(cause);
        }
    }

    /// Reports the job's state from the journal.
    fn report_job(&self, id: ExecutionId) {
        let report = self.journal().job(&id).map(|job| report(id, job));
        if let Some(report) = report {
            self.reports.send(&FromRunner::Job(report));
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<ExecutionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_until(&self) -> MutexGuard<'_, HashMap<ExecutionId, u64>> {
        self.keep_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(execution_id: ExecutionId, job: &JobRecord) -> JobReport {
    let (phase, result) = match &job.phase {
        Phase::Accepted => (JobPhase::Accepted, None),
        Phase::Refused(result) => (JobPhase::Refused, Some(result.clone())),
        Phase::Running => (JobPhase::Running, None),
        Phase::Ended(result) => (JobPhase::Ended, Some(result.clone())),
        Phase::Lost(result) => (JobPhase::Lost, Some(result.clone())),
    };
    JobReport { execution_id, attempt: job.attempt, epoch: job.epoch, phase, result }
}
