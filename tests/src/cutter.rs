//! A relay in front of a server that cuts every connection again and again, as a bad network does.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const POLL: Duration = Duration::from_millis(5);

/// A relay. Dropped, it ends all that goes through it.
#[derive(Debug)]
pub struct Cutter {
    /// Where to connect instead of to the server.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    cut: AtomicUsize,
    pairs: Mutex<Vec<(TcpStream, TcpStream)>>,
}

impl Shared {
    /// Ends every connection there is.
    fn cut_all(&self) {
        let pairs = std::mem::take(&mut *self.pairs.lock().unwrap_or_else(PoisonError::into_inner));
        for (client, server) in pairs {
            // One that is closed already is not counted.
            let open = client.shutdown(Shutdown::Both).is_ok() & server.shutdown(Shutdown::Both).is_ok();
            self.cut.fetch_add(usize::from(open), Ordering::Relaxed);
        }
    }
}

impl Cutter {
    /// Relays to `to`, and cuts all connections once in `every`.
    ///
    /// # Panics
    /// If there is no port to listen on.
    #[must_use]
    pub fn new(to: SocketAddr, every: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || relay(&listener, to, every, &shared))
        };
        Self { address, shared, thread: Some(thread) }
    }

    /// Cuts all connections now.
    pub fn cut(&self) {
        self.shared.cut_all();
    }

    /// How many connections were cut while they were in use or could be.
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

fn relay(listener: &TcpListener, to: SocketAddr, every: Duration, shared: &Shared) {
    let mut next = Instant::now() + every;
    while !shared.stop.load(Ordering::Relaxed) {
        if Instant::now() >= next {
            shared.cut_all();
            next = Instant::now() + every;
        }
        match listener.accept() {
            // A server that is away is as good as a cut.
            Ok((client, _)) => drop(carry(client, to, shared)),
            Err(_) => thread::sleep(POLL),
        }
    }
}

fn carry(client: TcpStream, to: SocketAddr, shared: &Shared) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    client.set_nonblocking(false)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let pair = (client.try_clone()?, server.try_clone()?);
    copy(client.try_clone()?, server.try_clone()?);
    copy(server, client);
    shared.pairs.lock().unwrap_or_else(PoisonError::into_inner).push(pair);
    Ok(())
}

/// Its thread ends with the connection, which the relay ends at the latest.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        drop(io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Write));
    });
}
