//! A proxy between the server and its storage that forwards requests or injects faults.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// How the proxy treats connections, including those that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultMode {
    /// Forwards them.
    Fair,
    /// Forwards them as if the storage had no conditional writes.
    Forgetful,
    /// Answers each with 503.
    Busy,
    /// Accepts them and never answers.
    Silent,
    /// Closes them.
    Away,
}

/// A proxy in front of a storage. It stops when it is dropped.
pub(super) struct Middle {
    pub(super) address: SocketAddr,
    mode: watch::Sender<FaultMode>,
    refused: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Middle {
    /// Starts a proxy for a port of this host. With `tls`, clients must connect with TLS.
    pub(super) async fn before(port: u16, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mode, modes) = watch::channel(FaultMode::Fair);
        let acceptor = tls.map(TlsAcceptor::from);
        let refused = Arc::new(AtomicU64::new(0));
        let count = refused.clone();
        let task = tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                let (modes, acceptor, refused) = (modes.clone(), acceptor.clone(), count.clone());
                tokio::spawn(async move {
                    match acceptor {
                        Some(acceptor) => {
                            if let Ok(connection) = acceptor.accept(connection).await {
                                treat(connection, port, modes, &refused).await;
                            }
                        }
                        None => treat(connection, port, modes, &refused).await,
                    }
                });
            }
        });
        Self { address, mode, refused, task }
    }

    pub(super) fn set(&self, mode: FaultMode) {
        self.mode.send_replace(mode);
    }

    /// Returns the number of requests that were answered with 503.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Forwards requests, but disables the header of this name.
async fn forget(
    requests: &mut (impl AsyncRead + Unpin),
    storage: &mut (impl AsyncWrite + Unpin),
    header: &[u8],
) {
    let mut read = vec![0; 64 << 10];
    while let Ok(count @ 1..) = requests.read(&mut read).await {
        let passed = &mut read[..count];
        let found: Vec<usize> = passed
            .windows(header.len())
            .enumerate()
            .filter(|(_, text)| *text == header)
            .map(|(at, _)| at)
            .collect();
        for at in found {
            passed[at] = b'x';
        }
        if storage.write_all(passed).await.is_err() {
            return;
        }
    }
}

/// Serves one connection until the mode changes.
async fn treat(
    mut connection: impl AsyncRead + AsyncWrite + Unpin,
    port: u16,
    mut modes: watch::Receiver<FaultMode>,
    refused: &AtomicU64,
) {
    let mode = *modes.borrow_and_update();
    let work = async {
        match mode {
            FaultMode::Fair => {
                let mut storage = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = copy_bidirectional(&mut connection, &mut storage).await;
            }
            FaultMode::Forgetful => {
                let storage = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let (mut answers, mut storage) = storage.into_split();
                let (mut requests, mut client) = tokio::io::split(connection);
                let asked = forget(&mut requests, &mut storage, b"if-none-match");
                tokio::select! {
                    () = asked => {}
                    _ = copy(&mut answers, &mut client) => {}
                }
            }
            FaultMode::Busy => {
                let mut request = [0; 4096];
                while connection.read(&mut request).await.is_ok_and(|count| count > 0) {
                    let answer = "HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    if connection.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            }
            FaultMode::Silent => std::future::pending().await,
            FaultMode::Away => {}
        }
    };
    tokio::select! {
        () = work => {}
        _ = modes.changed() => {}
    }
}
