//! The connection data of a local `airlock dev`: `connection.json` in its state directory.

use std::{
    fs::{File, TryLockError},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{ClientError, Credentials, Files, Settings};

/// The largest connection file, in bytes.
const CONNECTION_BYTES: u64 = 64 * 1024;
/// The largest certificate or token file, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;
/// The time that a call waits for a local `airlock dev` to answer again. After a restart, it listens on another
/// address.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connection data of the instance of a state directory: `connection.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevConnection {
    /// The address, `https://HOST:PORT`.
    pub address: String,
    /// The path of the CA certificate (PEM), relative to the directory.
    pub ca: PathBuf,
    /// The path of the client's token file, relative to the directory.
    pub token_file: PathBuf,
    /// The process ID of the instance.
    pub pid: u32,
    /// The default profile.
    pub profile: String,
    /// The directory with further profiles.
    pub profiles: Option<PathBuf>,
}

/// The reason why a state directory has no connection data.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// No instance uses the directory.
    #[error("no `airlock dev` is running with the state directory {}; start one with `airlock dev`", .0.display())]
    NotRunning(PathBuf),
    /// An instance uses the directory, but does not listen yet or no longer listens.
    #[error("the `airlock dev` of {} is starting or stopping; try again in a moment", .0.display())]
    NotReady(PathBuf),
    /// A file cannot be read.
    #[error("reading {} failed: {source}", path.display())]
    Io {
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

impl DevConnection {
    /// Returns the connection data of the instance that holds the lock of the directory. Files alone can be left over.
    ///
    /// # Errors
    /// [`DevError::NotRunning`] if no instance holds the lock, [`DevError::NotReady`] if the instance does not listen.
    pub fn of(directory: &Path) -> Result<Self, DevError> {
        let lock = directory.join("lock");
        let unreadable = |source| DevError::Io { path: lock.clone(), source };
        let file = match File::open(&lock) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(DevError::NotRunning(directory.to_owned()));
            }
            other => other.map_err(unreadable)?,
        };
        match file.try_lock_shared() {
            Ok(()) => return Err(DevError::NotRunning(directory.to_owned())),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(unreadable(source)),
        }
        match Self::read(directory) {
            Err(DevError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Err(DevError::NotReady(directory.to_owned()))
            }
            other => other,
        }
    }

    /// Returns the content of the connection file, which may be that of an earlier instance.
    ///
    /// # Errors
    /// [`DevError::Io`] or [`DevError::Malformed`].
    pub fn read(directory: &Path) -> Result<Self, DevError> {
        let path = directory.join("connection.json");
        serde_json::from_slice(&content(&path, CONNECTION_BYTES)?)
            .map_err(|error| DevError::Malformed { path, message: error.to_string() })
    }

    /// Returns the settings for the instance of the directory. The client waits for it only briefly.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if the CA or the token cannot be read.
    pub fn settings(&self, directory: &Path) -> Result<Settings, ClientError> {
        let (ca, token) = (directory.join(&self.ca), directory.join(&self.token_file));
        let read =
            |path: &Path| content(path, FILE_BYTES).map_err(|error| ClientError::Settings(error.to_string()));
        let mut settings = Settings::new(&self.address);
        settings.patience.call = PATIENCE;
        settings.ca = Some(read(&ca)?);
        let text = String::from_utf8_lossy(&read(&token)?).trim().to_owned();
        if text.is_empty() {
            return Err(ClientError::Settings(format!("the token file `{}` is empty", token.display())));
        }
        settings.credentials = Credentials::Token(text);
        settings.files = Some(Files { ca: Some(ca), token: Some(token), certificate: None });
        Ok(settings)
    }
}

impl Settings {
    /// Returns the settings for the `airlock dev` of a state directory.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if none is running, or if its files cannot be read.
    pub fn of_dev(directory: &Path) -> Result<Self, ClientError> {
        let connection =
            DevConnection::of(directory).map_err(|error| ClientError::Settings(error.to_string()))?;
        connection.settings(directory)
    }
}

fn content(path: &Path, limit: u64) -> Result<Vec<u8>, DevError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let message = format!("it is over {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    };
    read().map_err(|source| DevError::Io { path: path.to_owned(), source })
}
