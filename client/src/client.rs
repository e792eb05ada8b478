//! The client: a handle with one method for each call. The modules of `calls` define most of the methods.

use super::{ClientError, Events, From, Settings, connection::Connection, v1};

/// A connection to a server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    pub(super) connection: Connection,
}

impl Client {
    /// Connects to a server. A broken connection is re-established automatically.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if the settings are invalid, [`ClientError::Transport`] if the server cannot be
    /// reached within a few seconds.
    pub async fn connect(settings: Settings) -> Result<Self, ClientError> {
        Ok(Self { connection: Connection::open(settings).await? })
    }

    /// Returns a client that connects at its first call. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Settings`] if the settings are invalid.
    pub fn connect_lazy(settings: Settings) -> Result<Self, ClientError> {
        Ok(Self { connection: Connection::lazy(settings)? })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> &str {
        self.connection.address()
    }

    /// Runs a command and returns its events, from its beginning to its end. Nothing is sent before the first
    /// [`Events::next`]. If `spec` has no `request_id`, the client sets one. It can then repeat the start after a
    /// broken connection, and the command still runs at most once.
    ///
    /// Dropping the events ends the view, not the command (but see `kill_on_disconnect`).
    #[must_use]
    pub fn run(&self, spec: v1::ExecutionSpec) -> Events {
        Events::run(self.connection.clone(), with_request_id(spec))
    }

    /// Returns the events of an execution from its beginning, or from a reader's position. Nothing is sent before the
    /// first [`Events::next`]. All views of a client share one connection. At most 256 can be open at once, unless the
    /// server allows another number; further views wait.
    #[must_use]
    pub fn attach(&self, execution_id: impl Into<String>, from: From) -> Events {
        Events::attach(self.connection.clone(), execution_id.into(), from)
    }

    /// Waits until this client and its clones have finished their work on local files. A dropped directory copy needs
    /// a moment to remove its partial result.
    pub async fn settled(&self) {
        let disk = self.connection.disk();
        disk.close();
        disk.wait().await;
    }
}

/// Returns the spec with a request ID.
pub(super) fn with_request_id(mut spec: v1::ExecutionSpec) -> v1::ExecutionSpec {
    if spec.request_id.is_empty() {
        spec.request_id = uuid::Uuid::new_v4().to_string();
    }
    spec
}
