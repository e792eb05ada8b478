//! Unix sockets in the state folder, by which this host asks the runner something. Only the runner's own user may
//! connect; the runner listens nowhere else.

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
/// After an accept that failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket, for as long as it is bound.
#[derive(Debug)]
pub(crate) struct LocalSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl LocalSocket {
    /// Binds it in `state_dir`, which the caller has locked; one that a dead runner left is replaced.
    ///
    /// # Errors
    /// What the system says. Must be called within a tokio runtime.
    pub(crate) fn bind(state_dir: &Path, name: &str) -> io::Result<Self> {
        let path = state_dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let folder = File::open(state_dir)?;
        let listener = UnixListener::bind(short(&folder, name))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(OWNER_ONLY))?;
        Ok(Self { listener, path })
    }

    /// The next who asks; nobody once it is cancelled.
    pub(crate) async fn asker(&self, cancel: &CancellationToken) -> Option<UnixStream> {
        loop {
            match cancel.run_until_cancelled(self.listener.accept()).await? {
                Ok((asker, _)) => return Some(asker),
                Err(error) => {
                    tracing::warn!(%error, socket = %self.path.display(), "it cannot be answered on");
                    cancel.run_until_cancelled(tokio::time::sleep(PAUSE)).await?;
                }
            }
        }
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // Gone already, or replaced by the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to the runner of `state_dir`.
///
/// # Errors
/// What the system says.
pub(crate) async fn connect(state_dir: &Path, name: &str) -> io::Result<UnixStream> {
    let folder = File::open(state_dir)?;
    UnixStream::connect(short(&folder, name)).await
}

/// A path that fits into a socket's address, however long the folder's is.
fn short(folder: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}
