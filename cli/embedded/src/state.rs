//! The state directory of `airlock dev`: its location, its permissions, and the file with which other commands find the
//! server. This module starts no server or runner.

use std::{
    env, fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

pub use airlock_client::DevConnection as Connection;
use airlock_client::DevError;
use nix::fcntl::{Flock, FlockArg};

/// The mode of the directory: accessible only to its owner.
const DIRECTORY_MODE: u32 = 0o700;
/// The mode of files with secrets.
const SECRET_MODE: u32 = 0o600;
/// The number of attempts to take the lock. Commands that check for a running instance hold the lock briefly.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory {
    path: PathBuf,
}

/// The exclusive lock of a state directory, held by its instance.
#[derive(Debug)]
pub struct StateLock {
    _lock: Flock<fs::File>,
}

/// An error of a state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// No location is configured.
    #[error("no state directory: set HOME, or name a directory with --state DIR")]
    NoLocation,
    /// The directory cannot be created.
    #[error("cannot create the state directory {}: {source}; name another with --state DIR", path.display())]
    NotCreated {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory belongs to another user.
    #[error("the state directory {} belongs to another user; name another with --state DIR", .0.display())]
    NotOurs(PathBuf),
    /// Another instance uses the directory.
    #[error(
        "another `airlock dev` uses the state directory {}{}; end it, or name another directory with --state \
         DIR",
        .path.display(),
        .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process ID of the other instance, if known.
        pid: Option<u32>,
    },
    /// No instance uses the directory.
    #[error("no `airlock dev` is running with the state directory {}; start one with `airlock dev`", .0.display())]
    NotRunning(PathBuf),
    /// An instance uses the directory, but does not listen yet or no longer listens.
    #[error("the `airlock dev` of {} is starting or stopping; try again in a moment", .0.display())]
    NotReady(PathBuf),
    /// An operation on a file failed.
    #[error("{what} {} failed: {source}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The connection file is invalid.
    #[error("{} is not a connection file: {message}; stop `airlock dev`, remove the file, and start it \
             again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The position and the problem.
        message: String,
    },
}

impl StateDirectory {
    /// Returns the named directory, or the default one.
    ///
    /// # Errors
    /// [`StateError::NoLocation`] if no directory was named and the environment contains no home.
    pub fn locate(named: Option<&Path>) -> Result<Self, StateError> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let path = match named {
            Some(path) => std::path::absolute(path).map_err(io_error("finding", path))?,
            None => absolute("XDG_STATE_HOME")
                .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
                .ok_or(StateError::NoLocation)?
                .join("airlock"),
        };
        Ok(Self { path })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory if necessary, and restricts it to its owner.
    ///
    /// # Errors
    /// [`StateError::NotOurs`] if another user owns the directory.
    pub fn create(&self) -> Result<(), StateError> {
        let path = &self.path;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(path)
            .map_err(|source| StateError::NotCreated { path: path.clone(), source })?;
        let metadata = fs::metadata(path).map_err(io_error("looking at", path))?;
        if metadata.uid() != nix::unistd::geteuid().as_raw() {
            return Err(StateError::NotOurs(path.clone()));
        }
        if metadata.mode() & 0o777 != DIRECTORY_MODE {
            fs::set_permissions(path, fs::Permissions::from_mode(DIRECTORY_MODE))
                .map_err(io_error("protecting", path))?;
        }
        Ok(())
    }

    /// Creates the directory if necessary, restricts it to its owner, and locks it.
    ///
    /// # Errors
    /// [`StateError::InUse`] if another instance holds the lock, and those of [`StateDirectory::create`].
    pub fn take(&self) -> Result<StateLock, StateError> {
        self.create()?;
        for attempt in 0..LOCK_TRIES {
            if attempt > 0 {
                std::thread::sleep(LOCK_PAUSE);
            }
            if let Some(lock) = self.lock()? {
                // A connection file from an earlier instance is stale.
                self.withdraw();
                return Ok(StateLock { _lock: lock });
            }
        }
        let pid = Connection::read(&self.path).ok().map(|connection| connection.pid);
        Err(StateError::InUse { path: self.path.clone(), pid })
    }

    /// Returns the connection data of the instance that holds the lock.
    ///
    /// # Errors
    /// [`StateError::NotRunning`] if no instance holds the lock, even if files remain; [`StateError::NotReady`] if the
    /// instance does not listen.
    pub fn connection(&self) -> Result<Connection, StateError> {
        Ok(Connection::of(&self.path)?)
    }

    /// Writes the connection file atomically.
    ///
    /// # Errors
    /// [`StateError::Io`].
    pub fn publish(&self, connection: &Connection) -> Result<(), StateError> {
        let path = self.connection_path();
        let text = serde_json::to_string_pretty(connection)
            .map_err(|error| StateError::Malformed { path: path.clone(), message: error.to_string() })?;
        write_secret(&path, text.as_bytes())
    }

    /// Removes the connection file.
    pub fn withdraw(&self) {
        // If the removal fails, readers detect the stale file by the lock.
        let _ = fs::remove_file(self.connection_path());
    }

    fn connection_path(&self) -> PathBuf {
        self.path.join("connection.json")
    }

    fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Takes the exclusive lock, or returns `None` if another process holds a lock.
    fn lock(&self) -> Result<Option<Flock<fs::File>>, StateError> {
        let path = self.lock_path();
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(SECRET_MODE)
            .open(&path)
            .map_err(io_error("opening", &path))?;
        try_lock(file, FlockArg::LockExclusiveNonblock).map_err(io_error("locking", &path))
    }
}

impl From<DevError> for StateError {
    fn from(error: DevError) -> Self {
        match error {
            DevError::NotRunning(path) => Self::NotRunning(path),
            DevError::NotReady(path) => Self::NotReady(path),
            DevError::Io { path, source } => Self::Io { what: "reading", path, source },
            DevError::Malformed { path, message } => Self::Malformed { path, message },
        }
    }
}

/// Takes a lock, or returns `None` if another process holds it.
fn try_lock(file: fs::File, how: FlockArg) -> io::Result<Option<Flock<fs::File>>> {
    match Flock::lock(file, how) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// [`StateError::Io`], including for a longer file.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, StateError> {
    let read = || {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, limit + 1), &mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is over {limit} bytes")));
        }
        Ok(bytes)
    };
    read().map_err(io_error("reading", path))
}

/// Writes a file atomically that only its owner can read.
///
/// # Errors
/// [`StateError::Io`].
pub fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let draft = path.with_extension("new");
    let write = || {
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(SECRET_MODE).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(io_error("writing", path))
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    move |source| StateError::Io { what, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
