//! Whether the runner can do its work, asked over a unix socket in its state folder: the probe that
//! supervisors run.
//!
//! Answers one line to whoever connects, reads nothing, and waits for nobody.

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
    core::Core,
    socket::{LocalSocket, connect},
};

/// The socket, in the state folder.
pub(crate) const SOCKET: &str = "ready.sock";
/// Of one answer: who does not take it in time goes without.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// Of an answer, in bytes.
const ANSWER_BYTES: u64 = 1024;
const READY: &str = "ready";

/// What keeps a runner from being ready.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// Nobody answers in its state folder.
    #[error("no runner answers in `{}`: {cause}; start it, or name the configuration that it runs with", folder.display())]
    NotRunning {
        /// The state folder.
        folder: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// It runs, and says why not.
    #[error("{0}")]
    Said(String),
}

/// Answers until `cancel`, one asker after the other.
pub(crate) async fn serve(socket: LocalSocket, core: Arc<Core>, cancel: CancellationToken) {
    while let Some(mut asker) = socket.asker(&cancel).await {
        let answer = state(&core);
        // Who went away needs no answer.
        let _ = timeout(ANSWER_WAIT, asker.write_all(answer.as_bytes())).await;
    }
}

fn state(core: &Core) -> String {
    if let Some(below) = core.below_floor() {
        return format!("{below}\n");
    }
    let said = match (core.clock.is_linked(), core.is_draining()) {
        (_, true) => "it drains, and takes no new commands\n",
        (true, false) => "ready\n",
        (false, false) => {
            "no link to a server is up; is a server reachable, and does it take this runner? see `airlock-runner doctor` and the runner's log\n"
        }
    };
    said.to_owned()
}

/// Asks the runner of `state_dir`: ready is who has a link to a server, on which it has told what it has,
/// and does not drain, on a host that holds the floor. Takes at most `patience`.
///
/// # Errors
/// See [`NotReady`].
pub async fn ask(state_dir: &Path, patience: Duration) -> Result<(), NotReady> {
    let gone =
        |error: io::Error| NotReady::NotRunning { folder: state_dir.to_owned(), cause: error.to_string() };
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
