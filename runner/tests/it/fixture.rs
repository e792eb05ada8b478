//! A runner, a server that the test implements, and helper functions.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use airlock_domain::{
    Cause, CommandSpec, ConnectionQuestions, Decided, Epoch, ExchangeFromRunner, ExchangeOrder,
    ExchangeToRunner, ExecutionId, ExecutionResult, FromRunner, Grant, Inspection, JobPhase, JobReport,
    NetworkMode, OutputStream, PathRules, Protect, PushFromRunner, PushToRunner, SandboxLimits,
    SandboxProfile, SessionId, SessionPhase, SessionSnapshot, Sockets, StartJob, ToRunner,
};
use airlock_runner::{
    Runner, RunnerConfig, RunningRunner,
    config::{ServerConfig, UidConfig},
};

use crate::fake::{Exchange, FakeServer, Link, Manners, Output};

/// The timeout of each wait. Only a failing test reaches it, even on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The wall time of a command that should exit without a kill.
const WALL: Duration = Duration::from_secs(240);

/// A script that uses a little more disk space repeatedly. Space used before the first count of its session counts as
/// existing, and on a busy host that count may be late.
pub(crate) const GROWS: &str = "n=0; while sleep 0.05; do head -c 64K /dev/zero > grown-$((n++)); done";

/// The first host uid of these tests. The last one is below 1,800,000,000, because Linux has at most 2^22 pids. No
/// tests of another crate use uids in this range.
const FIRST_UID: u32 = 725_000_000;
/// The number of host uids per test process.
const UIDS: u32 = 256;

/// A runner with one server.
pub(crate) struct Fixture {
    pub(crate) server: FakeServer,
    pub(crate) link: Link,
    pub(crate) runner: Option<RunningRunner>,
    pub(crate) config: RunnerConfig,
    _swept: Swept,
    _dir: airlock_mounts::ScratchDir,
    /// Reports that no wait has consumed yet.
    backlog: Vec<FromRunner>,
}

/// Returns a range of uids for one test. Tests run in concurrent processes.
pub(crate) fn uids() -> UidConfig {
    UidConfig { first: FIRST_UID + std::process::id() * UIDS, count: UIDS }
}

pub(crate) fn config(dir: &Path, server: &FakeServer) -> RunnerConfig {
    let endpoint = format!("http://{}", server.address);
    let server = ServerConfig { endpoint, insecure_loopback: true, ..ServerConfig::default() };
    let mut config = RunnerConfig::new("runner-under-test", dir.join("state"), server);
    config.uids = uids();
    config.limits.disk_reserve_bytes = 0;
    config.limits.start_timeout = PATIENCE;
    config.limits.stdin_turn = PATIENCE;
    config.limits.dial_timeout = PATIENCE;
    config.drain.grace = Duration::from_millis(200);
    config.drain.handover = Duration::from_millis(100);
    config.reconnect.refused = Duration::from_millis(300);
    config
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(Manners::default(), |_| {}).await
    }

    pub(crate) async fn with(manners: Manners, change: impl FnOnce(&mut RunnerConfig)) -> Self {
        let dir = airlock_mounts::ScratchDir::new();
        let mut server = FakeServer::start(manners).await;
        let mut config = config(dir.path(), &server);
        change(&mut config);
        let runner = Runner::start(config.clone()).await.unwrap();
        let link = server.link().await;
        let _swept = Swept(config.state_dir.clone());
        Self { server, link, runner: Some(runner), config, _swept, _dir: dir, backlog: Vec::new() }
    }

    /// Builds a fixture from a runner that was started elsewhere.
    pub(crate) async fn around(
        mut server: FakeServer,
        config: RunnerConfig,
        dir: airlock_mounts::ScratchDir,
    ) -> Self {
        let link = server.link().await;
        let _swept = Swept(config.state_dir.clone());
        Self { server, link, runner: None, config, _swept, _dir: dir, backlog: Vec::new() }
    }

    pub(crate) async fn shut_down(&mut self) -> usize {
        self.runner.take().unwrap().shut_down().await
    }

    /// Waits for the next link after the last one was lost.
    pub(crate) async fn next_link(&mut self) {
        self.link = self.server.link().await;
        self.backlog.clear();
    }

    /// Returns the first matching report among the unread ones. Keeps the others.
    pub(crate) async fn report<T>(&mut self, fits: impl Fn(&FromRunner) -> Option<T>) -> T {
        self.report_within(PATIENCE, fits).await
    }

    /// As `report`, with a longer timeout.
    pub(crate) async fn report_within<T>(
        &mut self,
        patience: Duration,
        fits: impl Fn(&FromRunner) -> Option<T>,
    ) -> T {
        let at = self.backlog.iter().position(|message| fits(message).is_some());
        if let Some(found) = at.and_then(|at| fits(&self.backlog.remove(at))) {
            return found;
        }
        let wait = async {
            loop {
                let message = self.link.from.recv().await.unwrap();
                if let Some(found) = fits(&message) {
                    return found;
                }
                if !matches!(message, FromRunner::Heartbeat { .. }) {
                    self.backlog.push(message);
                }
            }
        };
        tokio::time::timeout(patience, wait).await.unwrap()
    }

    pub(crate) async fn job(&mut self, id: ExecutionId, phase: JobPhase) -> JobReport {
        self.report(|message| match message {
            FromRunner::Job(job) if job.execution_id == id && job.phase == phase => Some(job.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn session(&mut self, id: SessionId) -> SessionPhase {
        self.report(|message| match message {
            FromRunner::Session(session) if session.session_id == id => Some(session.phase.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn reconciled(&mut self) {
        self.report(|message| matches!(message, FromRunner::Reconciled).then_some(())).await;
    }

    pub(crate) async fn open(&mut self, base: &str) -> SessionId {
        let session_id = SessionId::new();
        self.link.send(ToRunner::OpenSession { session_id, base: base.to_owned(), profile: None }).await;
        match self.session(session_id).await {
            SessionPhase::Open { .. } => session_id,
            other => panic!("{other:?}"),
        }
    }

    /// Opens a session with a snapshot from this script.
    pub(crate) async fn open_with_init(&mut self, shell_init: &str) -> (SessionId, SessionSnapshot) {
        let session_id = SessionId::new();
        let shell_init = shell_init.to_owned();
        let profile = SandboxProfile { shell_init, ..grant(session_id, "").profile };
        let profile = Some(Box::new(profile));
        self.link.send(ToRunner::OpenSession { session_id, base: String::new(), profile }).await;
        match self.session(session_id).await {
            SessionPhase::Open { snapshot, .. } => (session_id, snapshot),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn close(&mut self, session_id: SessionId) {
        self.link.send(ToRunner::CloseSession { session_id }).await;
        assert_eq!(self.session(session_id).await, SessionPhase::Closed);
    }

    /// Offers a grant to the epoch of the link.
    pub(crate) async fn offer(&self, grant: Grant) -> ExecutionId {
        let offer = offer(self.link.hello.epoch, grant);
        let id = offer.execution_id;
        self.link.send(ToRunner::StartJob(Box::new(offer))).await;
        id
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&mut self, grant: Grant) -> (ExecutionId, ExecutionResult) {
        let id = self.offer(grant).await;
        self.job(id, JobPhase::Accepted).await;
        let ended = self.job(id, JobPhase::Ended).await;
        (id, ended.result.unwrap())
    }

    /// Returns the reason for which a grant is refused.
    pub(crate) async fn refusal(&mut self, grant: Grant) -> String {
        let id = self.offer(grant).await;
        reason(&self.job(id, JobPhase::Refused).await)
    }

    /// Opens an output stream of a job.
    pub(crate) async fn output(&mut self, execution_id: ExecutionId) -> Output {
        let ticket = format!("ticket-{execution_id}");
        self.link.send(ToRunner::OpenOutput { execution_id, ticket: ticket.clone() }).await;
        let output = tokio::time::timeout(PATIENCE, self.server.outputs.recv()).await.unwrap().unwrap();
        match &output.hello {
            PushFromRunner::Hello { execution_id: id, ticket: told, .. } => {
                assert_eq!((*id, told), (execution_id, &ticket));
            }
            other => panic!("{other:?}"),
        }
        output
    }

    /// Opens an exchange without an order.
    pub(crate) async fn exchange(&mut self) -> Exchange {
        let ticket = format!("ticket-{}", ExecutionId::new());
        self.link.send(ToRunner::OpenExchange { ticket: ticket.clone() }).await;
        let exchange = tokio::time::timeout(PATIENCE, self.server.exchanges.recv()).await.unwrap().unwrap();
        match &exchange.hello {
            ExchangeFromRunner::Hello { ticket: told, .. } => assert_eq!(told, &ticket),
            other => panic!("{other:?}"),
        }
        exchange
    }

    /// Opens an exchange and sends its order.
    pub(crate) async fn order(&mut self, order: ExchangeOrder) -> Exchange {
        let exchange = self.exchange().await;
        exchange.send(ExchangeToRunner::Order(order)).await;
        exchange
    }

    /// Returns the whole output, including future output.
    pub(crate) async fn text(&mut self, id: ExecutionId, stream: OutputStream) -> String {
        let mut output = self.output(id).await;
        let max_bytes = u64::MAX;
        output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: true }).await;
        let mut bytes = Vec::new();
        loop {
            match output.next().await {
                PushFromRunner::Chunk { data, offset, .. } => {
                    assert_eq!(offset, bytes.len() as u64);
                    bytes.extend_from_slice(&data);
                }
                PushFromRunner::Done { end: true, .. } => return String::from_utf8(bytes).unwrap(),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Waits until a running job has written exactly this text.
    pub(crate) async fn shown(&mut self, id: ExecutionId, wanted: &str) {
        let mut output = self.output(id).await;
        let (stream, max_bytes) = (OutputStream::Stdout, wanted.len() as u64);
        output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: true }).await;
        let mut bytes = Vec::new();
        while bytes.len() < wanted.len() {
            match output.next().await {
                PushFromRunner::Chunk { data, .. } => bytes.extend_from_slice(&data),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
    }

    /// Runs a command and returns its output.
    pub(crate) async fn said(&mut self, grant: Grant) -> String {
        let (id, result) = self.run(grant).await;
        assert_eq!(result.cause, Cause::Exited { code: 0 });
        self.text(id, OutputStream::Stdout).await
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.config.state_dir.join(name)
    }

    /// Returns the bytes that the runner stores of a job.
    pub(crate) fn spooled(&self, id: ExecutionId) -> u64 {
        let files = fs::read_dir(self.state("spool").join(id.to_string())).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }

    /// Creates a file that a command waits for, in the workspace of the only session.
    pub(crate) fn let_go(&self, name: &str) {
        let mut sessions = fs::read_dir(self.state("sessions")).unwrap().map(|entry| entry.unwrap().path());
        let session = sessions.next().unwrap();
        assert!(sessions.next().is_none(), "one session");
        fs::write(session.join("disk/workspace").join(name), "").unwrap();
    }
}

/// Waits until `done` returns true. Fails after [`PATIENCE`].
pub(crate) async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

impl Output {
    pub(crate) async fn read(&self, read: PushToRunner) {
        self.to.send(Ok(read.into())).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> PushFromRunner {
        tokio::time::timeout(PATIENCE, self.from.recv()).await.unwrap().unwrap()
    }
}

pub(crate) fn grant(session_id: SessionId, command: &str) -> Grant {
    Grant {
        session_id,
        command: CommandSpec {
            text: command.as_bytes().to_vec(),
            directory: b"/workspace".to_vec(),
            timeout: WALL,
            inline_limit: 30_000,
            ..CommandSpec::default()
        },
        profile: SandboxProfile {
            rootfs: None,
            paths: PathRules::default(),
            protect: Protect::default(),
            sockets: Sockets::default(),
            pass_env: Vec::new(),
            secrets: Vec::new(),
            shell_init: String::new(),
            shell_prefix: Vec::new(),
            inspection: Inspection::default(),
            name: "test".to_owned(),
            root_binds: Vec::new(),
            network: NetworkMode::Loopback,
            env: BTreeMap::new(),
            path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
            allowed_env: Vec::new(),
            limits: SandboxLimits { grace: Duration::from_millis(500), ..SandboxLimits::default() },
        },
        read_only: false,
        requires: Vec::new(),
        keep_directory: false,
        unsandboxed: false,
        snapshot_digest: Vec::new(),
        decided: Decided::default(),
        egress: Vec::new(),
        questions: ConnectionQuestions::default(),
    }
}

pub(crate) fn offer(epoch: Epoch, grant: Grant) -> StartJob {
    let binding = grant.binding();
    StartJob {
        execution_id: ExecutionId::new(),
        attempt: 1,
        epoch,
        not_after_clock_ms: u64::MAX,
        grant,
        binding,
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
    }
}

pub(crate) fn reason(report: &JobReport) -> String {
    match report.result.clone().unwrap().cause {
        Cause::Refused { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// Removes the cgroup that a killed or dropped runner with this state directory left.
pub(crate) struct Swept(PathBuf);

impl Drop for Swept {
    fn drop(&mut self) {
        if let Err(error) = airlock_sandbox::sweep_cgroups(&self.0.join("launcher")) {
            eprintln!("a cgroup is left behind: {error}");
        }
    }
}
