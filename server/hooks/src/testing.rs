//! A hook for tests: a gRPC server with TLS on loopback, whose answers the test sets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_proto::hooks_v1::{
    HookOpinion, PostExecuteRequest, PostExecuteResponse, PreExecuteRequest, PreExecuteResponse,
    execution_hook_server::{ExecutionHook, ExecutionHookServer},
};
use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;
use tokio::{sync::Notify, task::JoinHandle};
use tonic::{
    Code, Request, Response, Status,
    transport::{Certificate, Identity, Server, ServerTlsConfig, server::TcpIncoming},
};

/// The name in the hook's certificate.
pub const NAME: &str = "hook.test";

/// The answer of the hook to a question.
#[derive(Debug, Clone)]
pub enum TestAnswer {
    /// This opinion, as a value of the enum on the wire, with this reason.
    Opinion(i32, String),
    /// Nothing until the test sets another answer.
    Hold,
    /// An error.
    Fail,
    /// ALLOW for another binding.
    OtherQuestion,
}

impl From<HookOpinion> for TestAnswer {
    fn from(opinion: HookOpinion) -> Self {
        Self::Opinion(opinion.into(), "the test says so".to_owned())
    }
}

#[derive(Debug)]
struct State {
    answer: Mutex<TestAnswer>,
    changed: Notify,
    questions: Mutex<Vec<PreExecuteRequest>>,
    reports: Mutex<Vec<PostExecuteRequest>>,
}

/// A running hook. Dropping it stops it.
#[derive(Debug)]
pub struct TestHook {
    address: SocketAddr,
    state: Arc<State>,
    folder: TempDir,
    serving: JoinHandle<()>,
}

impl Drop for TestHook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn leaf(issuer: &Issuer, name: &str) -> (String, String) {
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, issuer).unwrap().pem(), key.serialize_pem())
}

impl TestHook {
    /// Starts a hook that answers NONE. It requires a client certificate of its own authority.
    ///
    /// # Panics
    /// If it cannot start.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (own, clients) = (authority("hooks"), authority("clients"));
        let (certificate, key) = leaf(&own, NAME);
        let (client, client_key) = leaf(&clients, "server.test");
        for (name, text) in [
            ("ca.pem", own.pem()),
            ("other.pem", authority("hooks").pem()),
            ("client.pem", client),
            ("client.key", client_key),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let state = Arc::new(State {
            answer: Mutex::new(HookOpinion::None.into()),
            changed: Notify::new(),
            questions: Mutex::default(),
            reports: Mutex::default(),
        });
        let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = incoming.local_addr().unwrap();
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(clients.pem()));
        let service = ExecutionHookServer::new(Service(state.clone()));
        let server = Server::builder().tls_config(tls).unwrap().add_service(service);
        let serving = tokio::spawn(async move {
            // The end of the test ends the server.
            let _ = server.serve_with_incoming(incoming).await;
        });
        Self { address, state, folder, serving }
    }

    /// Accepts no more connections. Open ones continue.
    pub fn stop(&self) {
        self.serving.abort();
    }

    /// Sets the answer from now on, also to questions that the hook holds.
    ///
    /// # Panics
    /// Never.
    pub fn answers(&self, answer: impl Into<TestAnswer>) {
        *self.state.answer.lock().unwrap() = answer.into();
        self.state.changed.notify_waiters();
    }

    /// Returns the questions so far.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn questions(&self) -> Vec<PreExecuteRequest> {
        self.state.questions.lock().unwrap().clone()
    }

    /// Returns the deliveries so far.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn reports(&self) -> Vec<PostExecuteRequest> {
        self.state.reports.lock().unwrap().clone()
    }

    /// Waits until so many questions have arrived. The test's own limit bounds the wait.
    pub async fn until_asked(&self, count: usize) {
        while self.questions().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the address, as `https://HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns a file: `ca.pem`, `other.pem` (another authority), `client.pem` or `client.key`.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the table of the hook in a server's configuration, without a timeout.
    #[must_use]
    pub fn table(&self, name: &str) -> String {
        format!(
            "[hooks.{name}]\naddress = \"{}\"\nserver_name = \"{NAME}\"\nca = \"{}\"\ncertificate = \"{}\"\nkey = \"{}\"\n",
            self.address(),
            self.file("ca.pem").display(),
            self.file("client.pem").display(),
            self.file("client.key").display(),
        )
    }
}

#[derive(Debug)]
struct Service(Arc<State>);

#[tonic::async_trait]
impl ExecutionHook for Service {
    async fn pre_execute(
        &self,
        request: Request<PreExecuteRequest>,
    ) -> Result<Response<PreExecuteResponse>, Status> {
        let request = request.into_inner();
        self.0.questions.lock().unwrap().push(request.clone());
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let answer = self.0.answer.lock().unwrap().clone();
            let binding = request.binding.clone();
            return Ok(Response::new(match answer {
                TestAnswer::Hold => {
                    changed.await;
                    continue;
                }
                TestAnswer::Fail => return Err(Status::new(Code::Internal, "the test says so")),
                TestAnswer::Opinion(opinion, reason) => PreExecuteResponse { binding, opinion, reason },
                TestAnswer::OtherQuestion => PreExecuteResponse {
                    binding: Bytes::from_static(&[9; 32]),
                    opinion: HookOpinion::Allow.into(),
                    reason: String::new(),
                },
            }));
        }
    }

    async fn post_execute(
        &self,
        request: Request<PostExecuteRequest>,
    ) -> Result<Response<PostExecuteResponse>, Status> {
        self.0.reports.lock().unwrap().push(request.into_inner());
        if matches!(*self.0.answer.lock().unwrap(), TestAnswer::Fail) {
            return Err(Status::new(Code::Internal, "the test says so"));
        }
        Ok(Response::new(PostExecuteResponse {}))
    }
}
