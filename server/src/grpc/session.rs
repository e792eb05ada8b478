//! The SessionService.

use std::{sync::Arc, time::Duration};

use airlock_control::{forward::Forwards, session::Sessions};
use airlock_proto::v1::{
    SessionServiceCloseRequest, SessionServiceCloseResponse, SessionServiceCreateRequest,
    SessionServiceCreateResponse, SessionServiceForwardRequest, SessionServiceForwardResponse,
    SessionServiceGetRequest, SessionServiceGetResponse, SessionServiceListRequest,
    SessionServiceListResponse, SessionServiceUpdateRequest, SessionServiceUpdateResponse,
    session_service_server::SessionService,
};
use tonic::{Request, Response, Status, Streaming};

use super::{
    call::{caller, fits, refused},
    forward, records,
    view::Responses,
};
use crate::validate;

/// The handler of the SessionService.
pub(super) struct SessionHandler {
    pub(super) sessions: Arc<Sessions>,
    pub(super) forwards: Forwards,
    /// The time for the first message of a forwarded connection.
    pub(super) open_wait: Duration,
}

#[tonic::async_trait]
impl SessionService for SessionHandler {
    type ForwardStream = Responses<SessionServiceForwardResponse>;

    async fn create(
        &self,
        request: Request<SessionServiceCreateRequest>,
    ) -> Result<Response<SessionServiceCreateResponse>, Status> {
        let who = caller(&request)?.principal;
        let request = validate::create_session(request.into_inner()).map_err(refused)?;
        let session = self.sessions.create(&who, request).await.map_err(refused)?;
        Ok(Response::new(SessionServiceCreateResponse { session: Some(records::session(session)) }))
    }

    async fn get(
        &self,
        request: Request<SessionServiceGetRequest>,
    ) -> Result<Response<SessionServiceGetResponse>, Status> {
        let who = caller(&request)?.principal;
        let id = validate::session_id(&request.get_ref().session_id).map_err(refused)?;
        let session = self.sessions.get(&who, id).await.map_err(refused)?;
        Ok(Response::new(SessionServiceGetResponse { session: Some(records::session(session)) }))
    }

    async fn list(
        &self,
        request: Request<SessionServiceListRequest>,
    ) -> Result<Response<SessionServiceListResponse>, Status> {
        let who = caller(&request)?.principal;
        let (query, mut page) = validate::list_sessions(request.into_inner()).map_err(refused)?;
        loop {
            let found = self.sessions.list(&who, query.clone(), &page).await.map_err(refused)?;
            let answer = SessionServiceListResponse {
                sessions: found.items.into_iter().map(records::session).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if fits(&answer, &mut page) {
                return Ok(Response::new(answer));
            }
        }
    }

    async fn close(
        &self,
        request: Request<SessionServiceCloseRequest>,
    ) -> Result<Response<SessionServiceCloseResponse>, Status> {
        let who = caller(&request)?.principal;
        let id = validate::session_id(&request.get_ref().session_id).map_err(refused)?;
        let session = self.sessions.close(&who, id).await.map_err(refused)?;
        Ok(Response::new(SessionServiceCloseResponse { session: Some(records::session(session)) }))
    }

    async fn update(
        &self,
        request: Request<SessionServiceUpdateRequest>,
    ) -> Result<Response<SessionServiceUpdateResponse>, Status> {
        let who = caller(&request)?.principal;
        let (id, update) = validate::update_session(request.get_ref()).map_err(refused)?;
        let session = self.sessions.update(&who, id, update).await.map_err(refused)?;
        Ok(Response::new(SessionServiceUpdateResponse { session: Some(records::session(session)) }))
    }

    async fn forward(
        &self,
        request: Request<Streaming<SessionServiceForwardRequest>>,
    ) -> Result<Response<Self::ForwardStream>, Status> {
        let who = caller(&request)?.principal;
        forward::open((&self.forwards, self.open_wait), who, request).await.map(Response::new)
    }
}
