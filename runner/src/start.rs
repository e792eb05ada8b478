//! The runner's start and orderly stop. Parts are created in order, and dropped in reverse order.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use airlock_domain::{Capability, RunnerId, SessionId};
use airlock_sandbox::{
    CapabilityReport, Check, Config as LauncherConfig, LaunchError, Launcher, Profile, UidIsolation, UidRange,
};
use futures::future::BoxFuture;
use rustix::fs::{FlockOperation, flock};
use tokio::task::{JoinSet, spawn_blocking};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    config::{ConfigError, RunnerConfig},
    drain,
    egress::EgressProxy,
    environ::Environ,
    files::{BaselineLimits, Files, FilesError},
    floor::Below,
    job::{DiskSpace, Tools},
    journal::{Journal, JournalError},
    link, ready, reconcile,
    secrets::{SecretError, Secrets},
    services::{Parts, Services},
    session::{CopyLimits, SessionError, SessionTable},
    socket::LocalSocket,
    spool::{SpoolError, Spools},
};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The time for which a stop waits until the last references to the runner's parts are dropped.
const LET_GO: Duration = Duration::from_secs(2);

/// The reason why a runner did not start. After a failed start, no task or process remains.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// `state_dir` cannot be created or used.
    #[error("`state_dir` `{path}`: {source}", path = path.display())]
    StateDir {
        /// The directory or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another runner uses `state_dir`.
    #[error("another runner uses `{path}`; give each runner its own `state_dir`", path = .0.display())]
    InUse(PathBuf),
    /// The host's boot ID cannot be read.
    #[error("cannot read {BOOT_ID}: {0}")]
    BootId(io::Error),
    /// The addresses of the host cannot be listed, or the upstream proxy cannot be used.
    #[error("the proxy of commands cannot be set up: {0}")]
    Proxy(io::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The stored output cannot be used.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The sessions of an earlier process cannot be loaded.
    #[error("sessions: {0}")]
    Sessions(#[from] SessionError),
    /// The transfers of an earlier process cannot be loaded.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The sandbox cannot be used at all.
    #[error("sandbox: {cause}{remedy}", remedy = remedy(cause))]
    Sandbox {
        /// The missing requirement.
        cause: LaunchError,
    },
    /// A secret cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A task of the start panicked or was cancelled.
    #[error("the start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

fn remedy(cause: &LaunchError) -> String {
    cause.hint().map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// The runner; see [`Runner::start`].
#[derive(Debug)]
pub struct Runner;

/// A running runner. If it is dropped without [`RunningRunner::shut_down`], it ends without waiting.
#[derive(Debug)]
pub struct RunningRunner {
    services: Arc<Services>,
    /// The tasks that dial, expire and watch. They stop when `stop` is dropped.
    tasks: JoinSet<()>,
    stop: DropGuard,
    lock: File,
}

impl Runner {
    /// Checks the configuration, locks `state_dir`, loads the state of earlier processes, and begins to dial. Returns
    /// before a server is reached. Needs a multi-threaded tokio runtime with time and I/O. If a server is reached
    /// over TLS, rustls needs an installed crypto provider.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(config: RunnerConfig) -> BoxFuture<'static, Result<RunningRunner, StartError>> {
        // Boxed as a trait object, so that the compiler generates the runner's code once in this crate. Otherwise every
        // program that polls the future contains a copy.
        Box::pin(Self::make(config))
    }

    async fn make(config: RunnerConfig) -> Result<RunningRunner, StartError> {
        config.check()?;
        let id = config.id()?;
        let servers = config.servers.clone();
        let (services, lock) = spawn_blocking(move || open(config, id)).await??;
        let state_dir = &services.config.state_dir;
        let bind = |name| {
            LocalSocket::bind(state_dir, name)
                .map_err(|source| StartError::StateDir { path: state_dir.clone(), source })
        };
        let (ready, drain) = (bind(ready::SOCKET)?, bind(drain::SOCKET)?);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for (index, server) in servers.into_iter().enumerate() {
            tasks.spawn(link::keep_all(Arc::clone(&services), index, server, stop.clone()));
        }
        let readiness = ready::Readiness {
            below: services.below.clone(),
            links: Arc::clone(&services.links),
            draining: Arc::clone(&services.draining),
        };
        tasks.spawn(ready::serve(ready, readiness, stop.clone()));
        let (draining, jobs) = (Arc::clone(&services.draining), Arc::clone(&services.jobs));
        tasks.spawn(drain::serve(drain, draining, jobs, stop.clone()));
        reconcile::spawn_all(&services, &stop, &mut tasks);
        tracing::info!(runner = %services.identity.id, epoch = %services.links.epoch(), "runner started");
        Ok(RunningRunner { services, tasks, stop: stop.drop_guard(), lock })
    }
}

impl RunningRunner {
    /// Reports whether a server is linked now.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.services.links.is_linked()
    }

    /// Stops the runner. It refuses new work and tells the servers. Running commands may continue for `drain.grace`,
    /// and are then ended as `CANCELLED{drain}`. Servers have `drain.handover` to fetch their output. Then the links
    /// close. Sessions, and output that no server fetched, stay for the next start. Returns the number of commands
    /// that were ended early. Must not be cancelled.
    pub async fn shut_down(self) -> usize {
        let Self { services, mut tasks, stop, lock } = self;
        let cut = drain::drain(&services).await;
        drop(stop);
        while tasks.join_next().await.is_some() {}
        services.tasks.wait().await;
        services.files.shut_down().await;
        let let_go = async {
            while Arc::strong_count(&services) > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // References that remain after the timeout end with the process.
        let _ = tokio::time::timeout(LET_GO, let_go).await;
        let dropped = spawn_blocking(move || drop(services)).await;
        if let Err(error) = dropped {
            tracing::warn!(%error, "components of the runner did not stop in order");
        }
        drop(lock);
        tracing::info!(cut, "runner stopped");
        cut
    }
}

/// Performs all steps of the start that use the disk or start a process. Blocks for some tens of milliseconds.
fn open(config: RunnerConfig, id: RunnerId) -> Result<(Arc<Services>, File), StartError> {
    let lock = take(&config.state_dir)?;
    let boot_id = fs::read_to_string(BOOT_ID).map_err(StartError::BootId)?;
    let limits = config.limits;
    let remembered = usize::try_from(limits.ids_remembered).unwrap_or(usize::MAX);
    let journal = Journal::open(&config.state_dir, boot_id.trim(), remembered)?;
    let isolation = UidIsolation::detect();
    let sandbox = |cause| StartError::Sandbox { cause };
    let mut launcher = Launcher::new(LauncherConfig {
        bwrap: config.bwrap.clone(),
        state: config.state_dir.join("launcher"),
        uid_isolation: isolation,
        cgroup: config.cgroup.for_launcher(),
    })
    .map_err(sandbox)?;
    let sessions = SessionTable::restore(
        &config.state_dir,
        isolation,
        UidRange::new(config.uids.first, config.uids.count),
        usize::try_from(limits.sessions).unwrap_or(usize::MAX),
        CopyLimits {
            bytes: limits.base_bytes,
            entries: limits.base_entries,
            baseline: BaselineLimits::of(&config.transfers),
        },
        config.workspace.for_sandbox(),
    )?;
    launcher.leave_mounts_of(sessions.disks().mount_root());
    let session = |id: &SessionId| sessions.get(id);
    let files = Files::open(&config.state_dir, config.transfers, &limits, session)?;
    let spools = Spools::open(&config.state_dir, limits.spool_total_bytes)?;
    let root = Profile::minimal();
    let report = launcher.report(&root, sessions.scratch(), sessions.free_ids());
    let report = report.with_disk(sessions.disks().check());
    let (capabilities, below) = (capabilities(&report), Below::of(&report, &config.floor.require));
    let shells = report.shells.into_iter().map(|shell| (shell.name.to_owned(), shell.version)).collect();
    let disk_space = DiskSpace::new(&config.state_dir, limits.disk_reserve_bytes);
    let tools = Tools {
        launcher,
        proxy: EgressProxy::new(config.egress.clone()).map_err(StartError::Proxy)?,
        spools: Arc::new(spools),
        start_timeout: limits.start_timeout,
        workspace: config.workspace,
        disk_space,
        max_memory_bytes: config.floor.max_memory_bytes,
        max_cpu_millis: config.floor.max_cpu_millis,
    };
    let secrets = Secrets::load(&config.secrets)?;
    let environ = Environ::capture(config.env.pass_exceptions.clone());
    let parts = Parts {
        config,
        secrets,
        environ,
        id,
        journal,
        sessions,
        files,
        tools,
        root,
        capabilities,
        shells,
        below,
    };
    Ok((Services::new(parts)?, lock))
}

/// Converts the results of the sandbox probe for the servers.
fn capabilities(report: &CapabilityReport) -> Vec<Capability> {
    for check in report.checks.iter().filter(|check| !check.is_enforced()) {
        tracing::warn!(
            layer = check.name,
            seen = check.seen,
            remedy = check.remedy,
            "not enforced on this host"
        );
    }
    let capability = |check: &Check| Capability {
        name: check.name.to_owned(),
        enforced: check.is_enforced(),
        detail: check.seen.clone(),
    };
    report.checks.iter().map(capability).collect()
}

/// Creates `state_dir` if necessary, and locks it for this process.
fn take(state_dir: &Path) -> Result<File, StartError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StartError::StateDir { path, source }
    };
    DirBuilder::new().recursive(true).mode(0o700).create(state_dir).map_err(failed(state_dir))?;
    let path = state_dir.join("lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(failed(&path))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(StartError::InUse(state_dir.to_owned())),
        Err(errno) => Err(failed(&path)(errno.into())),
    }
}
