//! The proxy of a runner, compared with a direct connection to the same server: throughput on loopback and over a link
//! of 1 Gbit/s, the time of a round trip and of a new connection, the time of a refusal, and the memory of connections.
//!
//! Client, proxy and server are threads of this process. For the link of 1 Gbit/s, the server is in another network
//! namespace, and `tc` limits the rate at which it sends. This part needs root.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a benchmark")]

#[path = "egress/client.rs"]
mod client;
#[path = "egress/server.rs"]
mod server;

use std::{
    fs,
    io::Read,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
};

use airlock_benches::{Alternative, print_quantiles};
use airlock_tests::fleet::network::{Host, Network};

use self::client::{TestProxy, ping, read_all};

const ROUNDS: usize = 7;
const PINGS: usize = 2_000;
const OPENINGS: usize = 500;
const CONNECTIONS: usize = 1_000;
/// The bytes of one transfer on loopback, and over the link.
const ON_LOOPBACK: u64 = 1 << 30;
const OVER_LINK: u64 = 128 << 20;
/// The argument that makes this program a server at the address that follows.
const SERVE: &str = "--serve";

fn main() {
    let words: Vec<_> = std::env::args().collect();
    if let [_, mode, address] = &words[..]
        && mode == SERVE
    {
        return server::run(address.parse().unwrap());
    }
    let target = server::start(Ipv4Addr::LOCALHOST);
    let proxy = TestProxy::open(target);
    transfers("transfer on loopback, 1 GiB", target, &proxy, ON_LOOPBACK);
    round_trips(target, &proxy);
    openings(target, &proxy);
    refusals(&proxy);
    memory(target, &proxy);
    over_a_link();
}

/// Compares the time of transfers from the server, and prints the throughput.
fn transfers(title: &str, target: SocketAddr, proxy: &TestProxy, bytes: u64) {
    let mut both = [Alternative::new("direct"), Alternative::new("through the proxy")];
    for _ in 0..ROUNDS {
        both[0].measure(|| read_all(TcpStream::connect(target).unwrap(), bytes));
        both[1].measure(|| read_all(proxy.connect(target).unwrap(), bytes));
    }
    print_quantiles(title, &both);
    let rate = |one: &Alternative| bytes as f64 / one.median().as_secs_f64() / 1e9 * 8.0;
    let [direct, proxied] = [rate(&both[0]), rate(&both[1])];
    println!(
        "  throughput {direct:.2} and {proxied:.2} Gbit/s: {:.2} of a direct connection",
        proxied / direct
    );
}

fn round_trips(target: SocketAddr, proxy: &TestProxy) {
    let mut both = [Alternative::new("direct"), Alternative::new("through the proxy")];
    let mut direct = TcpStream::connect(target).unwrap();
    let mut proxied = proxy.connect(target).unwrap();
    for stream in [&mut direct, &mut proxied] {
        stream.set_nodelay(true).unwrap();
    }
    for _ in 0..PINGS {
        both[0].measure(|| ping(&mut direct));
        both[1].measure(|| ping(&mut proxied));
    }
    print_quantiles("round trip of one byte on an open connection", &both);
}

fn openings(target: SocketAddr, proxy: &TestProxy) {
    let mut both = [Alternative::new("direct"), Alternative::new("through the proxy")];
    for _ in 0..OPENINGS {
        both[0].measure(|| ping(&mut TcpStream::connect(target).unwrap()));
        both[1].measure(|| ping(&mut proxy.connect(target).unwrap()));
    }
    print_quantiles("new connection and a round trip of one byte", &both);
}

fn refusals(proxy: &TestProxy) {
    let mut one = [Alternative::new("refused by the rules")];
    for _ in 0..OPENINGS {
        let refused = one[0].measure(|| proxy.connect((Ipv4Addr::new(192, 0, 2, 200), 443).into()));
        assert!(refused.is_err(), "the rules do not allow it");
    }
    print_quantiles("refusal, from the connection to the answer", &one);
}

/// Compares the memory of this process with that of the same connections without a proxy.
fn memory(target: SocketAddr, proxy: &TestProxy) {
    let used = |open: &dyn Fn() -> TcpStream| {
        let before = resident();
        let streams: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let mut stream = open();
                ping(&mut stream);
                stream
            })
            .collect();
        let used = resident().saturating_sub(before);
        drop(streams);
        used
    };
    // The first turn fills the caches of the allocator.
    for turn in ["first turn", "second turn"] {
        let direct = used(&|| TcpStream::connect(target).unwrap());
        let proxied = used(&|| proxy.connect(target).unwrap());
        println!(
            "memory of {CONNECTIONS} connections, {turn}: direct {} KiB, through the proxy {} KiB",
            direct >> 10,
            proxied >> 10
        );
    }
}

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Repeats the transfer over a link of 1 Gbit/s. Threads that start from now on are in the test's network.
fn over_a_link() {
    if !rustix::process::geteuid().is_root() {
        println!("transfer over a link of 1 Gbit/s: not measured, it takes root");
        return;
    }
    let network = Network::enter();
    let host = network.host("server", 2);
    let mut shaped = host.command("tc".as_ref());
    shaped.args("qdisc add dev eth0 root tbf rate 1gbit burst 256kb latency 20ms".split(' '));
    assert!(shaped.status().unwrap().success());
    let server = Served::start(&host);
    let proxy = TestProxy::open(server.address);
    transfers("transfer over a link of 1 Gbit/s, 128 MiB", server.address, &proxy, OVER_LINK);
}

/// A server on another host. It ends when it is dropped.
struct Served {
    process: Child,
    address: SocketAddr,
}

impl Served {
    fn start(host: &Host) -> Self {
        let address = SocketAddr::from((host.ip, 9_000));
        let mut command: Command = host.command(&std::env::current_exe().unwrap());
        command.args([SERVE, &address.to_string()]).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut ready = [0];
        process.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        Self { process, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
