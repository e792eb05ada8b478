//! A proxy on loopback, its executions, and a resolver with fixed answers.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_egress::{
    Access, Connection, Events, Inspection, Limits, Proxy, Questions, Resolver, Token, Upstream,
};
use airlock_network::{AddressGuard, Layer, LayerName, Layers, Rules};
use async_trait::async_trait;
use base64::{Engine, prelude::BASE64_STANDARD};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinHandle,
    time,
};
use tokio_util::sync::CancellationToken;

/// An address that the rules of the tests list.
pub(crate) const LISTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// An address that they do not list. Targets listen there, too.
pub(crate) const UNLISTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// Waits with a limit that only a failing test reaches.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    time::timeout(Duration::from_secs(20), future).await.unwrap_or_else(|_| panic!("it happens in time"))
}

/// Answers per name: each question takes the next answer, and the last answer stays.
#[derive(Default)]
pub(crate) struct Answers {
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Answers {
    pub(crate) fn set(&self, name: &str, answers: &[&[IpAddr]]) {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolver for Answers {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if name == "never.test" {
            std::future::pending::<()>().await;
        }
        self.asked.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }
}

/// A proxy with the resolver of the tests. `web.test` and `other.test` have the listed address, `inside.test` has the
/// unlisted one.
pub(crate) struct Fixture {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) answers: Arc<Answers>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self::made(limits, None)
    }

    /// A proxy that connects through another one.
    pub(crate) fn behind(upstream: Upstream) -> Self {
        Self::made(Limits::default(), Some(upstream))
    }

    fn made(limits: Limits, upstream: Option<Upstream>) -> Self {
        let answers = Arc::new(Answers::default());
        answers.set("web.test", &[&[LISTED.into()]]);
        answers.set("other.test", &[&[LISTED.into()]]);
        answers.set("inside.test", &[&[UNLISTED.into()]]);
        let resolver: Arc<dyn Resolver> = Arc::clone(&answers) as Arc<dyn Resolver>;
        let guard = AddressGuard::new(Vec::new(), Vec::new());
        let proxy = Arc::new(Proxy::new(upstream, limits, resolver, guard));
        Self { proxy, answers }
    }

    /// Starts an execution with one layer. The addresses of `LISTED` are permitted with the port.
    pub(crate) async fn serve(&self, allow: &[String]) -> Execution {
        self.start(allow, false, 64).await
    }

    pub(crate) async fn warn(&self, allow: &[String]) -> Execution {
        self.start(allow, true, 64).await
    }

    pub(crate) async fn start(&self, allow: &[String], warn: bool, queue: usize) -> Execution {
        let layers = if warn { warning(allow, &[]) } else { rules(allow, &[]) };
        self.begin(layers, queue, (None, None)).await
    }

    /// Starts an execution whose TLS is inspected.
    pub(crate) async fn inspect(&self, allow: &[String], inspection: &Arc<Inspection>) -> Execution {
        self.begin(rules(allow, &[]), 64, (Some(Arc::clone(inspection)), None)).await
    }

    /// Starts an execution whose rules ask about hosts.
    pub(crate) async fn ask(&self, rules: Rules, questions: Option<Arc<dyn Questions>>) -> Execution {
        self.begin(layer(rules), 64, (None, questions)).await
    }

    async fn begin(
        &self,
        layers: Arc<Layers>,
        queue: usize,
        (inspection, questions): (Option<Arc<Inspection>>, Option<Arc<dyn Questions>>),
    ) -> Execution {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (layers, receiver) = watch::channel(layers);
        let (sender, reports) = mpsc::channel(queue);
        let events = Events::new(sender);
        let (token, cancel) = (Token::random().unwrap(), CancellationToken::new());
        let access = Access {
            token: token.clone(),
            processes: None,
            layers: receiver,
            inspection,
            questions,
            events: events.clone(),
            cancel: cancel.clone(),
        };
        let proxy = Arc::clone(&self.proxy);
        let task = tokio::spawn(async move { proxy.serve(listener, access).await });
        Execution { address, token, layers, reports, events, cancel, task }
    }
}

/// Creates one layer.
pub(crate) fn rules(allow: &[String], deny: &[String]) -> Arc<Layers> {
    layer(parsed(allow, deny))
}

/// Creates one layer that only warns.
pub(crate) fn warning(allow: &[String], deny: &[String]) -> Arc<Layers> {
    layer(parsed(allow, deny).warning(true))
}

fn parsed(allow: &[String], deny: &[String]) -> Rules {
    Rules::parse(false, allow, deny).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn layer(rules: Rules) -> Arc<Layers> {
    Arc::new(Layers::new(vec![Layer { name: LayerName::Profile, rules }]))
}

/// Returns entries that allow `names` with a port, and the listed address.
pub(crate) fn allow(names: &[&str], port: u16) -> Vec<String> {
    let entry = |name: &&str| match name.split_once('/') {
        Some((name, suffix)) => format!("{name}:{port}/{suffix}"),
        None => format!("{name}:{port}"),
    };
    names.iter().map(entry).chain([format!("{LISTED}:{port}")]).collect()
}

/// An execution that uses the proxy.
pub(crate) struct Execution {
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    pub(crate) layers: watch::Sender<Arc<Layers>>,
    pub(crate) reports: mpsc::Receiver<Connection>,
    pub(crate) events: Events,
    pub(crate) cancel: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

impl Execution {
    /// Returns the header with the credential.
    pub(crate) fn header(&self) -> String {
        credential(&self.token)
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes on a new connection, and returns everything that comes back until it closes.
    pub(crate) async fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // The proxy may close before it has read everything.
        let _ = stream.write_all(bytes.as_ref()).await;
        rest(&mut stream).await
    }

    /// Sends a request with the credential that ends the connection.
    pub(crate) async fn get(&self, url: &str) -> String {
        let host = url.split('/').nth(2).unwrap_or_default();
        let head =
            format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n{}Connection: close\r\n\r\n", self.header());
        self.send(head).await
    }

    /// Asks for a tunnel, and returns the connection with the answer's head.
    pub(crate) async fn tunnel(&self, target: &str) -> (TcpStream, String) {
        let mut stream = self.connect().await;
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n", self.header());
        stream.write_all(head.as_bytes()).await.unwrap();
        let head = head_of(&mut stream).await;
        (stream, head)
    }

    /// Asks for a tunnel, and returns the status of the answer.
    pub(crate) async fn status(&self, target: &str) -> u16 {
        status(&self.tunnel(target).await.1)
    }

    /// Returns the next report.
    pub(crate) async fn report(&mut self) -> Connection {
        soon(self.reports.recv()).await.unwrap()
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

pub(crate) fn credential(token: &Token) -> String {
    let encoded = BASE64_STANDARD.encode(format!("airlock:{}", token.expose()));
    format!("Proxy-Authorization: Basic {encoded}\r\n")
}

/// Returns the status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// Reads until the end of the connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset ends the connection, too.
    let _ = soon(stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the head of an answer, and nothing behind it.
pub(crate) async fn head_of(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if soon(stream.read(&mut byte)).await.unwrap_or(0) == 0 {
            break;
        }
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap()
}

/// Returns whether a connection ends, without further bytes.
pub(crate) async fn is_closed(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut byte = [0];
    matches!(soon(stream.read(&mut byte)).await, Ok(0) | Err(_))
}
