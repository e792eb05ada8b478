//! A fake server that sends arbitrary messages to a real runner, with the address and certificate of an honest one.

use std::{net::SocketAddr, time::Duration};

use airlock_domain::{
    CommandSpec, ConnectionQuestions, Decided, Epoch, ExecutionId, Grant, Inspection, NetworkMode, PathRules,
    Protect, SandboxLimits, SandboxProfile, SessionId, Sockets, StartJob,
};
use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{
        self as wire, ConnectRequest, ConnectResponse, ExchangeRequest, ExchangeResponse, PushOutputRequest,
        PushOutputResponse,
        connect_request::Message as Up,
        connect_response::Message as Down,
        runner_link_server::{RunnerLink, RunnerLinkServer},
    },
};
use airlock_tests::{
    pki::Pair,
    process::{Process, until},
    site::{PATIENCE, Site},
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Certificate, Identity, Server, ServerTlsConfig, server::TcpIncoming},
};

const QUEUE: usize = 256;
/// The heartbeat interval for the runner. The runner drops a link after three silent intervals, which a busy host never
/// reaches.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// The interval at which a link sends a message.
const BEAT: Duration = Duration::from_secs(5);

type Outgoing<T> = mpsc::Sender<Result<T, Status>>;

/// The service, which passes every stream to the test.
struct Service {
    links: mpsc::Sender<(Streaming<ConnectRequest>, Outgoing<ConnectResponse>)>,
    pushes: mpsc::Sender<Push>,
}

#[tonic::async_trait]
impl RunnerLink for Service {
    type ConnectStream = ReceiverStream<Result<ConnectResponse, Status>>;
    type PushOutputStream = ReceiverStream<Result<PushOutputResponse, Status>>;
    type ExchangeStream = ReceiverStream<Result<ExchangeResponse, Status>>;

    async fn connect(
        &self,
        request: Request<Streaming<ConnectRequest>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        drop(self.links.send((request.into_inner(), outgoing)).await);
        Ok(Response::new(ReceiverStream::new(queue)))
    }

    async fn exchange(
        &self,
        _: Request<Streaming<ExchangeRequest>>,
    ) -> Result<Response<Self::ExchangeStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn push_output(
        &self,
        request: Request<Streaming<PushOutputRequest>>,
    ) -> Result<Response<Self::PushOutputStream>, Status> {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        drop(self.pushes.send(Push { incoming: request.into_inner(), outgoing }).await);
        Ok(Response::new(ReceiverStream::new(queue)))
    }
}

/// A lying server.
pub(crate) struct FakeServer {
    links: mpsc::Receiver<(Streaming<ConnectRequest>, Outgoing<ConnectResponse>)>,
    pushes: mpsc::Receiver<Push>,
    task: JoinHandle<()>,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The runner's side of an output stream.
pub(crate) struct Push {
    pub(crate) incoming: Streaming<PushOutputRequest>,
    pub(crate) outgoing: Outgoing<PushOutputResponse>,
}

impl Push {
    pub(crate) async fn next(&mut self) -> Result<Option<wire::push_output_request::Message>, Status> {
        let next = timeout(PATIENCE, self.incoming.message()).await.unwrap();
        Ok(next?.map(|message| message.message.unwrap()))
    }

    pub(crate) async fn read(&self, read: wire::Read) {
        let message = wire::push_output_response::Message::Read(read);
        drop(self.outgoing.send(Ok(PushOutputResponse { message: Some(message) })).await);
    }
}

/// Returns the site's own certificate for its server.
pub(crate) fn server_pair(site: &Site) -> Pair {
    let pki = site.path().join("pki");
    Pair { certificate: pki.join("server.pem"), key: pki.join("server.key") }
}

impl FakeServer {
    /// Listens at `address` with this certificate, and requires client certificates of the site's CA.
    pub(crate) fn listen(site: &Site, address: SocketAddr, pair: &Pair) -> Self {
        let read = |path: &std::path::Path| std::fs::read(path).unwrap();
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(read(&pair.certificate), read(&pair.key)))
            .client_ca_root(Certificate::from_pem(read(&site.pki.ca())));
        let (links, links_out) = mpsc::channel(QUEUE);
        let (pushes, pushes_out) = mpsc::channel(QUEUE);
        // The previous server may not have released the address yet.
        let mut incoming = None;
        until("the address is free", PATIENCE, || {
            incoming = TcpIncoming::bind(address).ok();
            incoming.is_some()
        });
        let incoming = incoming.unwrap().with_nodelay(Some(true));
        let router = Server::builder()
            .tls_config(tls)
            .unwrap()
            .add_service(RunnerLinkServer::new(Service { links, pushes }));
        let task = tokio::spawn(async move { router.serve_with_incoming(incoming).await.unwrap() });
        Self { links: links_out, pushes: pushes_out, task }
    }

    /// Replaces the site's own server.
    pub(crate) fn new(site: &Site) -> Self {
        Self::listen(site, site.address, &server_pair(site))
    }

    /// Waits for the next link and its Hello, without a response.
    pub(crate) async fn greeted(&mut self) -> Link {
        let (mut incoming, outgoing) = timeout(PATIENCE, self.links.recv()).await.unwrap().unwrap();
        let first = timeout(PATIENCE, incoming.message()).await.unwrap().unwrap().unwrap();
        match first.message.unwrap() {
            Up::Hello(hello) => Link { hello, incoming, outgoing },
            other => panic!("its first message is {other:?}"),
        }
    }

    /// Waits for the next link and reconciles it.
    pub(crate) async fn linked(&mut self) -> Link {
        let mut link = self.greeted().await;
        link.say(Down::Welcome(welcome())).await;
        link.until(|message| matches!(message, Up::Reconciled(_)).then_some(())).await;
        link
    }

    /// Asserts that no link exists so far.
    pub(crate) fn has_no_link(&mut self) {
        assert!(self.links.try_recv().is_err(), "the runner talks to it");
    }

    pub(crate) async fn pushed(&mut self) -> Push {
        timeout(PATIENCE, self.pushes.recv()).await.unwrap().unwrap()
    }
}

/// Returns an honest Welcome.
pub(crate) fn welcome() -> wire::Welcome {
    wire::Welcome {
        server_id: "server-1".to_owned(),
        protocol_version: LINK_PROTOCOL_VERSION,
        heartbeat_interval: Some(HEARTBEAT.try_into().unwrap()),
        link_grace: Some(prost_types::Duration { seconds: 240, nanos: 0 }),
        takes_questions: true,
    }
}

/// The server's side of a control stream.
pub(crate) struct Link {
    pub(crate) hello: wire::Hello,
    pub(crate) incoming: Streaming<ConnectRequest>,
    pub(crate) outgoing: Outgoing<ConnectResponse>,
}

impl Link {
    pub(crate) async fn say(&self, message: Down) {
        self.send(ConnectResponse { message: Some(message) }).await;
    }

    pub(crate) async fn send(&self, message: ConnectResponse) {
        drop(self.outgoing.send(Ok(message)).await);
    }

    /// Waits for a message of the runner, and sends heartbeats meanwhile.
    pub(crate) async fn until<T>(&mut self, mut wanted: impl FnMut(&Up) -> Option<T>) -> T {
        // The timer is not reset by each message: a runner that sends a lot would otherwise receive no heartbeat.
        let mut beat = tokio::time::interval(BEAT);
        let look = async {
            loop {
                let message = tokio::select! {
                    message = self.incoming.message() => message.unwrap().expect("the link is held"),
                    _ = beat.tick() => {
                        self.say(Down::Heartbeat(wire::ServerHeartbeat {})).await;
                        continue;
                    }
                };
                if let Some(found) = wanted(&message.message.unwrap()) {
                    return found;
                }
            }
        };
        timeout(PATIENCE, look).await.unwrap()
    }

    /// Opens a new session on the runner.
    pub(crate) async fn session(&mut self) -> SessionId {
        let id = SessionId::new();
        let report = self.open(&id.to_string(), "").await;
        assert_eq!(report.phase(), wire::SessionPhase::Open, "{report:?}");
        id
    }

    pub(crate) async fn open(&mut self, session_id: &str, base: &str) -> wire::SessionReport {
        let open = wire::OpenSession {
            session_id: session_id.to_owned(),
            base: base.to_owned(),
            ..Default::default()
        };
        self.say(Down::OpenSession(open)).await;
        self.until(|message| match message {
            Up::Session(report) if report.session_id == session_id => Some(report.clone()),
            _ => None,
        })
        .await
    }

    /// Returns an offer of this grant with its correct hash.
    pub(crate) fn offer(&self, grant: Grant) -> wire::StartJob {
        let binding = grant.binding();
        let epoch: Epoch = self.hello.epoch.parse().unwrap();
        let not_after_clock_ms = self.hello.clock_ms + 600_000;
        let execution_id = ExecutionId::new();
        StartJob {
            execution_id,
            attempt: 1,
            epoch,
            not_after_clock_ms,
            grant,
            binding,
            traceparent: String::new(),
        }
        .into()
    }

    /// Sends an offer and waits for its final report: REFUSED or the result.
    pub(crate) async fn answer(&mut self, offer: &wire::StartJob) -> wire::JobReport {
        self.say(Down::StartJob(offer.clone())).await;
        self.end(&offer.execution_id).await
    }

    pub(crate) async fn end(&mut self, id: &str) -> wire::JobReport {
        use wire::JobPhase::{Ended, Lost, Refused};
        self.job(id, &[Ended, Lost, Refused]).await
    }

    /// Waits for the next report of a job in one of these phases.
    pub(crate) async fn job(&mut self, id: &str, phases: &[wire::JobPhase]) -> wire::JobReport {
        self.until(|message| match message {
            Up::Job(report) if report.execution_id == id && phases.contains(&report.phase()) => {
                Some(report.clone())
            }
            _ => None,
        })
        .await
    }

    /// Asserts that an honest offer runs on this link: it leaves a mark in the session's workspace.
    pub(crate) async fn an_honest_job_runs(&mut self, site: &Site, runner: &Process) {
        let session = self.session().await;
        let mark = format!("honest-{session}");
        let report = self.answer(&self.offer(grant(session, &format!("echo ran > /workspace/{mark}")))).await;
        assert_eq!(exit_code(&report), Some(0), "{report:?}");
        assert_eq!(marks(site, &mark), 1, "its marker file exists");
        crate::hostile::fixture::no_panic("runner", runner);
    }
}

/// Returns a grant that every runner accepts.
pub(crate) fn grant(session_id: SessionId, command: &str) -> Grant {
    Grant {
        session_id,
        command: CommandSpec {
            text: command.as_bytes().to_vec(),
            directory: b"/workspace".to_vec(),
            timeout: Duration::from_secs(60),
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
            name: "sandboxed".to_owned(),
            root_binds: Vec::new(),
            network: NetworkMode::Loopback,
            env: Default::default(),
            path: String::new(),
            allowed_env: Vec::new(),
            limits: SandboxLimits::default(),
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

/// Returns the reason of a refusal, if the job was refused.
pub(crate) fn refusal(report: &wire::JobReport) -> Option<String> {
    let cause = report.result.as_ref()?.cause.as_ref()?;
    match cause.detail.as_ref()? {
        airlock_proto::v1::cause::Detail::Refused(refused) => Some(refused.reason.clone()),
        _ => None,
    }
}

pub(crate) fn exit_code(report: &wire::JobReport) -> Option<i32> {
    let cause = report.result.as_ref()?.cause.as_ref()?;
    match cause.detail.as_ref()? {
        airlock_proto::v1::cause::Detail::Exited(exited) => Some(exited.code),
        _ => None,
    }
}

/// Returns the number of files below the site, outside its bases, with this prefix in their names.
pub(crate) fn marks(site: &Site, name: &str) -> usize {
    let output = std::process::Command::new("find")
        .arg(site.path())
        .args(["-name", &format!("{name}*")])
        .output()
        .unwrap();
    output.stdout.iter().filter(|byte| **byte == b'\n').count()
}

/// Returns a site with a runner that reconnects soon after a refusal, and without a server.
pub(crate) fn site() -> Site {
    site_with("")
}

/// Like [`site`], with these tables in the runner's configuration.
pub(crate) fn site_with(tables: &str) -> Site {
    let site = Site::with_tables("", &format!("[reconnect]\nrefused = \"200ms\"\nmax = \"500ms\"\n{tables}"));
    let file = site.path().join("runner-1.toml");
    let allowed = site.path().join("allowed");
    std::fs::create_dir_all(&allowed).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let sources = format!("bind_sources = [\"{}\"]\n", allowed.display());
    std::fs::write(&file, text.replace("bind_sources = []\n", &sources)).unwrap();
    site
}
