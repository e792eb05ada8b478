//! AdminService.

use std::sync::Arc;

use airlock_proto::v1::{
    AdminServiceDrainRunnerRequest, AdminServiceDrainRunnerResponse, AdminServiceGetCapabilitiesRequest,
    AdminServiceGetCapabilitiesResponse, AdminServiceListRunnersRequest, AdminServiceListRunnersResponse,
    admin_service_server::AdminService,
};
use tonic::{Request, Response, Status};

use super::{Edge, pages, records, refused};
use crate::validate;

pub(super) struct Admin(pub(super) Arc<Edge>);

#[tonic::async_trait]
impl AdminService for Admin {
    async fn list_runners(
        &self,
        request: Request<AdminServiceListRunnersRequest>,
    ) -> Result<Response<AdminServiceListRunnersResponse>, Status> {
        let (states, mut page) = validate::list_runners(request.into_inner()).map_err(refused)?;
        loop {
            let found = self.0.engine.list_runners(&states, &page).await.map_err(refused)?;
            let answer = AdminServiceListRunnersResponse {
                runners: found.items.into_iter().map(records::runner).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if pages::fits(&answer, &mut page) {
                return Ok(Response::new(answer));
            }
        }
    }
    async fn drain_runner(
        &self,
        request: Request<AdminServiceDrainRunnerRequest>,
    ) -> Result<Response<AdminServiceDrainRunnerResponse>, Status> {
        let (id, undo) = validate::drain_runner(request.get_ref()).map_err(refused)?;
        let runner = self.0.engine.drain_runner(&id, undo).await.map_err(refused)?;
        Ok(Response::new(AdminServiceDrainRunnerResponse { runner: Some(records::runner(runner)) }))
    }

    async fn get_capabilities(
        &self,
        _request: Request<AdminServiceGetCapabilitiesRequest>,
    ) -> Result<Response<AdminServiceGetCapabilitiesResponse>, Status> {
        Err(crate::status::adopt(tonic::Code::Unimplemented, ""))
    }
}
