//! The readiness probe for supervisors: a unix socket in the state directory.
//!
//! The runner writes one line to each connection. It reads nothing from the connection and does not wait for the peer.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    floor::Below,
    services::{Draining, LinkState},
    socket::{LocalSocket, connect},
};

/// The name of the socket in the state directory.
pub(crate) const SOCKET: &str = "ready.sock";
/// The timeout for writing one answer.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// The maximum size of an answer, in bytes.
const ANSWER_BYTES: u64 = 1024;
const READY: &str = "ready";

/// The reason why a runner is not ready.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// No process answers on the socket.
    #[error("no runner answers in `{}`: {cause}; start it, or name the configuration that it runs with", directory.display())]
    NotRunning {
        /// The state directory.
        directory: PathBuf,
        /// The error of the operating system.
        cause: String,
    },
    /// The runner runs and reported the reason.
    #[error("{0}")]
    Said(String),
}

/// The state that decides whether the runner is ready.
#[derive(Debug)]
pub(crate) struct Readiness {
    pub(crate) below: Below,
    pub(crate) links: Arc<LinkState>,
    pub(crate) draining: Arc<Draining>,
}

/// Answers connections one after the other until `cancel`.
pub(crate) async fn serve(socket: LocalSocket, readiness: Readiness, cancel: CancellationToken) {
    while let Some(mut client) = socket.accept(&cancel).await {
        let answer = state(&readiness);
        // A peer that disconnected needs no answer.
        let _ = timeout(ANSWER_WAIT, client.write_all(answer.as_bytes())).await;
    }
}

fn state(readiness: &Readiness) -> String {
    if let Some(below) = readiness.below.as_text() {
        return format!("{below}\n");
    }
    let said = match (readiness.links.is_linked(), readiness.draining.is_on()) {
        (_, true) => "it drains, and takes no new commands\n",
        (true, false) => "ready\n",
        (false, false) => {
            "no link to a server is up; check with `airlock-runner doctor` and the runner's log that a \
             server is reachable and accepts this runner\n"
        }
    };
    said.to_owned()
}

/// Asks the runner of `state_dir` whether it is ready. A ready runner has a link on which its full state was
/// reported, does not drain, and meets the floor. Waits at most `patience`.
///
/// # Errors
/// See [`NotReady`].
pub async fn ask(state_dir: &Path, patience: Duration) -> Result<(), NotReady> {
    let gone =
        |error: io::Error| NotReady::NotRunning { directory: state_dir.to_owned(), cause: error.to_string() };
    let asked = timeout(patience, answer(state_dir)).await;
    let answer = asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(gone)?;
    match answer.trim() {
        READY => Ok(()),
        "" => Err(gone(io::ErrorKind::UnexpectedEof.into())),
        other => Err(NotReady::Said(other.to_owned())),
    }
}

async fn answer(state_dir: &Path) -> io::Result<String> {
    let mut answer = String::new();
    connect(state_dir, SOCKET).await?.take(ANSWER_BYTES).read_to_string(&mut answer).await?;
    Ok(answer)
}
