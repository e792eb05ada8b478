//! The network of the test, its servers, and a proxy with a resolver of fixed answers.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixListener},
        },
    },
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use airlock_egress::{Limits, Proxy, Resolver};
use airlock_network::AddressGuard;
use nix::sched::{CloneFlags, unshare};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::watch,
    task::JoinSet,
};

use crate::{
    inside::{ABSTRACT, SERVICES},
    proxy::{Answers, Execution, Fixture, soon},
};

/// The only address that counts as public here.
pub(crate) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
/// A second address of the kind. The runner's host has it.
pub(crate) const OWN: &str = "203.0.113.9";
/// A third one, in the range of the runner's cluster.
pub(crate) const CLUSTER: &str = "203.0.113.130";
/// The ports on which servers listen, at every address.
const PORTS: [u16; 5] = [53, 80, 443, 853, 8080];
/// The word in requests that must not arrive.
pub(crate) const MARK: &str = "hidden";

/// The addresses of the namespace beside 127.0.0.1 and `::1`.
const ADDRESSES: [&str; 40] = [
    "203.0.113.7",
    OWN,
    CLUSTER,
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.0.23",
    "169.254.42.42",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "169.254.7.7",
    "10.0.0.1",
    "10.255.255.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "8.8.8.8",
    "1.1.1.1",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:42::42",
    "fc00::1",
    "fdff::1",
    "fec0::1",
    "fe80::7",
    "2001:db8::1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    "2002:a9fe:a9fe::",
    "2002:a00:1::1",
    "::169.254.169.254",
    "::ffff:0:a00:1",
    "2600::5efe:a00:1",
    "2600::200:5efe:a00:1",
    "2001:0:cb00:7107:0:ffff:f5ff:fffe",
];

/// The ports on which servers answer datagrams.
const DATAGRAMS: [u16; 4] = [53, 443, 5353, 5355];

/// Moves the calling thread into a network namespace of its own. Threads and processes that it starts later are there,
/// too.
pub(crate) fn enter() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip(&["link", "set", "lo", "up"]);
    for address in ADDRESSES {
        let (bits, flags): (_, &[_]) = if address.contains(':') { (128, &["nodad"]) } else { (32, &[]) };
        ip(&[&["addr", "add", &format!("{address}/{bits}"), "dev", "lo"], flags].concat());
    }
}

fn ip(words: &[&str]) {
    let done = Command::new("ip").args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The bytes that a server received on one connection.
struct Seen {
    address: IpAddr,
    port: u16,
    bytes: Vec<u8>,
}

/// The servers, and the proxy.
pub(crate) struct Lab {
    pub(crate) fixture: Fixture,
    /// Another execution of the same session. Its rules allow more.
    pub(crate) neighbour: Execution,
    /// The token of an execution that has ended.
    pub(crate) ended: String,
    log: Log,
    _servers: JoinSet<()>,
}

/// What the servers got, and the number of their open connections.
#[derive(Clone)]
struct Log {
    seen: Arc<Mutex<Vec<Seen>>>,
    open: watch::Sender<usize>,
}

impl Lab {
    pub(crate) async fn start() -> Self {
        let log = Log { seen: Arc::default(), open: watch::Sender::new(0) };
        let mut servers = JoinSet::new();
        for port in PORTS {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await.unwrap();
            servers.spawn(listen(listener, log.clone()));
        }
        for port in DATAGRAMS {
            let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port)).await.unwrap();
            servers.spawn(echo(socket));
        }
        services();
        let fixture = fixture();
        let everything = ["web.test".to_owned(), "web.test:8080/tcp".to_owned()];
        let neighbour = fixture.serve(&everything).await;
        let mut gone = fixture.serve(&everything).await;
        gone.cancel.cancel();
        (&mut gone.task).await.unwrap();
        let ended = gone.token.expose().to_owned();
        Self { fixture, neighbour, ended, log, _servers: servers }
    }

    /// Forgets what the servers got.
    pub(crate) fn forget(&self) {
        self.log.seen.lock().unwrap().clear();
    }

    /// Waits until the servers have read everything that was sent to them.
    pub(crate) async fn settled(&self) {
        for port in PORTS {
            // A server accepts in order, so it has accepted all earlier connections when it answers this one.
            let mut stream = TcpStream::connect((PUBLIC, port)).await.unwrap();
            stream.write_all(b"\r\n\r\n").await.unwrap();
            soon(stream.read(&mut [0])).await.unwrap();
        }
        soon(self.log.open.subscribe().wait_for(|open| *open == 0)).await.unwrap();
    }

    /// Returns what the attempts since the last call of [`Self::forget`] reached: an address that is not public, or a
    /// server that got `mark`.
    pub(crate) fn reached(&self, mark: &str) -> Option<String> {
        let seen = self.log.seen.lock().unwrap();
        seen.iter().find_map(|one| {
            let text = String::from_utf8_lossy(&one.bytes).to_lowercase();
            let marked = text.contains(mark);
            (one.address != PUBLIC || marked).then(|| format!("{} port {}", one.address, one.port))
        })
    }
}

/// A proxy that knows addresses of its host and its cluster, and the name `web.test`.
fn fixture() -> Fixture {
    let answers = Arc::new(Answers::default());
    answers.set("web.test", &[&[PUBLIC]]);
    let resolver: Arc<dyn Resolver> = Arc::clone(&answers) as Arc<dyn Resolver>;
    let cluster = format!("{CLUSTER}/32").parse().unwrap();
    let guard = AddressGuard::new(vec![OWN.parse().unwrap()], vec![cluster]);
    let limits = Limits { head: Duration::from_secs(2), ..Limits::default() };
    Fixture { proxy: Arc::new(Proxy::new(None, limits, resolver, guard)), answers }
}

/// Accepts connections at the names of services of the host, until the process ends. `/run` is a mount of the test.
fn services() {
    let by_path = |path: &&str| {
        fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
        let listener = UnixListener::bind(path).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
        listener
    };
    let name = SocketAddr::from_abstract_name(ABSTRACT).unwrap();
    let by_name = UnixListener::bind_addr(&name).unwrap();
    for listener in SERVICES.iter().map(by_path).chain([by_name]) {
        // A client of nscd would wait for an answer.
        thread::spawn(move || listener.incoming().for_each(drop));
    }
}

async fn echo(socket: UdpSocket) {
    let mut buffer = [0; 64];
    while let Ok((count, from)) = socket.recv_from(&mut buffer).await {
        let _ = socket.send_to(&buffer[..count], from).await;
    }
}

async fn listen(listener: TcpListener, log: Log) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let local = stream.local_addr().unwrap();
        let (address, port) = (local.ip().to_canonical(), local.port());
        let mut seen = log.seen.lock().unwrap();
        let index = seen.len();
        seen.push(Seen { address, port, bytes: Vec::new() });
        drop(seen);
        log.open.send_modify(|open| *open += 1);
        let log = log.clone();
        connections.spawn(async move {
            answer(stream, index, &log).await;
            log.open.send_modify(|open| *open -= 1);
        });
    }
}

/// Records everything, and answers each head.
async fn answer(mut stream: TcpStream, index: usize, log: &Log) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let is_head = {
            let mut seen = log.seen.lock().unwrap();
            let bytes = &mut seen[index].bytes;
            bytes.extend_from_slice(&buffer[..count]);
            bytes.windows(4).any(|end| end == b"\r\n\r\n")
        };
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        if is_head && stream.write_all(ok).await.is_err() {
            return;
        }
    }
}
