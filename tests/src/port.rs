//! A port of the loopback interface that belongs to one test, also while nothing listens on it.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// Below the range that the system gives to outgoing connections, and apart from the ports of `docs/` (17443, 17444) and
/// those of `scripts/engine.sh` (12000 to 16999).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A reserved port. A program of the test can listen on it; no other test can take it until this is dropped.
#[derive(Debug)]
pub struct Port {
    /// The loopback address with this port.
    pub address: SocketAddr,
    /// Bound, and never listens: a program that sets `SO_REUSEADDR`, as every server does, can listen beside it. Another
    /// reservation does not set it, and fails.
    _held: TcpSocket,
}

impl Port {
    /// Reserves a port.
    ///
    /// # Panics
    /// If every port of the range is in use.
    #[must_use]
    pub fn reserve() -> Self {
        let begin = fastrand::u16(..COUNT);
        let mut ports = (0..COUNT).map(|step| FIRST + (begin + step) % COUNT);
        ports.find_map(bind).expect("a free port of the loopback interface")
    }
}

fn bind(port: u16) -> Option<Port> {
    let socket = TcpSocket::new_v4().expect("a socket");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    socket.bind(address).ok()?;
    socket.set_reuseaddr(true).expect("an option of a socket");
    Some(Port { address, _held: socket })
}
