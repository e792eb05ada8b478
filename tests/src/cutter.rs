//! A relay in front of a server that simulates a bad network. It cuts connections, refuses them, stalls, or cuts after
//! a number of bytes.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const POLL: Duration = Duration::from_millis(5);
/// The number of bytes that are copied at once.
const PIECE: usize = 16 << 10;
/// The value for no cut.
const NEVER: i64 = i64::MAX;
/// More bytes than a TLS handshake and an HTTP/2 preface of the server, so a response is among them.
const ANSWERED: usize = 1300;
/// After this number of consecutive cuts without a response, the interval doubles.
const IN_VAIN: u32 = 2;
/// The longest interval between cuts, as a multiple of the requested one.
const LONGEST: u32 = 16;

/// A relay. Dropping it ends all connections through it.
#[derive(Debug)]
pub struct Cutter {
    /// The address to connect to instead of the server.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    down: AtomicBool,
    stalled: AtomicBool,
    /// The number of bytes in both directions until everything is cut.
    left: AtomicI64,
    cut: AtomicUsize,
    pairs: Mutex<Vec<Pair>>,
}

/// One connection.
#[derive(Debug)]
struct Pair {
    client: TcpStream,
    server: TcpStream,
    /// The number of bytes from the server.
    answered: Arc<AtomicUsize>,
}

impl Shared {
    /// Ends all connections. Returns true if there were some, and none had received a response.
    fn cut_all(&self) -> bool {
        let pairs = std::mem::take(&mut *self.pairs.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut some, mut answer) = (false, false);
        for Pair { client, server, answered } in pairs {
            // A closed connection does not count. This cut may have closed the other side.
            let open = client.shutdown(Shutdown::Both).is_ok();
            drop(server.shutdown(Shutdown::Both));
            self.cut.fetch_add(usize::from(open), Ordering::Relaxed);
            some |= open;
            answer |= open && answered.load(Ordering::Relaxed) >= ANSWERED;
        }
        some && !answer
    }

    /// Returns how many of `bytes` may pass before the cut, if the cut is within them.
    fn cut_within(&self, bytes: usize) -> Option<usize> {
        if self.left.load(Ordering::Relaxed) == NEVER {
            return None;
        }
        let bytes = i64::try_from(bytes).unwrap_or(NEVER);
        let before = self.left.fetch_sub(bytes, Ordering::Relaxed);
        (before <= bytes).then(|| usize::try_from(before).unwrap_or_default())
    }
}

impl Cutter {
    /// Relays to `to`, and cuts all connections once in `every`. On a busy host, connections may be cut before they
    /// receive a response. The interval then grows until there is progress.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn new(to: SocketAddr, every: Duration) -> Self {
        Self::begin(TcpListener::bind("127.0.0.1:0").unwrap(), to, every, || {})
    }

    /// Relays connections from `listener` to `to`, and cuts only on request. The connecting thread calls `first` once.
    #[must_use]
    pub fn at(listener: TcpListener, to: SocketAddr, first: impl FnOnce() + Send + 'static) -> Self {
        Self::begin(listener, to, Duration::MAX, first)
    }

    fn begin(
        listener: TcpListener,
        to: SocketAddr,
        every: Duration,
        first: impl FnOnce() + Send + 'static,
    ) -> Self {
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            stop: AtomicBool::default(),
            down: AtomicBool::default(),
            stalled: AtomicBool::default(),
            left: AtomicI64::new(NEVER),
            cut: AtomicUsize::default(),
            pairs: Mutex::default(),
        });
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                first();
                relay(&listener, to, every, &shared);
            })
        };
        Self { address, shared, thread: Some(thread) }
    }

    /// Relays to `to`, and cuts only on request.
    #[must_use]
    pub fn still(to: SocketAddr) -> Self {
        Self::new(to, Duration::MAX)
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.cut_all();
    }

    /// Cuts all connections, and accepts none until this is reset.
    pub fn set_down(&self, down: bool) {
        self.shared.down.store(down, Ordering::Relaxed);
        if down {
            self.shared.cut_all();
        }
    }

    /// Transfers no data and cuts no connection until this is reset.
    pub fn set_stalled(&self, stalled: bool) {
        self.shared.stalled.store(stalled, Ordering::Relaxed);
    }

    /// Cuts all connections once, after this number of further bytes in both directions.
    pub fn cut_after(&self, bytes: u32) {
        self.shared.left.store(i64::from(bytes), Ordering::Relaxed);
    }

    /// Returns the number of cut connections that were usable.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.shared.cut.load(Ordering::Relaxed)
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        self.shared.cut_all();
    }
}

fn relay(listener: &TcpListener, to: SocketAddr, every: Duration, shared: &Arc<Shared>) {
    let (mut last, mut pause, mut in_vain) = (Instant::now(), every, 0);
    while !shared.stop.load(Ordering::Relaxed) {
        if last.elapsed() >= pause {
            in_vain = if shared.cut_all() { in_vain + 1 } else { 0 };
            pause = match in_vain {
                0 => every,
                IN_VAIN.. => pause.saturating_mul(2).min(every.saturating_mul(LONGEST)),
                _ => pause,
            };
            last = Instant::now();
        }
        match listener.accept() {
            Ok((client, _)) if shared.down.load(Ordering::Relaxed) => drop(client),
            // A server that is not running has the effect of a cut.
            Ok((client, _)) => drop(carry(client, to, shared)),
            Err(_) => thread::sleep(POLL),
        }
    }
}

fn carry(client: TcpStream, to: SocketAddr, shared: &Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    client.set_nonblocking(false)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    // The connection is registered before its first byte, so that a client that has received one can cut it.
    let answered = Arc::new(AtomicUsize::default());
    let pair =
        Pair { client: client.try_clone()?, server: server.try_clone()?, answered: Arc::clone(&answered) };
    shared.pairs.lock().unwrap_or_else(PoisonError::into_inner).push(pair);
    copy(client.try_clone()?, server.try_clone()?, shared, Arc::default());
    copy(server, client, shared, answered);
    Ok(())
}

/// Copies in one direction. The thread ends with the connection, at the latest when the relay is dropped.
fn copy(mut from: TcpStream, mut to: TcpStream, shared: &Arc<Shared>, carried: Arc<AtomicUsize>) {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(got @ 1..) = from.read(&mut piece) {
            while shared.stalled.load(Ordering::Relaxed) && !shared.stop.load(Ordering::Relaxed) {
                thread::sleep(POLL);
            }
            let cut = shared.cut_within(got);
            let passes = piece.get(..cut.unwrap_or(got)).unwrap_or_default();
            if to.write_all(passes).is_err() {
                break;
            }
            carried.fetch_add(passes.len(), Ordering::Relaxed);
            if cut.is_some() {
                shared.left.store(NEVER, Ordering::Relaxed);
                shared.cut_all();
            }
        }
        drop(to.shutdown(Shutdown::Write));
    });
}
