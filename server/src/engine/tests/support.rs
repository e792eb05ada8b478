//! A server's engine on a store in a temporary folder, and a runner that says what it is told to say.

mod runner;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_proto::domain::{
    BoundFile, CancelledBy, Cause, ExecutionId, ExecutionState, FileState, OutputState, RunnerId, SessionId,
};
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

pub(super) use self::runner::{Auto, Runner, exited, hello};
use crate::{
    api::{ApiError, CreateSession, StartExecution},
    approval::FileLook,
    changes::Changes,
    engine::{Engine, EngineParts, NoObserver, TraceHooks, micros},
    fleet::Fleet,
    limits::EngineLimits,
    links::Links,
    model::{ExecutionRecord, Principal, Role, SessionRecord},
    peer_door::{NoPeers, PeerDoor},
    profiles::{LiveProfiles, Profiles},
    store::{OutputBy, Store, sqlite::SqliteStore},
    stream_door::OutputKeeper,
    testing::{self, PATIENCE},
};

/// No limit of a test ends anything by itself, unless the test sets it.
fn limits() -> EngineLimits {
    const LONG: Duration = Duration::from_secs(3600);
    EngineLimits {
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
        ..EngineLimits::default()
    }
}

/// Beside the built-in profiles.
const OWN_PROFILE: &str = "name = \"own\"\nextends = \"demo\"\n[approvals]\nself_approval = true\n";
/// Asks about most, and lets answers be remembered for the tenant.
const CAREFUL_PROFILE: &str = "name = \"careful\"\nextends = \"strict\"\n[policy]\nask = [\"Bash(kubectl:*)\"]\n\
     deny = [\"Bash(git push:*)\"]\n[approvals]\nremember = \"tenant\"\nself_approval = true\n";
/// Lets nothing be remembered.
const FORGETFUL_PROFILE: &str =
    "name = \"forgetful\"\nextends = \"strict\"\n[approvals]\nremember = \"none\"\n";

/// Lets nothing run in the background, and nobody sleep in front of others.
const QUIET_PROFILE: &str =
    "name = \"quiet\"\nextends = \"demo\"\n[commands]\nbackground = false\nforeground_sleep = \"refuse\"\n";

/// Denies and asks by where something is.
const ROOMS_PROFILE: &str = "name = \"rooms\"\nextends = \"demo\"\n[policy]\ndeny = [\"Edit(secrets/**)\"]\nask = [\"Edit(lab/**)\"]\n";

/// Notes what it is told.
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

/// Says of every file what it is told to say.
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
        let state = self.0.lock().unwrap().ok_or_else(|| crate::engine::runner_unreachable(runner))?;
        Ok(paths.into_iter().map(|path| BoundFile { path, state }).collect())
    }
}

pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) store: Arc<dyn Store>,
    pub(super) keeper: Arc<Keeper>,
    pub(super) looker: Arc<Looker>,
    /// The sessions that the runner `r` has.
    pub(super) held: Arc<Mutex<Vec<SessionId>>>,
    limits: EngineLimits,
    folder: TempDir,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// With limits changed.
    pub(super) async fn with(change: impl FnOnce(&mut EngineLimits)) -> Self {
        Self::with_peers(change, Arc::new(NoPeers)).await
    }

    /// With limits changed, and with other servers.
    pub(super) async fn with_peers(change: impl FnOnce(&mut EngineLimits), peers: Arc<dyn PeerDoor>) -> Self {
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
        let engine = start(&folder, &store, (&keeper, &looker), &limits, "server-1", peers).await;
        Self { engine, store, keeper, looker, held: Arc::default(), limits, folder }
    }

    /// Puts another version of a profile into force.
    pub(super) fn put_profile(&self, name: &str, text: &str) {
        let folder = self.folder.path().join("profiles");
        std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
        self.engine.core.parts.profiles.replace(Profiles::load(Some(&folder)).unwrap());
    }

    /// Kills the server: nothing is handed over, and nothing goes on.
    pub(super) async fn kill(&self) {
        let core = &self.engine.core;
        core.stop.cancel();
        core.tasks.close();
        core.tasks.wait().await;
        self.engine.links().close();
    }

    /// Kills the server, and starts another on the same store.
    pub(super) async fn restart(&mut self) {
        self.kill().await;
        self.engine = start(
            &self.folder,
            &self.store,
            (&self.keeper, &self.looker),
            &self.limits,
            "server-1",
            Arc::new(NoPeers),
        )
        .await;
    }

    /// Lets time pass for all that the store and this server's engine measure, without waiting for it, and has the
    /// engine look. Links do not age.
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
        ] {
            sqlx::query(sql).bind(micros(time)).execute(&mut store).await.unwrap();
        }
        store.close().await.unwrap();
        self.engine.core.pass(time);
        self.engine.core.poll_now.notify_one();
    }

    /// A second server on the same store.
    pub(super) async fn another(&self, name: &str) -> Engine {
        self.another_with(name, Arc::new(NoPeers)).await
    }

    /// Likewise, with other servers.
    pub(super) async fn another_with(&self, name: &str, peers: Arc<dyn PeerDoor>) -> Engine {
        start(&self.folder, &self.store, (&self.keeper, &self.looker), &self.limits, name, peers).await
    }

    pub(super) async fn session(&self, runner: &mut Runner) -> SessionRecord {
        let opened = self.engine.create_session(who("ann"), CreateSession::default());
        let (session, ()) = tokio::join!(opened, runner.open_session());
        session.unwrap()
    }

    /// Starts a command of the session as `ann`.
    pub(super) async fn start(&self, session: &SessionRecord, command: &str) -> ExecutionRecord {
        self.engine.start(who("ann"), run(session.id, command)).await.unwrap()
    }

    pub(super) async fn get(&self, id: ExecutionId) -> ExecutionRecord {
        self.store.execution(id).await.unwrap().unwrap()
    }

    /// The execution, once it is in this state.
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

    /// Waits until this holds of the session.
    pub(super) async fn until_session(&self, id: SessionId, done: impl Fn(&SessionRecord) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !done(&self.store.session(id).await.unwrap().unwrap()) {
            assert!(tokio::time::Instant::now() < deadline, "the session is not so");
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
        self.engine.cancel(who("ann"), id, CancelledBy::Client).await.unwrap()
    }

    /// As the streams do when they have the output.
    pub(super) async fn store_output(&self, id: ExecutionId) {
        let by = OutputBy::Keeper("server-1");
        assert!(self.store.set_output(id, OutputState::Stored, by).await.unwrap());
    }
}

async fn start(
    folder: &TempDir,
    store: &Arc<dyn Store>,
    (keeper, looker): (&Arc<Keeper>, &Arc<Looker>),
    limits: &EngineLimits,
    name: &str,
    peers: Arc<dyn PeerDoor>,
) -> Engine {
    let links = Links::new(name, limits.clone());
    Engine::start_up(EngineParts {
        store: store.clone(),
        profiles: LiveProfiles::new(Profiles::load(Some(&folder.path().join("profiles"))).unwrap()),
        fleet: Fleet::new(name, links.clone(), peers),
        links,
        output: keeper.clone(),
        files: looker.clone(),
        changes: Changes::default(),
        server_id: name.to_owned(),
        advertise: Some(name.to_owned()),
        limits: limits.clone(),
        encode_decision: |_, profile| profile.as_bytes().to_vec(),
        trace: TraceHooks { current: || "00-trace".to_owned(), ..TraceHooks::default() },
        observer: Arc::new(NoObserver),
    })
    .await
    .unwrap()
}

/// A principal of tenant `t` whose default profile is `demo`: it denies `git push`, asks about `make`,
/// and runs the rest.
pub(super) fn who(name: &str) -> &'static Principal {
    Box::leak(Box::new(principal(name, "t")))
}

/// Of another tenant.
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

/// Without a session.
pub(super) fn alone(command: &str) -> StartExecution {
    StartExecution { command: command.as_bytes().to_vec(), ..StartExecution::default() }
}

/// That waits for a person where it must.
pub(super) fn patient(session: SessionId, command: &str) -> StartExecution {
    StartExecution { wait_for_approval: true, ..run(session, command) }
}

/// The execution of a request that was denied.
pub(super) fn denied(error: ApiError) -> (ExecutionRecord, bool) {
    match error {
        ApiError::Denied { execution, approval_required } => (*execution, approval_required),
        other => panic!("not denied: {other:?}"),
    }
}
