//! The calls for policy, approvals and administration.

use super::super::{
    ANSWER_BYTES, CALL_TIMEOUT, Client, ClientError,
    v1::{
        self, admin_service_client::AdminServiceClient, approval_service_client::ApprovalServiceClient,
        policy_service_client::PolicyServiceClient,
    },
};
use super::with_timeout;

impl Client {
    /// Returns the decision about a command, without running it.
    ///
    /// # Errors
    /// As for any call.
    pub async fn check(&self, request: v1::PolicyServiceCheckRequest) -> Result<v1::Decision, ClientError> {
        let answer = call!(self, PolicyServiceClient::check, request, CALL_TIMEOUT)?;
        self.present(answer.decision, "decision")
    }

    /// Returns one page of approvals, oldest first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn approvals(
        &self,
        request: v1::ApprovalServiceListRequest,
    ) -> Result<v1::ApprovalServiceListResponse, ClientError> {
        call!(self, ApprovalServiceClient::list, request, CALL_TIMEOUT)
    }

    /// Answers an approval. `binding` must be that of the approval that was shown.
    ///
    /// # Errors
    /// As for any call; `FAILED_PRECONDITION` if the approval is no longer open or has changed.
    pub async fn decide(
        &self,
        request: v1::ApprovalServiceDecideRequest,
    ) -> Result<v1::Approval, ClientError> {
        let answer = call!(self, ApprovalServiceClient::decide, request, CALL_TIMEOUT)?;
        self.present(answer.approval, "approval")
    }

    /// Returns one page of remembered rules, oldest first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn rules(
        &self,
        request: v1::ApprovalServiceListRulesRequest,
    ) -> Result<v1::ApprovalServiceListRulesResponse, ClientError> {
        call!(self, ApprovalServiceClient::list_rules, request, CALL_TIMEOUT)
    }

    /// Removes a remembered rule.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown rule.
    pub async fn remove_rule(&self, rule_id: &str) -> Result<v1::RememberedRule, ClientError> {
        let request = v1::ApprovalServiceRemoveRuleRequest { rule_id: rule_id.to_owned() };
        let answer = call!(self, ApprovalServiceClient::remove_rule, request, CALL_TIMEOUT)?;
        self.present(answer.rule, "rule")
    }

    /// Returns one page of runners, ordered by ID.
    ///
    /// # Errors
    /// As for any call.
    pub async fn runners(
        &self,
        request: v1::AdminServiceListRunnersRequest,
    ) -> Result<v1::AdminServiceListRunnersResponse, ClientError> {
        call!(self, AdminServiceClient::list_runners, request, CALL_TIMEOUT)
    }

    /// Drains a runner, or with `undo` lets it take new work again. The runner is drained when `running`
    /// of the response is 0.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown runner.
    pub async fn drain_runner(&self, runner_id: &str, undo: bool) -> Result<v1::Runner, ClientError> {
        let request = v1::AdminServiceDrainRunnerRequest { runner_id: runner_id.to_owned(), undo };
        let answer = call!(self, AdminServiceClient::drain_runner, request, CALL_TIMEOUT)?;
        self.present(answer.runner, "runner")
    }

    /// Returns the server's version and limits, and the layers that a runner's host can enforce. An empty
    /// `runner_id` selects all runners.
    ///
    /// # Errors
    /// As for any call.
    pub async fn capabilities(
        &self,
        runner_id: &str,
    ) -> Result<v1::AdminServiceGetCapabilitiesResponse, ClientError> {
        let request = v1::AdminServiceGetCapabilitiesRequest { runner_id: runner_id.to_owned() };
        call!(self, AdminServiceClient::get_capabilities, request, CALL_TIMEOUT)
    }

    /// Returns one profile; an empty name selects the caller's default profile.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a profile that does not exist or that the caller may not use.
    pub async fn profile(&self, name: &str, view: v1::ProfileView) -> Result<v1::Profile, ClientError> {
        let request = v1::PolicyServiceGetProfileRequest { name: name.to_owned(), view: view.into() };
        let answer = call!(self, PolicyServiceClient::get_profile, request, CALL_TIMEOUT)?;
        self.present(answer.profile, "profile")
    }

    /// Returns one page of profiles, ordered by name.
    ///
    /// # Errors
    /// As for any call.
    pub async fn profiles(
        &self,
        request: v1::PolicyServiceListProfilesRequest,
    ) -> Result<v1::PolicyServiceListProfilesResponse, ClientError> {
        call!(self, PolicyServiceClient::list_profiles, request, CALL_TIMEOUT)
    }
}
