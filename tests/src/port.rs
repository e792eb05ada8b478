//! A port of the loopback interface that is reserved for one test, even while no server listens on it.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// The range is below that of outgoing connections, and separate from the ports in `docs/` (17443, 17444) and those of
/// `scripts/engine.sh` (12000 to 16999).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A reserved port. A program of the test can listen on it; no other test can reserve it until this is dropped.
#[derive(Debug)]
pub struct Port {
    /// The loopback address with this port.
    pub address: SocketAddr,
    /// The socket is bound but never listens. A server can listen on the same port because it sets `SO_REUSEADDR`.
    /// Another reservation does not set it, and fails.
    _held: TcpSocket,
}

impl Port {
    /// Reserves a port.
    ///
    /// # Panics
    /// If all ports of the range are in use.
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
