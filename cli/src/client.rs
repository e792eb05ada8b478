//! The Rust client of `airlock.v1`: typed calls, and executions as streams of events that survive
//! broken connections.
//!
//! ```no_run
//! # async fn example() -> Result<(), airlock_cli::client::ClientError> {
//! use airlock_cli::client::{Client, Settings, v1};
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
//! Nothing here prints or looks at the environment, and no file is touched but those that a call or the settings name.

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

/// Of one answer. A page of full executions may be long, and is bounded by what the server sends.
const ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// Of a call whose answer takes no waiting.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Of a call that waits for a runner.
const SLOW_CALL_TIMEOUT: Duration = Duration::from_secs(90);
/// For the first sign of a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to a server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    /// As they were given; their authority and credentials may have been replaced since.
    settings: Arc<Settings>,
    live: Live,
    /// Work on disks here.
    disk: TaskTracker,
}

impl Client {
    /// Connects to a server. The connection is made anew by itself when it breaks.
    ///
    /// # Errors
    /// [`ClientError::Settings`] where the settings cannot be used, [`ClientError::Transport`] where
    /// the server cannot be reached within a few seconds.
    pub async fn connect(settings: Settings) -> Result<Self, ClientError> {
        let calls = settings.way()?.connect(&settings.patience).await.map_err(|error| {
            ClientError::from_status(&settings.address, &tonic::Status::from_error(error.into()))
        })?;
        Self::over(settings, calls)
    }

    /// A client that connects at its first call.
    ///
    /// # Errors
    /// [`ClientError::Settings`] where the settings cannot be used. Must be called within a tokio
    /// runtime.
    pub fn connect_lazy(settings: Settings) -> Result<Self, ClientError> {
        let calls = settings.way()?.connect_lazy();
        Self::over(settings, calls)
    }

    fn over(settings: Settings, calls: Channel) -> Result<Self, ClientError> {
        let live = Live::new(&settings, calls)?;
        Ok(Self { settings: Arc::new(settings), live, disk: TaskTracker::new() })
    }

    /// Where the server is.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.settings.address
    }

    /// Runs a command and gives its events, from its beginning to its end. Nothing is sent before the
    /// first [`Events::next`]. A spec without `request_id` gets one, so that the start can be repeated
    /// after a broken connection and the command still runs at most once.
    ///
    /// Dropping the events ends the view, not the command (but see `kill_on_disconnect`).
    #[must_use]
    pub fn run(&self, spec: v1::ExecutionSpec) -> Events {
        Events::run(self.clone(), with_request_id(spec))
    }

    /// The events of an execution from its beginning, or from where a reader was. Nothing is sent
    /// before the first [`Events::next`]. All views of a client share a connection; at most 256 can be
    /// open at once, unless the server says otherwise, and views beyond that wait.
    #[must_use]
    pub fn attach(&self, execution_id: impl Into<String>, from: From) -> Events {
        Events::attach(self.clone(), execution_id.into(), from)
    }

    /// Waits until nothing of this client and its clones works on a disk any more: a copy of a folder whose
    /// call was dropped takes a moment to remove what is half there.
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

    /// A connection of its own, for what may stand still because the other side takes nothing.
    fn own_wire(&self) -> Wire {
        let now = self.live.now();
        Wire::new(now.way.connect_lazy(), now.headers.clone())
    }

    /// The next message of a view that has brought nothing new since `since`, and should. Cancel-safe.
    async fn heard<T>(&self, view: &mut Streaming<T>, since: Instant) -> Result<Option<T>, ClientError> {
        let left = self.patience().silence.saturating_sub(since.elapsed());
        match timeout(left, view.message()).await {
            Ok(message) => message.map_err(|status| self.error(&status)),
            Err(_) => Err(self.transport("the connection stands, and nothing comes")),
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
