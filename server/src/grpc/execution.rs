//! The ExecutionService.

use std::{sync::Arc, time::Instant};

use airlock_control::{
    api::ApiError,
    exchange::Exchanges,
    execution::Executions,
    model::{Principal, Role},
    watch::Watches,
};
use airlock_domain::CancelledBy;
use airlock_output::stream::Streams;
use airlock_proto::v1::{
    ExecutionServiceAttachRequest, ExecutionServiceAttachResponse, ExecutionServiceCancelRequest,
    ExecutionServiceCancelResponse, ExecutionServiceDetachRequest, ExecutionServiceDetachResponse,
    ExecutionServiceGetRequest, ExecutionServiceGetResponse, ExecutionServiceListRequest,
    ExecutionServiceListResponse, ExecutionServiceReadOutputRequest, ExecutionServiceReadOutputResponse,
    ExecutionServiceResizeRequest, ExecutionServiceResizeResponse, ExecutionServiceRunRequest,
    ExecutionServiceRunResponse, ExecutionServiceSignalRequest, ExecutionServiceSignalResponse,
    ExecutionServiceStartRequest, ExecutionServiceStartResponse, ExecutionServiceWaitRequest,
    ExecutionServiceWaitResponse, ExecutionServiceWatchRequest, ExecutionServiceWatchResponse,
    ExecutionServiceWriteStdinRequest, ExecutionServiceWriteStdinResponse,
    execution_service_server::ExecutionService,
};
use airlock_store::record::ExecutionRecord;
use tokio::sync::oneshot;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument as _;

use super::{
    call::{caller, fits, refused},
    read_output, records, stdin,
    view::{self, Disconnects, EndOnDisconnect, Responses},
};
use crate::{
    status,
    telemetry::{self, Metrics},
    validate::{self, Start},
};

/// The handler of the ExecutionService.
pub(super) struct ExecutionHandler {
    pub(super) executions: Arc<Executions>,
    pub(super) watches: Arc<Watches>,
    pub(super) streams: Streams,
    pub(super) exchanges: Exchanges,
    pub(super) metrics: Metrics,
    pub(super) disconnects: Disconnects,
}

impl ExecutionHandler {
    /// Starts a command that must end with its stream, even if the call is cancelled in the meantime.
    async fn start_for_stream(
        &self,
        who: &Principal,
        start: Start,
    ) -> Result<(ExecutionRecord, Option<EndOnDisconnect>), ApiError> {
        if !start.kill_on_disconnect {
            return Ok((self.executions.start(who, start.request).await?, None));
        }
        let (done, started) = oneshot::channel();
        let task = {
            let (executions, disconnects, who) =
                (self.executions.clone(), self.disconnects.clone(), who.clone());
            async move {
                let result = executions.start(&who, start.request).await.map(|record| {
                    let guard = EndOnDisconnect::new(disconnects, who, record.id);
                    (record, Some(guard))
                });
                // If the call was cancelled, the guard is dropped with the response and ends the command.
                drop(done.send(result));
            }
        };
        self.disconnects.tasks.spawn(task.in_current_span());
        started.await.unwrap_or_else(|_| Err(ApiError::Internal("a start was aborted".to_owned())))
    }
}

#[tonic::async_trait]
impl ExecutionService for ExecutionHandler {
    type RunStream = Responses<ExecutionServiceRunResponse>;
    type AttachStream = Responses<ExecutionServiceAttachResponse>;
    type ReadOutputStream = Responses<ExecutionServiceReadOutputResponse>;
    type WatchStream = Responses<ExecutionServiceWatchResponse>;

    async fn run(
        &self,
        request: Request<ExecutionServiceRunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        let began = Instant::now();
        let who = caller(&request)?.principal;
        let traceparent = telemetry::traceparent_of(request.metadata().as_ref());
        let mut start = validate::start(request.into_inner().spec).map_err(refused)?;
        start.request.traceparent = traceparent;
        let (record, guard) = self.start_for_stream(&who, start).await.map_err(refused)?;
        let id = record.id;
        let events = self.streams.attach_starter(record).await;
        let events = events.map_err(|error| status::from_api_about(&error.into(), id))?;
        let wrap = |event| ExecutionServiceRunResponse { event: Some(event) };
        Ok(Response::new(view::responses(events, began, self.metrics.clone(), guard, wrap)))
    }

    async fn start(
        &self,
        request: Request<ExecutionServiceStartRequest>,
    ) -> Result<Response<ExecutionServiceStartResponse>, Status> {
        let who = caller(&request)?.principal;
        let traceparent = telemetry::traceparent_of(request.metadata().as_ref());
        let mut start = validate::start(request.into_inner().spec).map_err(refused)?;
        start.request.traceparent = traceparent;
        let record = self.executions.start(&who, start.request).await.map_err(refused)?;
        Ok(Response::new(ExecutionServiceStartResponse { execution: Some(records::full_execution(record)) }))
    }

    async fn attach(
        &self,
        request: Request<ExecutionServiceAttachRequest>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let began = Instant::now();
        let who = caller(&request)?.principal;
        let attach = validate::attach(request.into_inner()).map_err(refused)?;
        let record = self.executions.get(&who, attach.execution).await.map_err(refused)?;
        let events = self.streams.attach(record, attach.from).await.map_err(refused)?;
        let wrap = |event| ExecutionServiceAttachResponse { event: Some(event) };
        Ok(Response::new(view::responses(events, began, self.metrics.clone(), None, wrap)))
    }

    async fn wait(
        &self,
        request: Request<ExecutionServiceWaitRequest>,
    ) -> Result<Response<ExecutionServiceWaitResponse>, Status> {
        let who = caller(&request)?.principal;
        let (id, timeout) = validate::wait(request.get_ref()).map_err(refused)?;
        let wait = self.executions.wait(&who, id, timeout);
        let record = tokio::select! {
            record = wait => record,
            () = self.disconnects.stopping.cancelled() => Err(ApiError::shutting_down()),
        };
        let execution = Some(records::full_execution(record.map_err(refused)?));
        Ok(Response::new(ExecutionServiceWaitResponse { execution }))
    }

    async fn get(
        &self,
        request: Request<ExecutionServiceGetRequest>,
    ) -> Result<Response<ExecutionServiceGetResponse>, Status> {
        let who = caller(&request)?.principal;
        let (id, full) = validate::get_execution(request.get_ref()).map_err(refused)?;
        let record = self.executions.get(&who, id).await.map_err(refused)?;
        let execution = if full { records::full_execution(record) } else { records::execution(record) };
        Ok(Response::new(ExecutionServiceGetResponse { execution: Some(execution) }))
    }

    async fn list(
        &self,
        request: Request<ExecutionServiceListRequest>,
    ) -> Result<Response<ExecutionServiceListResponse>, Status> {
        let who = caller(&request)?.principal;
        let (query, mut page, full) = validate::list_executions(request.into_inner()).map_err(refused)?;
        let wire = if full { records::full_execution } else { records::execution };
        loop {
            let found = self.executions.list(&who, query.clone(), &page).await.map_err(refused)?;
            let answer = ExecutionServiceListResponse {
                executions: found.items.into_iter().map(wire).collect(),
                next_page_token: found.next.unwrap_or_default(),
            };
            if fits(&answer, &mut page) {
                return Ok(Response::new(answer));
            }
        }
    }

    async fn cancel(
        &self,
        request: Request<ExecutionServiceCancelRequest>,
    ) -> Result<Response<ExecutionServiceCancelResponse>, Status> {
        let who = caller(&request)?.principal;
        let id = validate::execution_id(&request.get_ref().execution_id).map_err(refused)?;
        let runs = who.roles.contains(&Role::Executor);
        let by = if runs { CancelledBy::Client } else { CancelledBy::Admin };
        let record = self.executions.cancel(&who, id, by).await.map_err(refused)?;
        Ok(Response::new(ExecutionServiceCancelResponse { execution: Some(records::full_execution(record)) }))
    }

    async fn signal(
        &self,
        request: Request<ExecutionServiceSignalRequest>,
    ) -> Result<Response<ExecutionServiceSignalResponse>, Status> {
        let who = caller(&request)?.principal;
        let (id, signal) = validate::signal(request.get_ref()).map_err(refused)?;
        let record = self.executions.signal(&who, id, signal).await.map_err(refused)?;
        Ok(Response::new(ExecutionServiceSignalResponse { execution: Some(records::full_execution(record)) }))
    }

    async fn resize(
        &self,
        request: Request<ExecutionServiceResizeRequest>,
    ) -> Result<Response<ExecutionServiceResizeResponse>, Status> {
        let who = caller(&request)?.principal;
        let (id, size) = validate::resize(request.get_ref()).map_err(refused)?;
        let record = self.executions.resize(&who, id, size).await.map_err(refused)?;
        Ok(Response::new(ExecutionServiceResizeResponse { execution: Some(records::full_execution(record)) }))
    }

    async fn detach(
        &self,
        request: Request<ExecutionServiceDetachRequest>,
    ) -> Result<Response<ExecutionServiceDetachResponse>, Status> {
        let who = caller(&request)?.principal;
        let id = validate::execution_id(&request.get_ref().execution_id).map_err(refused)?;
        let record = self.executions.detach(&who, id).await.map_err(refused)?;
        Ok(Response::new(ExecutionServiceDetachResponse { execution: Some(records::full_execution(record)) }))
    }

    async fn write_stdin(
        &self,
        request: Request<Streaming<ExecutionServiceWriteStdinRequest>>,
    ) -> Result<Response<ExecutionServiceWriteStdinResponse>, Status> {
        let who = caller(&request)?.principal;
        stdin::write((&self.executions, &self.exchanges), &who, request).await.map(Response::new)
    }

    async fn read_output(
        &self,
        request: Request<ExecutionServiceReadOutputRequest>,
    ) -> Result<Response<Self::ReadOutputStream>, Status> {
        let who = caller(&request)?.principal;
        read_output::open(&self.executions, &self.streams, &who, request.into_inner())
            .await
            .map(Response::new)
    }

    async fn watch(
        &self,
        request: Request<ExecutionServiceWatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let who = caller(&request)?.principal;
        view::open_watch(&self.watches, &who, request.get_ref()).await.map(Response::new)
    }
}
