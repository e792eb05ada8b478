//! The calls for approvals and remembered rules.

use super::super::{
    Client, ClientError,
    connection::ANSWER_BYTES,
    v1::{self, approval_service_client::ApprovalServiceClient},
};
use super::{CALL_TIMEOUT, with_timeout};

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
