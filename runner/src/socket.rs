//! Unix sockets in the state directory, for requests from local processes. Only the runner's own user may connect. The
//! runner listens on no other socket.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

const OWNER_ONLY: u32 = 0o600;
/// The pause after a failed accept, for example when no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound socket. The socket file is removed on drop.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl LocalSocket {
    /// Binds the socket in `state_dir`, which the caller has locked. Replaces the socket of a dead runner. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn bind(state_dir: &Path, name: &str) -> io::Result<Self> {
        let path = state_dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let directory = File::open(state_dir)?;
        let listener = UnixListener::bind(short(&directory, name))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(OWNER_ONLY))?;
        Ok(Self { listener, path })
    }

    /// Waits for the next connection. Returns `None` once `cancel` is cancelled.
    pub(crate) async fn accept(&self, cancel: &CancellationToken) -> Option<UnixStream> {
        loop {
            match cancel.run_until_cancelled(self.listener.accept()).await? {
                Ok((client, _)) => return Some(client),
                Err(error) => {
                    tracing::warn!(%error, socket = %self.path.display(), "cannot accept connections on the \
                                                                           local socket");
                    cancel.run_until_cancelled(tokio::time::sleep(PAUSE)).await?;
                }
            }
        }
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // The file may be removed already, or replaced by the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to the runner of `state_dir`.
///
/// # Errors
/// The error of the operating system.
pub(crate) async fn connect(state_dir: &Path, name: &str) -> io::Result<UnixStream> {
    let directory = File::open(state_dir)?;
    UnixStream::connect(short(&directory, name)).await
}

/// Returns a path that fits into a socket address, however long the directory's path is.
fn short(directory: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}
