//! The unary calls, one method each. Each call is safe to repeat, and is repeated while the server cannot be reached,
//! for at most `Patience::call`.

use std::time::Duration;

use tonic::Request;

use super::{
    Client, ClientError,
    client::with_request_id,
    connection::ANSWER_BYTES,
    v1::{
        self, execution_service_client::ExecutionServiceClient, session_service_client::SessionServiceClient,
    },
};

/// The timeout of a call that does not wait.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of a call that waits for a runner.
const SLOW_CALL_TIMEOUT: Duration = Duration::from_secs(90);

macro_rules! call {
    ($connection:expr, $client:ident :: $method:ident, $request:expr, $timeout:expr) => {{
        let request = $request;
        let send = |wire, timeout| {
            let request = with_timeout(request.clone(), timeout);
            async move { $client::new(wire).max_decoding_message_size(ANSWER_BYTES).$method(request).await }
        };
        $connection.call($timeout, send).await
    }};
}

pub(super) mod admin;
mod files;
mod network;
pub(super) mod policy;

impl Client {
    /// Starts a command without a view. A spec without `request_id` gets one, so that the start can be
    /// repeated and the command still runs at most once.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] if the server refuses the start; [`ClientError::StartUnknown`] if no
    /// response arrived.
    pub async fn start(&self, spec: v1::ExecutionSpec) -> Result<v1::Execution, ClientError> {
        self.connection.require_network(spec.network.as_ref()).await?;
        let spec = with_request_id(spec);
        let request_id = spec.request_id.clone();
        let request = v1::ExecutionServiceStartRequest { spec: Some(spec) };
        match call!(self.connection, ExecutionServiceClient::start, request, SLOW_CALL_TIMEOUT) {
            Ok(answer) => self.connection.present(answer.execution, "execution"),
            Err(last @ ClientError::Transport { .. }) => {
                Err(ClientError::StartUnknown { request_id, last: Box::new(last) })
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the execution has finished or `timeout` has expired. The returned state shows which.
    ///
    /// # Errors
    /// As for any call.
    pub async fn wait(&self, execution_id: &str, timeout: Duration) -> Result<v1::Execution, ClientError> {
        let request = v1::ExecutionServiceWaitRequest {
            execution_id: execution_id.to_owned(),
            timeout: prost_types::Duration::try_from(timeout).ok(),
        };
        let deadline = timeout.saturating_add(CALL_TIMEOUT);
        let answer = call!(self.connection, ExecutionServiceClient::wait, request, deadline)?;
        self.connection.present(answer.execution, "execution")
    }

    /// Returns one execution, with its command and decision.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown ID.
    pub async fn execution(&self, execution_id: &str) -> Result<v1::Execution, ClientError> {
        let request = v1::ExecutionServiceGetRequest {
            execution_id: execution_id.to_owned(),
            view: v1::ExecutionView::Full.into(),
        };
        let answer = call!(self.connection, ExecutionServiceClient::get, request, CALL_TIMEOUT)?;
        self.connection.present(answer.execution, "execution")
    }

    /// Returns one page of executions, newest first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn executions(
        &self,
        request: v1::ExecutionServiceListRequest,
    ) -> Result<v1::ExecutionServiceListResponse, ClientError> {
        call!(self.connection, ExecutionServiceClient::list, request, CALL_TIMEOUT)
    }

    /// Requests the end of an execution, and returns its current state.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown ID.
    pub async fn cancel(&self, execution_id: &str) -> Result<v1::Execution, ClientError> {
        let request = v1::ExecutionServiceCancelRequest { execution_id: execution_id.to_owned() };
        let answer = call!(self.connection, ExecutionServiceClient::cancel, request, CALL_TIMEOUT)?;
        self.connection.present(answer.execution, "execution")
    }

    /// Sends a signal to every process of a running command, and returns the execution as it was then.
    /// If the response is lost the signal is sent again, so it can arrive twice.
    ///
    /// # Errors
    /// As for any call; `FAILED_PRECONDITION` (`NOT_RUNNING`) before its start and after its end.
    pub async fn signal(&self, execution_id: &str, signal: v1::Signal) -> Result<v1::Execution, ClientError> {
        let request = v1::ExecutionServiceSignalRequest {
            execution_id: execution_id.to_owned(),
            signal: signal.into(),
        };
        let answer = call!(self.connection, ExecutionServiceClient::signal, request, CALL_TIMEOUT)?;
        self.connection.present(answer.execution, "execution")
    }

    /// Changes the size of a running command's terminal, and returns the execution as it was then.
    ///
    /// # Errors
    /// As for any call; `FAILED_PRECONDITION` (`NOT_RUNNING`, `NO_TERMINAL`).
    pub async fn resize(
        &self,
        execution_id: &str,
        size: v1::TerminalSize,
    ) -> Result<v1::Execution, ClientError> {
        let request =
            v1::ExecutionServiceResizeRequest { execution_id: execution_id.to_owned(), size: Some(size) };
        let answer = call!(self.connection, ExecutionServiceClient::resize, request, CALL_TIMEOUT)?;
        self.connection.present(answer.execution, "execution")
    }

    /// Sends a running command to the background, and returns the execution.
    ///
    /// # Errors
    /// As for any call; `FAILED_PRECONDITION` (`NOT_RUNNING`) before its start and after its end.
    pub async fn detach(&self, execution_id: &str) -> Result<v1::Execution, ClientError> {
        let request = v1::ExecutionServiceDetachRequest { execution_id: execution_id.to_owned() };
        let answer = call!(self.connection, ExecutionServiceClient::detach, request, CALL_TIMEOUT)?;
        self.connection.present(answer.execution, "execution")
    }

    /// Creates a session and waits until it is usable. A request without `request_id` gets one.
    ///
    /// # Errors
    /// As for any call.
    pub async fn create_session(
        &self,
        mut request: v1::SessionServiceCreateRequest,
    ) -> Result<v1::Session, ClientError> {
        self.connection.require_network(request.network.as_ref()).await?;
        if request.request_id.is_empty() {
            request.request_id = uuid::Uuid::new_v4().to_string();
        }
        let answer = call!(self.connection, SessionServiceClient::create, request, SLOW_CALL_TIMEOUT)?;
        self.connection.present(answer.session, "session")
    }

    /// Returns one session.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown ID.
    pub async fn session(&self, session_id: &str) -> Result<v1::Session, ClientError> {
        let request = v1::SessionServiceGetRequest { session_id: session_id.to_owned() };
        let answer = call!(self.connection, SessionServiceClient::get, request, CALL_TIMEOUT)?;
        self.connection.present(answer.session, "session")
    }

    /// Returns one page of sessions, newest first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn sessions(
        &self,
        request: v1::SessionServiceListRequest,
    ) -> Result<v1::SessionServiceListResponse, ClientError> {
        call!(self.connection, SessionServiceClient::list, request, CALL_TIMEOUT)
    }

    /// Changes the mode or the idle timeout of a session. Omitted fields keep their values.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown ID, `FAILED_PRECONDITION` unless the session is
    /// open.
    pub async fn update_session(
        &self,
        request: v1::SessionServiceUpdateRequest,
    ) -> Result<v1::Session, ClientError> {
        self.connection.require_network(request.network.as_ref()).await?;
        let answer = call!(self.connection, SessionServiceClient::update, request, CALL_TIMEOUT)?;
        self.connection.present(answer.session, "session")
    }

    /// Ends the running commands of a session and removes its workspace.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown ID.
    pub async fn close_session(&self, session_id: &str) -> Result<v1::Session, ClientError> {
        let request = v1::SessionServiceCloseRequest { session_id: session_id.to_owned() };
        let answer = call!(self.connection, SessionServiceClient::close, request, SLOW_CALL_TIMEOUT)?;
        self.connection.present(answer.session, "session")
    }
}

fn with_timeout<T>(message: T, timeout: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(timeout);
    request
}
