//! Whether the runner can do its work, asked over a unix socket in its state folder: the probe that
//! supervisors run. The runner listens nowhere else.
//!
//! Answers one line to whoever connects, reads nothing, and waits for nobody.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::core::Core;

/// The socket, in the state folder.
const SOCKET: &str = "ready.sock";
const OWNER_ONLY: u32 = 0o600;
/// Of one answer: who does not take it in time goes without.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// After an accept that failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
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

/// The socket, for as long as it is bound.
#[derive(Debug)]
pub(crate) struct ReadySocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ReadySocket {
    /// Binds it in `state_dir`, which the caller has locked; one that a dead runner left is replaced.
    ///
    /// # Errors
    /// What the system says. Must be called within a tokio runtime.
    pub(crate) fn bind(state_dir: &Path) -> io::Result<Self> {
        let path = state_dir.join(SOCKET);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let folder = File::open(state_dir)?;
        let listener = UnixListener::bind(short(&folder))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(OWNER_ONLY))?;
        Ok(Self { listener, path })
    }

    /// Answers until `cancel`, one asker after the other.
    pub(crate) async fn serve(self, core: Arc<Core>, cancel: CancellationToken) {
        while let Some(accepted) = cancel.run_until_cancelled(self.listener.accept()).await {
            match accepted {
                Ok((mut asker, _)) => {
                    let answer = state(&core);
                    // Who went away needs no answer.
                    let _ = timeout(ANSWER_WAIT, asker.write_all(answer.as_bytes())).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "the readiness socket cannot be answered on");
                    let _ = cancel.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
                }
            }
        }
    }
}

impl Drop for ReadySocket {
    fn drop(&mut self) {
        // Gone already, or replaced by the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// A path that fits into a socket's address, however long the folder's is.
fn short(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()))
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
    let folder = File::open(state_dir)?;
    let socket = UnixStream::connect(short(&folder)).await?;
    let mut answer = String::new();
    socket.take(ANSWER_BYTES).read_to_string(&mut answer).await?;
    Ok(answer)
}
