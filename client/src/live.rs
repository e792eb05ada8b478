//! The connections of a client, with its current credentials. Changed files are read again, and the next call uses
//! new connections. Open calls and views keep their connections.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use tonic::transport::Channel;

use super::{
    ClientError, Settings,
    connector::Connector,
    settings::{Credentials, Files, Headers},
};

/// The interval between two checks of the files.
const LOOK: Duration = Duration::from_secs(1);

/// The current connections. A cheap handle; all clones share them.
#[derive(Debug, Clone)]
pub(super) struct Live(Arc<RwLock<Arc<Made>>>);

/// The connections and headers of calls.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) headers: Headers,
    pub(super) connector: Connector,
    pub(super) calls: Channel,
    // Views have a separate connection, so that unread output cannot block a Cancel.
    pub(super) views: Channel,
}

impl Live {
    /// Creates the connections and, if the settings name files, follows those files until the last clone is dropped.
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if the settings are invalid.
    pub(super) fn new(settings: &Settings, calls: Channel) -> Result<Self, ClientError> {
        let connector = settings.connector()?;
        let made = Made { headers: settings.headers()?, views: connector.connect_lazy(), connector, calls };
        let this = Self(Arc::new(RwLock::new(Arc::new(made))));
        if let Some(files) = settings.files.clone() {
            tokio::spawn(follow(Arc::downgrade(&this.0), settings.clone(), files));
        }
        Ok(this)
    }

    pub(super) fn now(&self) -> Arc<Made> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Made {
    fn with(settings: &Settings) -> Result<Self, ClientError> {
        let connector = settings.connector()?;
        Ok(Self {
            headers: settings.headers()?,
            calls: connector.connect_lazy(),
            views: connector.connect_lazy(),
            connector,
        })
    }
}

/// Replaces the connections when the files have new, valid content. With invalid content the current connections
/// stay.
async fn follow(live: Weak<RwLock<Arc<Made>>>, mut settings: Settings, files: Files) {
    loop {
        tokio::time::sleep(LOOK).await;
        if live.strong_count() == 0 {
            return;
        }
        let files = files.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        let Ok(Ok((ca, credentials))) = read else { continue };
        if ca == settings.ca && credentials == settings.credentials {
            continue;
        }
        let new = Settings { ca, credentials, ..settings.clone() };
        let Ok(made) = Made::with(&new) else { continue };
        let Some(live) = live.upgrade() else { return };
        *live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
        settings = new;
    }
}

impl Files {
    /// Reads the files. Blocks.
    fn read(&self) -> io::Result<(Option<Vec<u8>>, Credentials)> {
        let ca = self.ca.as_deref().map(content).transpose()?;
        let credentials = match (&self.token, &self.certificate) {
            (Some(token), _) => match String::from_utf8_lossy(&content(token)?).trim() {
                "" => return Err(io::ErrorKind::InvalidData.into()),
                token => Credentials::Token(token.to_owned()),
            },
            (None, Some((chain, key))) => {
                Credentials::Certificate { chain: content(chain)?, key: content(key)? }
            }
            (None, None) => Credentials::None,
        };
        Ok((ca, credentials))
    }
}

/// Returns the content of a file. A pipe is refused, because reading it again could block forever.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::read(path)
}
