//! Test helpers: a seeded random generator, patience with short pauses, and a relay that cuts connections
//! at any byte.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, copy},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::server::Router;

use super::{Client, Patience, Settings};

/// A generator of small pseudo-random numbers that depend only on the seed.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// Serves the services of `router` on a free port until the set is dropped. Returns the address.
pub(super) async fn serve(router: Router, tasks: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move { router.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap() });
    address
}

/// The time that a test waits for an expected event. Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns patience with very short pauses.
pub(super) fn quick() -> Patience {
    Patience {
        call: PATIENCE,
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(5),
        ..Patience::default()
    }
}

pub(super) fn client(address: SocketAddr, patience: Patience) -> Client {
    let mut settings = Settings::new(format!("http://{address}"));
    settings.insecure_loopback = true;
    settings.patience = patience;
    Client::connect_lazy(settings).unwrap()
}

/// The direction in which a relay counts bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Direction {
    Up,
    Down,
}

/// Relays connections to `to`, and cuts the first `cuts` connections after a few bytes in the direction
/// `direction`.
pub(super) async fn relay(
    to: SocketAddr,
    direction: Direction,
    cuts: usize,
    mut rng: Rng,
    tasks: &mut JoinSet<()>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        for number in 0.. {
            let (client, _) = listener.accept().await.unwrap();
            let most = match direction {
                Direction::Up => 40_000,
                Direction::Down => 6000,
            };
            let budget = if number < cuts { 60 + rng.below(most) as u64 } else { u64::MAX };
            connections.spawn(carry(client, to, direction, budget));
        }
    });
    address
}

async fn carry(client: TcpStream, to: SocketAddr, direction: Direction, budget: u64) {
    let server = TcpStream::connect(to).await.unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let (up, down) = match direction {
        Direction::Up => (budget, u64::MAX),
        Direction::Down => (u64::MAX, budget),
    };
    let (mut from_client, mut from_server) = (from_client.take(up), from_server.take(down));
    tokio::select! {
        _ = copy(&mut from_client, &mut to_server) => {}
        _ = copy(&mut from_server, &mut to_client) => {}
    }
}
