//! The fixture: the services on a store in a temporary directory, and a runner that the test controls.

mod hooks;
mod runner;

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_domain::{
    BoundFile, CancelledBy, Cause, CommandSpec, EditPreview, EditedFile, ExecutionId, ExecutionState,
    FilePreview, FileState, Given, Grant, OutputState, RunnerId, SessionId,
};
use airlock_store::{
    OutputBy, Store,
    changes::Changes,
    record::{ExecutionRecord, SessionRecord},
    sqlite::SqliteStore,
    testing::{self, PATIENCE},
};
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

pub(super) use self::hooks::FakeHooks;
pub(super) use self::runner::{Auto, Runner, exited, hello};
use crate::{
    api::{ApiError, CreateSession, StartExecution},
    approval::FileLook,
    fleet::{Fleet, NoPeers, PeerClient},
    limits::ServiceLimits,
    links::Links,
    model::{Principal, Role},
    profiles::{BuiltInSettings, LiveProfiles, Profiles},
    services::{ServiceParts, Services},
    shared::{NoObserver, OutputKeeper, TraceHooks, micros, runner_unreachable},
};

/// Returns limits that never take effect unless the test changes them.
fn limits() -> ServiceLimits {
    const LONG: Duration = Duration::from_secs(3600);
    ServiceLimits {
        queue_wait: LONG,
        approval_valid: LONG,
        lease: LONG,
        heartbeat_timeout: LONG,
        lost_after: 3 * LONG,
        start_window: LONG,
        open_wait: LONG,
        close_wait: PATIENCE,
        drain_wait: PATIENCE,
        send_wait: PATIENCE,
        stop_wait: PATIENCE,
        ..ServiceLimits::default()
    }
}

/// A profile in addition to the built-in ones.
const OWN_PROFILE: &str = "name = \"own\"\nextends = \"demo\"\n[approvals]\nself_approval = true\n";
/// A profile that asks about most commands and lets answers be remembered for the tenant.
const CAREFUL_PROFILE: &str = "name = \"careful\"\nextends = \"strict\"\n[policy]\nask = [\"Bash(kubectl:*)\"]\n\
     deny = [\"Bash(git push:*)\"]\n[approvals]\nremember = \"tenant\"\nself_approval = true\n";
/// A profile that lets no answer be remembered.
const FORGETFUL_PROFILE: &str =
    "name = \"forgetful\"\nextends = \"strict\"\n[approvals]\nremember = \"none\"\n";

/// A profile that permits neither background commands nor sleeping in the foreground.
const QUIET_PROFILE: &str =
    "name = \"quiet\"\nextends = \"demo\"\n[commands]\nbackground = false\nforeground_sleep = \"refuse\"\n";

/// A profile that denies or asks by directory.
const ROOMS_PROFILE: &str = "name = \"rooms\"\nextends = \"demo\"\n[policy]\ndeny = [\"Edit(secrets/**)\"]\nask = [\"Edit(lab/**)\"]\n";

/// Records the calls that it gets.
#[derive(Default)]
pub(super) struct Keeper {
    pub(super) ended: Mutex<Vec<ExecutionId>>,
}

#[async_trait::async_trait]
impl OutputKeeper for Keeper {
    async fn ended(&self, record: &ExecutionRecord) {
        self.ended.lock().unwrap().push(record.id);
    }
}

/// Reports the same configured state for every file.
#[derive(Default)]
pub(super) struct Looker(pub(super) Mutex<Option<FileState>>);

#[async_trait::async_trait]
impl FileLook for Looker {
    async fn look(
        &self,
        _: &str,
        runner: &RunnerId,
        _: SessionId,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<BoundFile>, ApiError> {
        let state = self.0.lock().unwrap().ok_or_else(|| runner_unreachable(runner))?;
        Ok(paths.into_iter().map(|path| BoundFile { path, state }).collect())
    }

    async fn preview(&self, _: &str, runner: &RunnerId, grant: Grant) -> Result<EditPreview, ApiError> {
        let state = self.0.lock().unwrap().ok_or_else(|| runner_unreachable(runner))?;
        let before = state.digest().copied().unwrap_or_default();
        let edit = grant.decided.edit.unwrap();
        let file = |file: &EditedFile| FilePreview {
            path: file.path.clone(),
            before,
            after: before.map(|byte| byte + 100),
            before_bytes: 1,
            after_bytes: 1,
            mode: 0o644,
            is_binary: false,
            replaces_link: false,
            diff: b"-a\n+b\n".to_vec(),
            is_truncated: false,
            backup: (!file.backup.is_empty())
                .then(|| BoundFile { path: file.backup.clone(), state: FileState::Absent }),
        };
        Ok(EditPreview { files: edit.files.iter().map(file).collect() })
    }
}

pub(super) struct World {
    pub(super) services: Services,
    pub(super) store: Arc<dyn Store>,
    pub(super) keeper: Arc<Keeper>,
    pub(super) looker: Arc<Looker>,
    pub(super) hooks: Arc<FakeHooks>,
    /// The sessions of the runner `r`.
    pub(super) held: Arc<Mutex<Vec<SessionId>>>,
    limits: ServiceLimits,
    folder: TempDir,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// Creates the fixture with changed limits.
    pub(super) async fn with(change: impl FnOnce(&mut ServiceLimits)) -> Self {
        Self::with_peers(change, Arc::new(NoPeers)).await
    }

    /// Creates the fixture with changed limits and with other servers.
    pub(super) async fn with_peers(
        change: impl FnOnce(&mut ServiceLimits),
        peers: Arc<dyn PeerClient>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("profiles")).unwrap();
        for (name, text) in [
            ("own", OWN_PROFILE),
            ("quiet", QUIET_PROFILE),
            ("rooms", ROOMS_PROFILE),
            ("careful", CAREFUL_PROFILE),
            ("forgetful", FORGETFUL_PROFILE),
        ] {
            std::fs::write(folder.path().join(format!("profiles/{name}.toml")), text).unwrap();
        }
        let store: Arc<dyn Store> =
            SqliteStore::open(&folder.path().join("store.db"), testing::sqlite()).await.unwrap();
        let mut limits = limits();
        change(&mut limits);
        let keeper = Arc::new(Keeper::default());
        let looker = Arc::new(Looker::default());
        let hooks = Arc::new(FakeHooks::default());
        let doubles = (&keeper, &looker, &hooks);
        let starting = start(&folder, &store, doubles, &limits, "server-1", peers);
        let services = Box::pin(starting).await;
        Self { services, store, keeper, looker, hooks, held: Arc::default(), limits, folder }
    }

    /// Replaces a profile.
    pub(super) fn put_profile(&self, name: &str, text: &str) {
        let folder = self.folder.path().join("profiles");
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        self.services.decisions.profiles.replace(profiles(&folder));
    }

    /// Kills the server. It hands over no lease and stops its tasks.
    pub(super) async fn kill(&self) {
        self.services.lifecycle.stop();
        self.services.lifecycle.wait().await;
        self.services.links.close();
    }

    /// Kills the server and starts another on the same store.
    pub(super) async fn restart(&mut self) {
        self.kill().await;
        self.services = self.another("server-1").await;
    }

    /// Advances the timers of the store and of this server by `time` without waiting, and triggers a
    /// reconciliation. Links do not age.
    pub(super) async fn pass(&self, time: Duration) {
        let file = SqliteConnectOptions::new().filename(self.folder.path().join("store.db"));
        let mut store = file.busy_timeout(PATIENCE).connect().await.unwrap();
        for sql in [
            "UPDATE executions SET created = created - $1, queued = queued - $1, started = started - $1, \
             ended = ended - $1, lease_until = lease_until - $1",
            "UPDATE sessions SET created = created - $1, last_used = last_used - $1",
            "UPDATE approvals SET created = created - $1, expires = expires - $1",
            "UPDATE runners SET last_seen = last_seen - $1",
            "UPDATE servers SET lease_until = lease_until - $1",
            "UPDATE hook_deliveries SET created = created - $1, due = due - $1",
            "UPDATE hook_questions SET until = until - $1",
        ] {
            sqlx::query(sql).bind(micros(time)).execute(&mut store).await.unwrap();
        }
        store.close().await.unwrap();
        self.services.reconciler.transient.pass(time);
        self.services.reconciler.presence.pass(time);
        self.services.reconciler.hints.reconcile_now();
    }

    /// Starts a second server on the same store.
    pub(super) async fn another(&self, name: &str) -> Services {
        self.another_with(name, Arc::new(NoPeers)).await
    }

    /// Starts a second server on the same store, with other servers.
    pub(super) async fn another_with(&self, name: &str, peers: Arc<dyn PeerClient>) -> Services {
        let doubles = (&self.keeper, &self.looker, &self.hooks);
        Box::pin(start(&self.folder, &self.store, doubles, &self.limits, name, peers)).await
    }

    pub(super) async fn session(&self, runner: &mut Runner) -> SessionRecord {
        let opened = self.services.sessions.create(who("ann"), CreateSession::default());
        let (session, ()) = tokio::join!(opened, runner.open_session());
        session.unwrap()
    }

    /// Starts a command in the session as `ann`.
    pub(super) async fn start(&self, session: &SessionRecord, command: &str) -> ExecutionRecord {
        self.services.executions.start(who("ann"), run(session.id, command)).await.unwrap()
    }

    pub(super) async fn get(&self, id: ExecutionId) -> ExecutionRecord {
        self.store.execution(id).await.unwrap().unwrap()
    }

    /// Waits until the execution is in this state, and returns it.
    pub(super) async fn until(&self, id: ExecutionId, state: ExecutionState) -> ExecutionRecord {
        self.until_true(id, |record| record.state == state).await
    }

    pub(super) async fn until_true(
        &self,
        id: ExecutionId,
        done: impl Fn(&ExecutionRecord) -> bool,
    ) -> ExecutionRecord {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let record = self.get(id).await;
            if done(&record) {
                return record;
            }
            assert!(tokio::time::Instant::now() < deadline, "still {record:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the session satisfies `done`.
    pub(super) async fn until_session(&self, id: SessionId, done: impl Fn(&SessionRecord) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !done(&self.store.session(id).await.unwrap().unwrap()) {
            assert!(tokio::time::Instant::now() < deadline, "the session does not have this state");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) async fn finished(&self, id: ExecutionId) -> ExecutionRecord {
        self.until(id, ExecutionState::Finished).await
    }

    pub(super) async fn cause(&self, id: ExecutionId) -> Cause {
        self.finished(id).await.result.unwrap().cause
    }

    pub(super) async fn cancel(&self, id: ExecutionId) -> ExecutionRecord {
        self.services.executions.cancel(who("ann"), id, CancelledBy::Client).await.unwrap()
    }

    /// Marks the output as stored, as the streams do.
    pub(super) async fn store_output(&self, id: ExecutionId) {
        let by = OutputBy::Keeper("server-1");
        assert!(self.store.set_output(id, OutputState::Stored, by).await.unwrap());
    }
}

fn profiles(folder: &Path) -> Profiles {
    let hooks = hooks::NAMES.map(str::to_owned).to_vec();
    let settings = BuiltInSettings { hooks, ..BuiltInSettings::default() };
    Profiles::load_with(&settings, Some(folder)).unwrap()
}

async fn start(
    folder: &TempDir,
    store: &Arc<dyn Store>,
    (keeper, looker, hooks): (&Arc<Keeper>, &Arc<Looker>, &Arc<FakeHooks>),
    limits: &ServiceLimits,
    name: &str,
    peers: Arc<dyn PeerClient>,
) -> Services {
    let links = Links::new(name, limits.clone());
    Services::start_up(ServiceParts {
        store: store.clone(),
        profiles: LiveProfiles::new(profiles(&folder.path().join("profiles"))),
        fleet: Fleet::new(name, links.clone(), peers),
        links,
        output: keeper.clone(),
        files: looker.clone(),
        changes: Changes::default(),
        server_id: name.to_owned(),
        advertise: Some(name.to_owned()),
        limits: limits.clone(),
        encode_decision: |_, profile, _| profile.as_bytes().to_vec(),
        hooks: hooks.clone(),
        trace: TraceHooks { current: || "00-trace".to_owned(), ..TraceHooks::default() },
        observer: Arc::new(NoObserver),
    })
    .await
    .unwrap()
}

/// Returns a principal of tenant `t` with the default profile `demo`. It denies `git push`, asks about `make`, and
/// allows other commands.
pub(super) fn who(name: &str) -> &'static Principal {
    Box::leak(Box::new(principal(name, "t")))
}

/// Returns a principal of another tenant.
pub(super) fn stranger() -> &'static Principal {
    Box::leak(Box::new(principal("eve", "other")))
}

fn principal(name: &str, tenant: &str) -> Principal {
    Principal {
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        roles: vec![Role::Executor, Role::Approver],
        profiles: ["demo", "own", "strict", "quiet", "rooms", "careful", "forgetful"]
            .map(str::to_owned)
            .to_vec(),
        peer: "test".to_owned(),
    }
}

pub(super) fn run(session: SessionId, command: &str) -> StartExecution {
    StartExecution { session_id: Some(session), ..alone(command) }
}

/// Returns a request without a session.
pub(super) fn alone(command: &str) -> StartExecution {
    let command = CommandSpec { text: command.as_bytes().to_vec(), ..CommandSpec::default() };
    StartExecution { command, ..StartExecution::default() }
}

/// Sets the timeouts of a request.
pub(super) fn within(
    timeout: Duration,
    idle_timeout: Option<Duration>,
    request: StartExecution,
) -> StartExecution {
    StartExecution {
        command: CommandSpec { timeout, idle_timeout, ..request.command },
        given: Given { timeout: true, ..request.given },
        ..request
    }
}

/// Returns a request that waits for an approval if needed.
pub(super) fn patient(session: SessionId, command: &str) -> StartExecution {
    StartExecution { wait_for_approval: true, ..run(session, command) }
}

/// Returns the execution of a denied request.
pub(super) fn denied(error: ApiError) -> (ExecutionRecord, bool) {
    match error {
        ApiError::Denied { execution, approval_required } => (*execution, approval_required),
        other => panic!("not denied: {other:?}"),
    }
}
