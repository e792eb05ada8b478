//! A Rust client for `airlock.v1`: typed calls, and executions as streams of events that survive broken connections.
//!
//! ```no_run
//! # async fn example() -> Result<(), airlock_client::ClientError> {
//! use airlock_client::{Client, Settings, v1};
//!
//! let client = Client::connect(Settings::new("https://airlock.example:7443")).await?;
//! let spec = v1::ExecutionSpec { command: "pytest -q".into(), ..Default::default() };
//! let mut events = client.run(spec);
//! while let Some(event) = events.next().await? {
//!     println!("{event:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This crate prints nothing, does not read the environment, and touches only files that a call or the settings name.

#![forbid(unsafe_code)]

mod calls;
mod download;
mod error;
mod events;
mod files;
mod folders;
mod input;
mod live;
mod output;
mod retry;
mod search;
mod seen;
mod settings;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod upload;
mod watch;
mod way;

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;
use tonic::{Streaming, transport::Channel};

pub use airlock_proto::v1;
pub use download::Download;
pub use error::{ClientError, Rejection, Violation};
pub use events::{Events, From};
pub use folders::{FolderDownloaded, FolderOptions, FolderUploaded};
pub use input::Written;
pub use output::{OutputPiece, OutputReader, Selection};
pub use settings::{Credentials, Files, Patience, Settings};
pub use upload::Progress;
pub use watch::Watch;

use live::Live;
use settings::Wire;

/// The largest response, in bytes. The server bounds a page of full executions below this.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// The timeout of a call that does not wait.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of a call that waits for a runner.
const SLOW_CALL_TIMEOUT: Duration = Duration::from_secs(90);
/// The timeout for the first message of a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to a server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    /// The settings as they were given. The CA and the credentials in use may be newer.
    settings: Arc<Settings>,
    live: Live,
    /// Blocking work on local files.
    disk: TaskTracker,
}

impl Client {
    /// Connects to a server. A broken connection is re-established automatically.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if the settings are invalid, [`ClientError::Transport`] if the server cannot be
    /// reached within a few seconds.
    pub async fn connect(settings: Settings) -> Result<Self, ClientError> {
        let calls = settings.way()?.connect(&settings.patience).await.map_err(|error| {
            ClientError::from_status(&settings.address, &tonic::Status::from_error(error.into()))
        })?;
        Self::over(settings, calls)
    }

    /// Returns a client that connects at its first call. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if the settings are invalid.
    pub fn connect_lazy(settings: Settings) -> Result<Self, ClientError> {
        let calls = settings.way()?.connect_lazy();
        Self::over(settings, calls)
    }

    fn over(settings: Settings, calls: Channel) -> Result<Self, ClientError> {
        let live = Live::new(&settings, calls)?;
        Ok(Self { settings: Arc::new(settings), live, disk: TaskTracker::new() })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.settings.address
    }

    /// Runs a command and returns its events, from its beginning to its end. Nothing is sent before the first
    /// [`Events::next`]. A spec without `request_id` gets one, so that the start can be repeated after a broken
    /// connection and the command still runs at most once.
    ///
    /// Dropping the events ends the view, not the command (but see `kill_on_disconnect`).
    #[must_use]
    pub fn run(&self, spec: v1::ExecutionSpec) -> Events {
        Events::run(self.clone(), with_request_id(spec))
    }

    /// Returns the events of an execution from its beginning, or from a reader's position. Nothing is sent before the
    /// first [`Events::next`]. All views of a client share one connection. At most 256 can be open at once, unless the
    /// server allows another number; further views wait.
    #[must_use]
    pub fn attach(&self, execution_id: impl Into<String>, from: From) -> Events {
        Events::attach(self.clone(), execution_id.into(), from)
    }

    /// Waits until this client and its clones have finished their work on local files. A dropped directory copy needs
    /// a moment to remove its partial result.
    pub async fn settled(&self) {
        self.disk.close();
        self.disk.wait().await;
    }

    fn patience(&self) -> Patience {
        self.settings.patience
    }

    fn calls(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.calls.clone(), now.headers.clone())
    }

    fn views(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.views.clone(), now.headers.clone())
    }

    /// Returns a separate connection, for a stream that can block because the other side stops reading.
    fn own_wire(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.way.connect_lazy(), now.headers.clone())
    }

    /// Returns the next message of a view that received its last new data at `since`. Fails if the view stays silent
    /// for too long. Cancel-safe.
    async fn heard<T>(&self, view: &mut Streaming<T>, since: Instant) -> Result<Option<T>, ClientError> {
        let left = self.patience().silence.saturating_sub(since.elapsed());
        match timeout(left, view.message()).await {
            Ok(message) => message.map_err(|status| self.error(&status)),
            Err(_) => Err(self.transport("the connection is up, but no data arrives")),
        }
    }

    fn transport(&self, message: &str) -> ClientError {
        ClientError::Transport { address: self.address().to_owned(), message: message.to_owned() }
    }

    fn contract(&self, message: &str) -> ClientError {
        ClientError::Contract { address: self.address().to_owned(), message: message.to_owned() }
    }

    fn error(&self, status: &tonic::Status) -> ClientError {
        ClientError::from_status(&self.settings.address, status)
    }
}

fn with_request_id(mut spec: v1::ExecutionSpec) -> v1::ExecutionSpec {
    if spec.request_id.is_empty() {
        spec.request_id = uuid::Uuid::new_v4().to_string();
    }
    spec
}
