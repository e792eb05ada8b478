//! The probes `/healthz` and `/readyz` for supervisors: plain HTTP on a separate address. They report only
//! whether the server runs and whether it accepts new work. They require no credentials and read no more of a
//! request than its head.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::listen::listen;

/// Concurrent clients. Further connections are closed.
const ASKERS: usize = 16;
/// The time from a client's connection to the end of the response.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// The pause after a failed accept, for example because no file descriptors are available.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum length of the headers of a request in bytes.
const HEADER_BYTES: usize = 8 * 1024;

/// Whether the server accepts new work.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness {
    /// Cancelled when the store and the output storage are open.
    pub(crate) opened: CancellationToken,
    /// Cancelled when the required links exist.
    pub(crate) linked: CancellationToken,
    /// Cancelled when the server accepts no new work.
    pub(crate) closed: CancellationToken,
}

impl Readiness {
    fn tell(&self) -> (StatusCode, &'static str) {
        let not_yet = StatusCode::SERVICE_UNAVAILABLE;
        match (self.closed.is_cancelled(), self.opened.is_cancelled(), self.linked.is_cancelled()) {
            (true, _, _) => (not_yet, "stopping: no new calls are accepted\n"),
            (false, false, _) => (not_yet, "starting: the store and the output storage are not open yet\n"),
            (false, true, false) => (not_yet, "starting: the links to the runners are not up yet\n"),
            (false, true, true) => (StatusCode::OK, "ready\n"),
        }
    }
}

/// The bound listener.
#[derive(Debug)]
pub(crate) struct Probes(TcpListener);

impl Probes {
    /// Binds the listener. Clients wait until [`Probes::run`].
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        listen(address).map(Self)
    }

    /// Answers probes until `end`. `/healthz` always succeeds; `/readyz` depends on `readiness`. Unfinished
    /// responses are cut at the end.
    pub(crate) async fn run(self, readiness: Readiness, end: CancellationToken) {
        let askers = Arc::new(Semaphore::new(ASKERS));
        while let Some(accepted) = end.run_until_cancelled(self.0.accept()).await {
            let asker = match accepted {
                Ok((asker, _)) => asker,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a probe's connection; retrying");
                    let _ = end.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                    continue;
                }
            };
            let Ok(permit) = askers.clone().try_acquire_owned() else { continue };
            let (readiness, end) = (readiness.clone(), end.clone());
            tokio::spawn(async move {
                // A client that sends an invalid request or disconnects needs no response.
                let _ = end.run_until_cancelled(timeout(ANSWER_WAIT, answer(asker, readiness))).await;
                drop(permit);
            });
        }
    }
}

async fn answer(asker: TcpStream, readiness: Readiness) -> hyper::Result<()> {
    let told = move |request: Request<Incoming>| {
        let told = tell(request.uri().path(), &readiness);
        async move { Ok::<_, Infallible>(told) }
    };
    http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(asker), service_fn(told))
        .await
}

fn tell(path: &str, readiness: &Readiness) -> Response<String> {
    let (status, text) = match path {
        "/healthz" => (StatusCode::OK, "ok\n"),
        "/readyz" => readiness.tell(),
        _ => (StatusCode::NOT_FOUND, "not found; use /healthz or /readyz\n"),
    };
    let mut answer = Response::new(text.to_owned());
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut asker = TcpStream::connect(address).await.unwrap();
        asker.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        asker.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn what_is_asked_is_answered_and_stopping_is_not_ready() {
        let probes = Probes::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = probes.0.local_addr().unwrap();
        let readiness = Readiness::default();
        let end = CancellationToken::new();
        let running = tokio::spawn(probes.run(readiness.clone(), end.clone()));
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");

        let answer = ask(address, &get("/readyz")).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("store"), "{answer}");
        readiness.opened.cancel();
        let answer = ask(address, &get("/readyz")).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("links"), "{answer}");
        readiness.linked.cancel();
        for (path, status) in [("/healthz", "200"), ("/readyz", "200"), ("/", "404")] {
            let answer = ask(address, &get(path)).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(4 * HEADER_BYTES));
        assert!(!ask(address, &long).await.contains(" 200 "));

        // Clients that never complete their request take all slots. They delay only other probes.
        let mut silent = Vec::new();
        for _ in 0..ASKERS {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        drop(silent);

        readiness.closed.cancel();
        let answer = ask(address, &get("/readyz")).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(ask(address, &get("/healthz")).await.starts_with("HTTP/1.1 200 "));
        end.cancel();
        running.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
