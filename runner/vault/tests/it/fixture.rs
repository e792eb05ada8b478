//! A server with the API of Vault that records each request, and the settings of its client.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use airlock_vault::{Address, Place, Settings, Vault, VaultError};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// The value of every secret.
pub(crate) const VALUE: &str = "the-value-of-the-secret-0123456789";
/// The token in the file.
pub(crate) const TOKEN: &str = "hvs.token-in-the-file";
/// The token of the service account.
pub(crate) const JWT: &str = "jwt-of-the-service-account";
/// A timeout that only a failing test reaches.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A request that the server got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Method and path, as sent.
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// How the server answers.
pub(crate) struct State {
    /// The tokens that it accepts.
    pub(crate) tokens: Vec<String>,
    /// The lifetime of a token of a login, in seconds.
    pub(crate) token_lease: u64,
    /// The lease of a secret of version 1, in seconds.
    pub(crate) lease: u64,
    /// A status with a body that replaces every answer.
    pub(crate) instead: Option<(u16, String)>,
    /// Whether it never answers.
    pub(crate) hangs: bool,
    pub(crate) seen: Vec<Seen>,
}

/// A server. It ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) files: TempDir,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Starts a server with TLS.
    pub(crate) async fn start() -> Self {
        Self::with(true).await
    }

    pub(crate) async fn with(tls: bool) -> Self {
        let files = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls { "https" } else { "http" };
        let address = format!("{scheme}://{}", listener.local_addr().unwrap());
        let (authority, settings) = certificate();
        fs::write(files.path().join("ca.pem"), authority).unwrap();
        fs::write(files.path().join("token"), format!("{TOKEN}\n")).unwrap();
        fs::write(files.path().join("jwt"), JWT).unwrap();
        let state = Arc::new(Mutex::new(State {
            tokens: vec![TOKEN.to_owned()],
            token_lease: 3600,
            lease: 0,
            instead: None,
            hangs: false,
            seen: Vec::new(),
        }));
        let (acceptor, shared) = (TlsAcceptor::from(settings), Arc::clone(&state));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, state) = (acceptor.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    if !tls {
                        serve(stream, state).await;
                    } else if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, state).await;
                    }
                });
            }
        });
        Self { address, files, state, _tasks: tasks }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Returns the settings of a client with the token of the file, which keeps values for a minute.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            address: Address::parse(&self.address, true).unwrap(),
            namespace: None,
            ca: Some(self.file("ca.pem")),
            token_file: self.file("token"),
            kubernetes_role: None,
            kubernetes_mount: "kubernetes".to_owned(),
            timeout: PATIENCE,
            cache: Duration::from_secs(60),
        }
    }

    /// Returns the settings of a client that logs in with the service account.
    pub(crate) fn of_kubernetes(&self) -> Settings {
        let role = Some("runner".to_owned());
        Settings { token_file: self.file("jwt"), kubernetes_role: role, ..self.settings() }
    }

    /// Returns the lines of the requests since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.state().seen.drain(..).map(|seen| seen.line).collect()
    }
}

/// The place of the value in an engine of version 2.
pub(crate) fn place() -> Place {
    Place::new("secret", "team/api", "token", 2).unwrap()
}

/// The request that reads it.
pub(crate) const READ: &str = "GET /v1/secret/data/team/api";
/// The request of a login.
pub(crate) const LOGIN: &str = "POST /v1/auth/kubernetes/login";

/// Reads the value at [`place`].
pub(crate) async fn read(vault: &Vault) -> Result<String, VaultError> {
    vault.read(&place()).await.map(|value| (*value).clone())
}

fn certificate() -> (String, Arc<ServerConfig>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (authority.pem(), Arc::new(settings))
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, state: Arc<Mutex<State>>) {
    let service = service_fn(|request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move {
            let seen = seen(request).await;
            let (status, body) = {
                let mut state = state.lock().unwrap();
                let answer = (!state.hangs).then(|| answer(&mut state, &seen));
                state.seen.push(seen);
                answer
            }
            .unwrap_or_default();
            if status == 0 {
                std::future::pending::<()>().await;
            }
            let answer = Response::builder().status(status).body(Full::new(Bytes::from(body))).unwrap();
            Ok::<_, Infallible>(answer)
        }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn seen(request: Request<Incoming>) -> Seen {
    let line = format!("{} {}", request.method(), request.uri());
    let header = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let headers = request.headers().iter().map(header).collect();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Seen { line, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

/// Answers as Vault does. Answers of failures contain the token and the value, so that a client that shows them fails.
fn answer(state: &mut State, seen: &Seen) -> (u16, String) {
    if let Some(instead) = &state.instead {
        return instead.clone();
    }
    let token = seen.headers.get("x-vault-token").map(String::as_str).unwrap_or_default();
    let refused = |status: u16| (status, json!({ "errors": [token, VALUE, &seen.body] }).to_string());
    if seen.headers.get("x-vault-request").map(String::as_str) != Some("true") {
        return refused(412);
    }
    if seen.line == LOGIN {
        let credentials: Value = serde_json::from_str(&seen.body).unwrap();
        if credentials != json!({ "role": "runner", "jwt": JWT }) {
            return refused(403);
        }
        let token = format!("hvs.of-login-{}", state.tokens.len());
        state.tokens.push(token.clone());
        let auth = json!({ "client_token": token, "lease_duration": state.token_lease, "renewable": true });
        return (200, json!({ "auth": auth }).to_string());
    }
    if seen.line.starts_with("GET /v1/sys/health?") {
        let health = json!({ "initialized": true, "sealed": false, "version": "1.2.3" });
        return (200, health.to_string());
    }
    if !state.tokens.iter().any(|known| known == token) {
        return refused(403);
    }
    let fields = json!({ "token": VALUE, "other": "another", "number": 7 });
    match seen.line.as_str() {
        READ | "GET /v1/secret/data/with%20space%3F/%C3%BC" => {
            let data = json!({ "data": fields, "metadata": { "version": 3 } });
            (200, json!({ "data": data, "lease_duration": 0 }).to_string())
        }
        "GET /v1/kv/team/api" => (200, json!({ "data": fields, "lease_duration": state.lease }).to_string()),
        _ => refused(404),
    }
}
