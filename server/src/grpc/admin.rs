//! The AdminService.

use std::{collections::BTreeMap, sync::Arc};

use airlock_control::{
    api::ApiError,
    runners::{RunnerView, Runners},
};
use airlock_domain::limits::{MESSAGE_BYTES, PAGE_SIZE_MAX};
use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    v1::{
        AdminServiceDrainRunnerRequest, AdminServiceDrainRunnerResponse, AdminServiceGetCapabilitiesRequest,
        AdminServiceGetCapabilitiesResponse, AdminServiceListRunnersRequest, AdminServiceListRunnersResponse,
        Runner, RunnerCapabilities, admin_service_server::AdminService,
    },
};
use airlock_store::PageQuery;
use prost::Message as _;
use tonic::{Request, Response, Status};

use super::{
    call::{fits, refused},
    records,
};
use crate::validate;

/// The overhead of a list entry in bytes: its tag and its length.
const FRAME_BYTES: usize = 8;

/// The handler of the AdminService.
pub(super) struct AdminHandler {
    pub(super) runners: Arc<Runners>,
    /// Every limit of the configuration by name.
    pub(super) limits: BTreeMap<String, u64>,
}

#[tonic::async_trait]
impl AdminService for AdminHandler {
    async fn list_runners(
        &self,
        request: Request<AdminServiceListRunnersRequest>,
    ) -> Result<Response<AdminServiceListRunnersResponse>, Status> {
        let (states, mut page) = validate::list_runners(request.into_inner()).map_err(refused)?;
        loop {
            let found = self.runners.list(&states, &page).await.map_err(refused)?;
            let answer = AdminServiceListRunnersResponse {
                runners: found.items.into_iter().map(records::runner).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if fits(&answer, &mut page) {
                return Ok(Response::new(answer));
            }
        }
    }
    async fn drain_runner(
        &self,
        request: Request<AdminServiceDrainRunnerRequest>,
    ) -> Result<Response<AdminServiceDrainRunnerResponse>, Status> {
        let (id, undo) = validate::drain_runner(request.get_ref()).map_err(refused)?;
        let runner = self.runners.drain(&id, undo).await.map_err(refused)?;
        Ok(Response::new(AdminServiceDrainRunnerResponse { runner: Some(records::runner(runner)) }))
    }

    async fn get_capabilities(
        &self,
        request: Request<AdminServiceGetCapabilitiesRequest>,
    ) -> Result<Response<AdminServiceGetCapabilitiesResponse>, Status> {
        let id = validate::get_capabilities(request.get_ref()).map_err(refused)?;
        let mut answer = AdminServiceGetCapabilitiesResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            link_protocol_version: LINK_PROTOCOL_VERSION,
            limits: self.limits.clone(),
            runners: Vec::new(),
        };
        let views = match id {
            Some(id) => vec![self.runners.get(&id).await.map_err(refused)?],
            None => self.all_runners().await.map_err(refused)?,
        };
        let mut room = MESSAGE_BYTES.saturating_sub(answer.encoded_len());
        for view in views {
            let Runner { runner_id, state, version, capabilities, shells, .. } = records::runner(view);
            let runner = RunnerCapabilities { runner_id, state, version, capabilities, shells };
            let Some(left) = room.checked_sub(runner.encoded_len() + FRAME_BYTES) else { break };
            room = left;
            answer.runners.push(runner);
        }
        Ok(Response::new(answer))
    }
}

impl AdminHandler {
    /// Returns the runners that are not lost, ordered by ID, up to the maximum of a response.
    async fn all_runners(&self) -> Result<Vec<RunnerView>, ApiError> {
        let most = PAGE_SIZE_MAX.unsigned_abs();
        let mut page = PageQuery { size: most, token: None };
        let mut runners = Vec::new();
        loop {
            let found = self.runners.list(&[], &page).await?;
            runners.extend(found.items);
            runners.truncate(most as usize);
            match found.next {
                Some(next) if runners.len() < most as usize => page.token = Some(next),
                _ => return Ok(runners),
            }
        }
    }
}
