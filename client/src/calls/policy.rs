//! The calls for decisions, profiles, approvals and remembered rules.

use super::super::{
    Client, ClientError,
    connection::{ANSWER_BYTES, Connection},
    v1::{self, policy_service_client::PolicyServiceClient},
};
use super::{super::v1::approval_service_client::ApprovalServiceClient, CALL_TIMEOUT, with_timeout};

/// The calls for decisions and profiles, from [`Client::policy`].
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a>(&'a Connection);

impl Client {
    /// Returns the calls for decisions and profiles.
    #[must_use]
    pub fn policy(&self) -> Policy<'_> {
        Policy(&self.connection)
    }
}

impl Policy<'_> {
    /// Returns the decision about a command, without running it.
    ///
    /// # Errors
    /// As for any call.
    pub async fn check(self, request: v1::PolicyServiceCheckRequest) -> Result<v1::Decision, ClientError> {
        let answer = call!(self.0, PolicyServiceClient::check, request, CALL_TIMEOUT)?;
        self.0.present(answer.decision, "decision")
    }

    /// Returns one profile; an empty name selects the caller's default profile.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a profile that does not exist or that the caller may not use.
    pub async fn profile(self, name: &str, view: v1::ProfileView) -> Result<v1::Profile, ClientError> {
        let request = v1::PolicyServiceGetProfileRequest { name: name.to_owned(), view: view.into() };
        let answer = call!(self.0, PolicyServiceClient::get_profile, request, CALL_TIMEOUT)?;
        self.0.present(answer.profile, "profile")
    }

    /// Returns one page of profiles, ordered by name.
    ///
    /// # Errors
    /// As for any call.
    pub async fn profiles(
        self,
        request: v1::PolicyServiceListProfilesRequest,
    ) -> Result<v1::PolicyServiceListProfilesResponse, ClientError> {
        call!(self.0, PolicyServiceClient::list_profiles, request, CALL_TIMEOUT)
    }
}

impl Client {
    /// Returns one page of approvals, oldest first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn approvals(
        &self,
        request: v1::ApprovalServiceListRequest,
    ) -> Result<v1::ApprovalServiceListResponse, ClientError> {
        call!(self.connection, ApprovalServiceClient::list, request, CALL_TIMEOUT)
    }

    /// Answers an approval. `binding` must be that of the approval that was shown.
    ///
    /// # Errors
    /// As for any call; `FAILED_PRECONDITION` if the approval is no longer open or has changed.
    pub async fn decide(
        &self,
        request: v1::ApprovalServiceDecideRequest,
    ) -> Result<v1::Approval, ClientError> {
        let answer = call!(self.connection, ApprovalServiceClient::decide, request, CALL_TIMEOUT)?;
        self.connection.present(answer.approval, "approval")
    }

    /// Returns one page of remembered rules, oldest first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn rules(
        &self,
        request: v1::ApprovalServiceListRulesRequest,
    ) -> Result<v1::ApprovalServiceListRulesResponse, ClientError> {
        call!(self.connection, ApprovalServiceClient::list_rules, request, CALL_TIMEOUT)
    }

    /// Removes a remembered rule.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for an unknown rule.
    pub async fn remove_rule(&self, rule_id: &str) -> Result<v1::RememberedRule, ClientError> {
        let request = v1::ApprovalServiceRemoveRuleRequest { rule_id: rule_id.to_owned() };
        let answer = call!(self.connection, ApprovalServiceClient::remove_rule, request, CALL_TIMEOUT)?;
        self.connection.present(answer.rule, "rule")
    }
}
