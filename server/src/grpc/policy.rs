//! PolicyService.

use std::sync::Arc;

use airlock_proto::v1::{
    PolicyServiceCheckRequest, PolicyServiceCheckResponse, PolicyServiceGetProfileRequest,
    PolicyServiceGetProfileResponse, PolicyServiceListProfilesRequest, PolicyServiceListProfilesResponse,
    policy_service_server::PolicyService,
};
use tonic::{Request, Response, Status};

use super::{Edge, caller, decision, refused};
use crate::validate;

pub(super) struct Policy(pub(super) Arc<Edge>);

#[tonic::async_trait]
impl PolicyService for Policy {
    async fn check(
        &self,
        request: Request<PolicyServiceCheckRequest>,
    ) -> Result<Response<PolicyServiceCheckResponse>, Status> {
        let who = caller(&request)?.principal;
        let request = validate::check(request.into_inner()).map_err(refused)?;
        let (made, profile) = self.0.engine.check(&who, request).await.map_err(refused)?;
        let decision = Some(decision::to_wire(&made, &profile));
        Ok(Response::new(PolicyServiceCheckResponse { decision }))
    }
    async fn get_profile(
        &self,
        _request: Request<PolicyServiceGetProfileRequest>,
    ) -> Result<Response<PolicyServiceGetProfileResponse>, Status> {
        Err(crate::status::adopt(tonic::Code::Unimplemented, ""))
    }

    async fn list_profiles(
        &self,
        _request: Request<PolicyServiceListProfilesRequest>,
    ) -> Result<Response<PolicyServiceListProfilesResponse>, Status> {
        Err(crate::status::adopt(tonic::Code::Unimplemented, ""))
    }
}
