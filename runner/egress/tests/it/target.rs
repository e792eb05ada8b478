//! Servers on loopback that count and record what reaches them.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::fixture::LISTED;

/// How a target answers.
#[derive(Clone)]
enum Behaviour {
    /// It sends back what it gets.
    Echo,
    /// It answers each head with these bytes.
    Answer(Arc<str>),
}

/// A target. It ends when it is dropped.
pub(crate) struct Target {
    pub(crate) port: u16,
    seen: Arc<Mutex<Seen>>,
    _tasks: JoinSet<()>,
}

/// What reached a target.
#[derive(Default)]
struct Seen {
    connections: usize,
    bytes: Vec<u8>,
}

/// An answer without anything special.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

impl Target {
    pub(crate) async fn echo() -> Self {
        Self::start(LISTED, 0, Behaviour::Echo).await
    }

    pub(crate) async fn web() -> Self {
        Self::answers(OK).await
    }

    pub(crate) async fn answers(answer: &str) -> Self {
        Self::start(LISTED, 0, Behaviour::Answer(answer.into())).await
    }

    /// Starts a web server at another address with the same port.
    pub(crate) async fn beside(&self, address: Ipv4Addr) -> Self {
        Self::start(address, self.port, Behaviour::Answer(OK.into())).await
    }

    async fn start(address: Ipv4Addr, port: u16, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind((address, port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut tasks = JoinSet::new();
        let record = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                record.lock().unwrap().connections += 1;
                connections.spawn(serve(stream, behaviour.clone(), Arc::clone(&record)));
            }
        });
        Self { port, seen, _tasks: tasks }
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Returns what the target received so far.
    pub(crate) fn received(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().bytes).into_owned()
    }

    /// Forgets what the target received so far.
    pub(crate) fn forget(&self) {
        self.seen.lock().unwrap().bytes = Vec::new();
    }

    /// Returns the bytes that the target received so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap().bytes.clone()
    }
}

async fn serve(mut stream: TcpStream, behaviour: Behaviour, seen: Arc<Mutex<Seen>>) {
    let mut buffer = vec![0; 4096];
    let mut since = Vec::new();
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        seen.lock().unwrap().bytes.extend_from_slice(&buffer[..count]);
        if matches!(behaviour, Behaviour::Answer(_)) {
            since.extend_from_slice(&buffer[..count]);
        }
        let written = match &behaviour {
            Behaviour::Echo => stream.write_all(&buffer[..count]).await,
            Behaviour::Answer(answer) if since.windows(4).any(|end| end == b"\r\n\r\n") => {
                since.clear();
                stream.write_all(answer.as_bytes()).await
            }
            Behaviour::Answer(_) => Ok(()),
        };
        if written.is_err() {
            return;
        }
    }
}
