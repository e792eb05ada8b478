//! The ApprovalService.

use std::sync::Arc;

use airlock_control::approval::Approvals;
use airlock_proto::v1::{
    ApprovalServiceDecideRequest, ApprovalServiceDecideResponse, ApprovalServiceListRequest,
    ApprovalServiceListResponse, ApprovalServiceListRulesRequest, ApprovalServiceListRulesResponse,
    ApprovalServiceRemoveRuleRequest, ApprovalServiceRemoveRuleResponse,
    approval_service_server::ApprovalService,
};
use tonic::{Request, Response, Status};

use super::{
    call::{caller, fits, refused},
    records,
};
use crate::validate;

/// The handler of the ApprovalService.
pub(super) struct ApprovalHandler {
    pub(super) approvals: Arc<Approvals>,
}

#[tonic::async_trait]
impl ApprovalService for ApprovalHandler {
    async fn list(
        &self,
        request: Request<ApprovalServiceListRequest>,
    ) -> Result<Response<ApprovalServiceListResponse>, Status> {
        let who = caller(&request)?.principal;
        let (query, mut page) = validate::list_approvals(request.into_inner()).map_err(refused)?;
        loop {
            let found = self.approvals.list(&who, query.clone(), &page).await.map_err(refused)?;
            let answer = ApprovalServiceListResponse {
                approvals: found.items.into_iter().map(records::approval).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if fits(&answer, &mut page) {
                return Ok(Response::new(answer));
            }
        }
    }

    async fn decide(
        &self,
        request: Request<ApprovalServiceDecideRequest>,
    ) -> Result<Response<ApprovalServiceDecideResponse>, Status> {
        let who = caller(&request)?.principal;
        let (id, binding, answer) = validate::decide(request.into_inner()).map_err(refused)?;
        let approval = self.approvals.decide(&who, id, &binding, answer).await.map_err(refused)?;
        Ok(Response::new(ApprovalServiceDecideResponse { approval: Some(records::approval(approval)) }))
    }

    async fn list_rules(
        &self,
        request: Request<ApprovalServiceListRulesRequest>,
    ) -> Result<Response<ApprovalServiceListRulesResponse>, Status> {
        let who = caller(&request)?.principal;
        let (session, mut page) = validate::list_rules(request.into_inner()).map_err(refused)?;
        loop {
            let found = self.approvals.list_rules(&who, session, &page).await.map_err(refused)?;
            let answer = ApprovalServiceListRulesResponse {
                rules: found.items.into_iter().map(records::rule).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if fits(&answer, &mut page) {
                return Ok(Response::new(answer));
            }
        }
    }

    async fn remove_rule(
        &self,
        request: Request<ApprovalServiceRemoveRuleRequest>,
    ) -> Result<Response<ApprovalServiceRemoveRuleResponse>, Status> {
        let who = caller(&request)?.principal;
        let id = validate::remove_rule(&request.into_inner()).map_err(refused)?;
        let rule = self.approvals.remove_rule(&who, id).await.map_err(refused)?;
        Ok(Response::new(ApprovalServiceRemoveRuleResponse { rule: Some(records::rule(rule)) }))
    }
}
