//! Starts the proxy on loopback, for the fuzz targets `http` and `socks`. Each input is sent to it on one connection, as a
//! command would send it.
//!
//! The rules allow `web.test` on the port of one server. Every other name and address is forbidden; all names have an
//! address at which a second server listens on the same port.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_egress::{Access, Events, Limits, Outcome, Proxy, Resolver, Token};
use airlock_network::{AddressGuard, Layer, LayerName, Layers, Rules};
use async_trait::async_trait;
use base64::{Engine, prelude::BASE64_STANDARD};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    sync::{mpsc, watch},
    time,
};
use tokio_util::sync::CancellationToken;

/// The only allowed name.
const ALLOWED: &str = "web.test";
/// Its address, which the rules list.
const LISTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// The address of all other names.
const FORBIDDEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
/// The real time of one connection. Its limits are shorter.
const MOST_TIME: Duration = Duration::from_secs(10);
/// The time without a byte from the proxy after which a client ends its direction.
const QUIET: Duration = Duration::from_millis(5);
/// The most bytes that the proxy answers to an input of 12 KB: less than this for each byte, and a constant.
const MOST_ANSWER: usize = 1 << 20;

/// A proxy, its execution, and the servers.
#[derive(Debug)]
pub struct Front {
    runtime: Runtime,
    proxy: std::net::SocketAddr,
    port: u16,
    credential: String,
    token: String,
    reports: Mutex<mpsc::Receiver<airlock_egress::Connection>>,
    /// Connections to the allowed server, and to the forbidden address.
    allowed: Arc<AtomicUsize>,
    forbidden: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct Names(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        Ok(vec![if name == ALLOWED { LISTED.into() } else { FORBIDDEN.into() }])
    }
}

impl Front {
    /// Starts the proxy and the servers.
    ///
    /// # Panics
    ///
    /// If loopback does not work.
    #[must_use]
    pub fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (allowed, forbidden) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (proxy, port, token, reports) = runtime.block_on(async {
            let server = TcpListener::bind((LISTED, 0)).await.expect("a server");
            let port = server.local_addr().expect("its address").port();
            let other = TcpListener::bind((FORBIDDEN, port)).await.expect("a second server");
            tokio::spawn(serve(server, Arc::clone(&allowed)));
            tokio::spawn(serve(other, Arc::clone(&forbidden)));
            let listener = TcpListener::bind((LISTED, 0)).await.expect("a listener");
            let address = listener.local_addr().expect("its address");
            let (token, reports) = execution(listener, port, Arc::clone(&asked));
            (address, port, token, reports)
        });
        let credential = BASE64_STANDARD.encode(format!("airlock:{}", token.expose()));
        let (token, reports) = (token.expose().to_owned(), Mutex::new(reports));
        let front = Self { runtime, proxy, port, credential, token, reports, allowed, forbidden, asked };
        front.try_controls();
        front
    }

    /// Checks the checks: a permitted request arrives, and a connection to the forbidden address is counted.
    fn try_controls(&self) {
        self.send(b"GET http://web.test:PORT/ HTTP/1.1\r\nProxy-Authorization: Basic AUTH\r\n\r\n");
        assert_eq!(self.allowed.load(Ordering::SeqCst), 1, "the control of HTTP did not arrive");
        self.send(b"\x05\x01\x02\x01\x07airlock\x05TOKEN\x05\x01\x00\x03\x08web.test\xfe\xfe");
        assert_eq!(self.allowed.load(Ordering::SeqCst), 2, "the control of SOCKS did not arrive");
        self.runtime.block_on(exchange((FORBIDDEN, self.port).into(), b""));
        assert_eq!(self.forbidden.swap(0, Ordering::SeqCst), 1, "the second server does not count");
    }

    /// Sends an input on one connection, waits until the connection is closed, and checks the effects: the hosts that were
    /// resolved and connected, the answer, and the reports.
    ///
    /// `AUTH` in the input becomes the credential of HTTP, `\x05TOKEN` the password of SOCKS, `PORT` and `\xfe\xfe` the
    /// port of the server as text and as a number.
    ///
    /// # Panics
    ///
    /// If a check fails.
    pub fn send(&self, input: &[u8]) {
        let text = replaced(input, b"AUTH", self.credential.as_bytes());
        let password =
            [&[u8::try_from(self.token.len()).expect("a short token")], self.token.as_bytes()].concat();
        let text = replaced(&text, b"\x05TOKEN", &password);
        let text = replaced(&text, b"PORT", self.port.to_string().as_bytes());
        let bytes = replaced(&text, b"\xfe\xfe", &self.port.to_be_bytes());
        let answer = self.runtime.block_on(async {
            time::timeout(MOST_TIME, exchange(self.proxy, &bytes)).await.expect("the connection ends in time")
        });
        assert!(answer.len() <= MOST_ANSWER, "{} bytes of answers", answer.len());
        self.check(&answer, &bytes);
    }

    fn check(&self, answer: &[u8], sent: &[u8]) {
        assert_eq!(self.forbidden.load(Ordering::SeqCst), 0, "a forbidden address was connected");
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        assert!(asked.iter().all(|name| name == ALLOWED), "a name without a rule was resolved: {asked:?}");
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(report) = reports.try_recv() {
            let reached = matches!(report.outcome, Outcome::Allowed | Outcome::Failed);
            let is_allowed =
                report.port == self.port && [ALLOWED.to_owned(), LISTED.to_string()].contains(&report.host);
            assert!(!reached || is_allowed, "it reached another target: {report:?}");
            let tells = format!("{report:?}").contains(&self.token);
            assert!(!tells || self.names_token(sent), "a report contains the credential");
        }
        let tells = contains(answer, self.token.as_bytes()) > 0;
        assert!(!tells || self.names_token(sent), "an answer contains the credential");
    }

    /// Reports whether a client wrote the token elsewhere than in the password, such as in the name of a host.
    fn names_token(&self, sent: &[u8]) -> bool {
        let passwords = usize::from(sent.first() == Some(&5));
        contains(sent, self.token.as_bytes()) > passwords
    }
}

fn execution(
    listener: TcpListener,
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
) -> (Token, mpsc::Receiver<airlock_egress::Connection>) {
    let allow = [format!("{ALLOWED}:{port}/tcp"), format!("{LISTED}:{port}/tcp")];
    let rules = Rules::parse(false, &allow, &[]).expect("these rules are valid");
    let layers = Layers::new(vec![Layer { name: LayerName::Profile, rules }]);
    let (sender, receiver) = watch::channel(Arc::new(layers));
    let (queue, reports) = mpsc::channel(1 << 12);
    let token = Token::random().expect("random bytes");
    let access = Access {
        token: token.clone(),
        processes: None,
        layers: receiver,
        inspection: None,
        questions: None,
        events: Events::new(queue),
        cancel: CancellationToken::new(),
    };
    let limits =
        Limits { head: Duration::from_millis(500), connect: Duration::from_secs(1), ..Limits::default() };
    let proxy = Proxy::new(None, limits, Arc::new(Names(asked)), AddressGuard::default());
    tokio::spawn(async move {
        let _rules = sender;
        proxy.serve(listener, access).await;
    });
    (token, reports)
}

/// Answers each head, and counts the connections.
async fn serve(listener: TcpListener, count: Arc<AtomicUsize>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        count.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let is_head = buffer.windows(4).take(count).any(|end| end == b"\r\n\r\n");
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                if is_head && stream.write_all(answer).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Sends everything, ends the direction when nothing more comes back, and reads until the end.
async fn exchange(proxy: std::net::SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(proxy).await.expect("the proxy listens");
    let (mut read, mut write) = stream.split();
    let mut answer = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    {
        let mut sent = std::pin::pin!(write.write_all(bytes));
        let mut is_sent = false;
        while answer.len() <= MOST_ANSWER {
            tokio::select! {
                // The proxy may close before it has read everything.
                _ = &mut sent, if !is_sent => is_sent = true,
                count = read.read(&mut buffer) => match count {
                    Ok(count @ 1..) => answer.extend_from_slice(&buffer[..count]),
                    _ => return answer,
                },
                // An end would cancel a request that is being forwarded.
                () = time::sleep(QUIET), if is_sent => break,
            }
        }
    }
    let _ = write.shutdown().await;
    let mut limited = (&mut read).take(2 * MOST_ANSWER as u64);
    let _ = limited.read_to_end(&mut answer).await;
    answer
}

/// Returns how often the bytes contain a text.
fn contains(bytes: &[u8], text: &[u8]) -> usize {
    bytes.windows(text.len()).filter(|window| *window == text).count()
}

/// Replaces every occurrence of `from`.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}
