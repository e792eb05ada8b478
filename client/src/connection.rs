//! The connections of a client, and the conversion of failures to its errors. Calls and streams hold a clone.

use std::{
    fs,
    future::Future,
    io,
    path::Path,
    sync::{Arc, PoisonError, RwLock, Weak, atomic::AtomicBool},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;
use tonic::{Response, Status, Streaming, transport::Channel};

use super::{
    ClientError, Patience, Settings,
    connector::Connector,
    retry::retrying,
    settings::{Credentials, Files, Headers, Wire},
};

/// The largest response, in bytes. The server bounds a page of full executions below this.
pub(super) const ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// The timeout for the first message of a stream.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The connections of a client. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    /// The settings as they were given. The CA and the credentials in use may be newer.
    settings: Arc<Settings>,
    live: Live,
    /// Blocking work on local files.
    disk: TaskTracker,
    /// Whether the server is known to support network rules.
    knows_network: Arc<AtomicBool>,
}

impl Connection {
    /// Connects now.
    pub(super) async fn open(settings: Settings) -> Result<Self, ClientError> {
        let calls = settings.connector()?.connect(&settings.patience).await.map_err(|error| {
            ClientError::from_status(&settings.address, &Status::from_error(error.into()))
        })?;
        Self::over(settings, calls)
    }

    /// Connects at the first call. Must be called within a tokio runtime.
    pub(super) fn lazy(settings: Settings) -> Result<Self, ClientError> {
        let calls = settings.connector()?.connect_lazy();
        Self::over(settings, calls)
    }

    fn over(settings: Settings, calls: Channel) -> Result<Self, ClientError> {
        let live = Live::new(&settings, calls)?;
        Ok(Self {
            settings: Arc::new(settings),
            live,
            disk: TaskTracker::new(),
            knows_network: Arc::default(),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.settings.address
    }

    pub(super) fn patience(&self) -> Patience {
        self.settings.patience
    }

    /// Returns the tracker of blocking work on local files.
    pub(super) fn disk(&self) -> &TaskTracker {
        &self.disk
    }

    /// Returns the flag that records whether the server is known to support network rules.
    pub(super) fn knows_network(&self) -> &AtomicBool {
        &self.knows_network
    }

    /// Returns the connection for unary calls.
    pub(super) fn calls(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.calls.clone(), now.headers.clone())
    }

    /// Returns the connection that all views share.
    pub(super) fn views(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.views.clone(), now.headers.clone())
    }

    /// Returns a separate connection, for a stream that can block because the other side stops reading.
    pub(super) fn separate(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.connector.connect_lazy(), now.headers.clone())
    }

    /// Makes a unary call, and repeats it while the server cannot be reached, for at most `Patience::call`.
    pub(super) async fn call<T, F, Fut>(&self, timeout: Duration, send: F) -> Result<T, ClientError>
    where
        F: Fn(Wire, Duration) -> Fut,
        Fut: Future<Output = Result<Response<T>, Status>>,
    {
        retrying(&self.patience(), || async {
            match send(self.calls(), timeout).await {
                Ok(answer) => Ok(answer.into_inner()),
                Err(status) => Err(self.error(&status)),
            }
        })
        .await
    }

    /// Returns a required part of a response. A missing part is a violation of the contract.
    pub(super) fn present<T>(&self, part: Option<T>, what: &str) -> Result<T, ClientError> {
        part.ok_or_else(|| self.contract(&format!("its answer contains no {what}")))
    }

    /// Returns the next message of a view that received its last new data at `since`. Fails if the view stays silent
    /// for too long. Cancel-safe.
    pub(super) async fn heard<T>(
        &self,
        view: &mut Streaming<T>,
        since: Instant,
    ) -> Result<Option<T>, ClientError> {
        let left = self.patience().silence.saturating_sub(since.elapsed());
        match timeout(left, view.message()).await {
            Ok(message) => message.map_err(|status| self.error(&status)),
            Err(_) => Err(self.transport("the connection is up, but no data arrives")),
        }
    }

    pub(super) fn transport(&self, message: &str) -> ClientError {
        ClientError::Transport { address: self.address().to_owned(), message: message.to_owned() }
    }

    pub(super) fn contract(&self, message: &str) -> ClientError {
        ClientError::Contract { address: self.address().to_owned(), message: message.to_owned() }
    }

    pub(super) fn error(&self, status: &Status) -> ClientError {
        ClientError::from_status(&self.settings.address, status)
    }
}

/// The interval between two checks of the files.
///
/// The connections of a client, with its current credentials. Changed files are read again, and the next call uses
/// new connections. Open calls and views keep their connections.
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
