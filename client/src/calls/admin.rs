//! The calls of an operator.

use super::super::{
    Client, ClientError,
    connection::{ANSWER_BYTES, Connection},
    v1::{self, admin_service_client::AdminServiceClient},
};
use super::{CALL_TIMEOUT, with_timeout};

/// The calls of an operator, from [`Client::admin`].
#[derive(Debug, Clone, Copy)]
pub struct Admin<'a>(&'a Connection);

impl Client {
    /// Returns the calls of an operator.
    #[must_use]
    pub fn admin(&self) -> Admin<'_> {
        Admin(&self.connection)
    }
}

impl Admin<'_> {
    /// Returns one page of runners, ordered by ID.
    ///
    /// # Errors
    /// As for any call.
    pub async fn runners(
        self,
        request: v1::AdminServiceListRunnersRequest,
    ) -> Result<v1::AdminServiceListRunnersResponse, ClientError> {
        call!(self.0, AdminServiceClient::list_runners, request, CALL_TIMEOUT)
    }

    /// Drains a runner, or with `undo` lets it take new work again. The runner is drained when `running`
    /// of the response is 0.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown runner.
    pub async fn drain_runner(self, runner_id: &str, undo: bool) -> Result<v1::Runner, ClientError> {
        let request = v1::AdminServiceDrainRunnerRequest { runner_id: runner_id.to_owned(), undo };
        let answer = call!(self.0, AdminServiceClient::drain_runner, request, CALL_TIMEOUT)?;
        self.0.present(answer.runner, "runner")
    }

    /// Returns the server's version and limits, and the layers that a runner's host can enforce. An empty
    /// `runner_id` selects all runners.
    ///
    /// # Errors
    /// As for any call.
    pub async fn capabilities(
        self,
        runner_id: &str,
    ) -> Result<v1::AdminServiceGetCapabilitiesResponse, ClientError> {
        let request = v1::AdminServiceGetCapabilitiesRequest { runner_id: runner_id.to_owned() };
        call!(self.0, AdminServiceClient::get_capabilities, request, CALL_TIMEOUT)
    }
}
