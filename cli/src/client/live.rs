//! The connections of a client, with the credentials of now: files that change are read again, and the next call goes
//! over new connections. Calls and views that are open stay where they are.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use tonic::transport::Channel;

use super::{
    ClientError, Settings,
    settings::{Credentials, Files, Headers},
    way::Way,
};

/// Between two looks at the files.
const LOOK: Duration = Duration::from_secs(1);

/// The connections in use. A cheap handle; all clones are one.
#[derive(Debug, Clone)]
pub(super) struct Live(Arc<RwLock<Arc<Made>>>);

/// What calls go over.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) headers: Headers,
    pub(super) way: Way,
    pub(super) calls: Channel,
    // Views have a connection of their own, so that output nobody reads cannot hold up a Cancel.
    pub(super) views: Channel,
}

impl Live {
    /// Follows the files of the settings, if they name any, until the last clone is dropped. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Settings`] where the settings cannot be used.
    pub(super) fn new(settings: &Settings, calls: Channel) -> Result<Self, ClientError> {
        let way = settings.way()?;
        let made = Made { headers: settings.headers()?, views: way.connect_lazy(), way, calls };
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
        let way = settings.way()?;
        Ok(Self { headers: settings.headers()?, calls: way.connect_lazy(), views: way.connect_lazy(), way })
    }
}

/// Replaces the connections whenever the files hold something else that can be used; otherwise those of before stay.
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
    /// Blocks.
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

/// Of a file. A pipe is not read again: that could wait without an end.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::read(path)
}
