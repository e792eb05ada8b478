//! The starts and ends of executions as they happen, each once, across broken connections.

use bytes::Bytes;
use tonic::Streaming;

use super::{
    Client, ClientError,
    connection::{Connection, OPEN_TIMEOUT},
    retry::Retries,
    v1::{
        ExecutionServiceWatchRequest, ExecutionServiceWatchResponse, WatchKind,
        execution_service_client::ExecutionServiceClient,
    },
};

/// A watch of executions.
#[derive(Debug)]
pub struct Watch {
    connection: Connection,
    session_id: String,
    cursor: Bytes,
    active: bool,
    view: Option<Streaming<ExecutionServiceWatchResponse>>,
    retries: Retries,
}

impl Client {
    /// Watches the executions of a session, or with an empty ID those of the caller's tenant. With `cursor`
    /// the watch continues after that event; with an empty cursor it starts now. Nothing is sent before the
    /// first [`Watch::next`]; dropping the watch ends it.
    #[must_use]
    pub fn watch(&self, session_id: impl Into<String>, cursor: Bytes) -> Watch {
        Watch {
            connection: self.connection.clone(),
            session_id: session_id.into(),
            cursor,
            active: false,
            view: None,
            retries: Retries::new(&self.connection.patience()),
        }
    }
}

impl Watch {
    /// Returns the next event. The first event has no execution. It confirms that the watch is active: later events are
    /// not missed. Waits until there is an event. Cancel-safe.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] if the server refuses the watch (`OUT_OF_RANGE` for a cursor that is too old),
    /// [`ClientError::Transport`] if it could not be reopened within `Patience::view`.
    pub async fn next(&mut self) -> Result<ExecutionServiceWatchResponse, ClientError> {
        loop {
            match self.step().await {
                Ok(event) => {
                    self.retries.reset();
                    self.cursor.clone_from(&event.cursor);
                    let header = event.kind() == WatchKind::Unspecified && event.execution.is_none();
                    if header && std::mem::replace(&mut self.active, true) {
                        continue;
                    }
                    return Ok(event);
                }
                Err(error) => {
                    self.view = None;
                    self.retries.outlast(error, self.connection.patience().view).await?;
                }
            }
        }
    }

    async fn step(&mut self) -> Result<ExecutionServiceWatchResponse, ClientError> {
        let view = match &mut self.view {
            Some(view) => view,
            None => {
                let view = self.open().await?;
                self.view.insert(view)
            }
        };
        match view.message().await {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(self.connection.transport("the watch ended")),
            Err(status) => Err(self.connection.error(&status)),
        }
    }

    async fn open(&self) -> Result<Streaming<ExecutionServiceWatchResponse>, ClientError> {
        let request =
            ExecutionServiceWatchRequest { session_id: self.session_id.clone(), cursor: self.cursor.clone() };
        let mut client = ExecutionServiceClient::new(self.connection.views());
        match tokio::time::timeout(OPEN_TIMEOUT, client.watch(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.connection.error(&status)),
            Err(_) => Err(self.connection.transport("the watch did not start in time")),
        }
    }
}
