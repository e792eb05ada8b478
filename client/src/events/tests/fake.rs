//! A fake server with one scripted execution that cuts every view short.

use std::{
    collections::HashSet,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
};

use futures::{Stream, stream};
use tokio::task::JoinSet;
use tonic::{Request, Response, Status, Streaming, transport::Server};

use crate::{
    testing::{self, Rng},
    v1::{
        self,
        execution_service_attach_request::From as WireFrom,
        execution_service_server::{ExecutionService, ExecutionServiceServer},
    },
};

#[derive(Debug)]
pub(super) struct Fake {
    pub(super) events: Vec<v1::Event>,
    pub(super) rng: Mutex<Rng>,
    /// The request IDs of all starts.
    pub(super) request_ids: Mutex<HashSet<String>>,
    pub(super) views: Mutex<usize>,
    /// The number of views that end in a fault.
    pub(super) faults: usize,
}

type Views<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Fake {
    fn opened(&self, from: usize) -> v1::Event {
        v1::Event {
            cursor: cursor(from),
            event: Some(v1::event::Event::Opened(v1::Opened {
                execution: Some(v1::Execution { execution_id: "the-one".to_owned(), ..Default::default() }),
            })),
        }
    }

    /// Returns the event after `next` if it reveals that `next` is missing.
    fn after_hole(&self, next: usize) -> Option<&v1::Event> {
        use v1::event::Event::Output;
        let stream = |event: &v1::Event| match &event.event {
            Some(Output(output)) => Some(output.stream),
            _ => None,
        };
        let (skipped, shown) = (self.events.get(next)?, self.events.get(next + 1)?);
        (stream(skipped).is_some() && stream(skipped) == stream(shown)).then_some(shown)
    }

    /// Returns a view from event `from` on, with a fault at a random place.
    fn view(&self, from: usize) -> Vec<Result<v1::Event, Status>> {
        let mut rng = self.rng.lock().unwrap();
        let mut views = self.views.lock().unwrap();
        *views += 1;
        let faulty = *views <= self.faults;
        // Repeated events and bytes are faults that a client must hide, too.
        let begin = if faulty && rng.below(3) == 0 { from.saturating_sub(rng.below(3)) } else { from };
        let mut out = vec![Ok(self.opened(from))];
        out.extend(self.events.iter().skip(begin).cloned().map(Ok));
        if !faulty {
            return out;
        }
        // A faulty view never reaches the closing event.
        out.truncate(rng.below(out.len().min(12)));
        match rng.below(5) {
            0 => {}
            1 => out.push(Err(Status::unavailable("going away"))),
            2 => out.push(Err(Status::unknown("broken pipe"))),
            3 => out.push(Err(Status::internal("h2 protocol error"))),
            _ => {
                let next = begin + out.len().max(1) - 1;
                out.extend(self.after_hole(next).cloned().map(Ok));
            }
        }
        out
    }
}

pub(super) fn cursor(index: usize) -> bytes::Bytes {
    (index as u64).to_be_bytes().to_vec().into()
}

#[tonic::async_trait]
impl ExecutionService for Fake {
    type RunStream = Views<v1::ExecutionServiceRunResponse>;
    type AttachStream = Views<v1::ExecutionServiceAttachResponse>;
    type ReadOutputStream = Views<v1::ExecutionServiceReadOutputResponse>;
    type WatchStream = Views<v1::ExecutionServiceWatchResponse>;

    async fn run(
        &self,
        request: Request<v1::ExecutionServiceRunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        let spec = request.into_inner().spec.unwrap();
        self.request_ids.lock().unwrap().insert(spec.request_id);
        if self.rng.lock().unwrap().below(3) == 0 && *self.views.lock().unwrap() < self.faults {
            return Err(Status::unavailable("not yet"));
        }
        let view = self
            .view(0)
            .into_iter()
            .map(|event| event.map(|event| v1::ExecutionServiceRunResponse { event: Some(event) }));
        Ok(Response::new(Box::pin(stream::iter(view.collect::<Vec<_>>()))))
    }

    async fn attach(
        &self,
        request: Request<v1::ExecutionServiceAttachRequest>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let from = match request.into_inner().from {
            Some(WireFrom::Cursor(cursor)) => {
                u64::from_be_bytes(cursor.as_ref().try_into().unwrap()) as usize
            }
            _ => 0,
        };
        let view = self
            .view(from)
            .into_iter()
            .map(|event| event.map(|event| v1::ExecutionServiceAttachResponse { event: Some(event) }));
        Ok(Response::new(Box::pin(stream::iter(view.collect::<Vec<_>>()))))
    }

    async fn start(
        &self,
        _: Request<v1::ExecutionServiceStartRequest>,
    ) -> Result<Response<v1::ExecutionServiceStartResponse>, Status> {
        Err(Status::unavailable("always"))
    }

    async fn wait(
        &self,
        _: Request<v1::ExecutionServiceWaitRequest>,
    ) -> Result<Response<v1::ExecutionServiceWaitResponse>, Status> {
        Ok(Response::new(v1::ExecutionServiceWaitResponse::default()))
    }

    async fn get(
        &self,
        _: Request<v1::ExecutionServiceGetRequest>,
    ) -> Result<Response<v1::ExecutionServiceGetResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn list(
        &self,
        _: Request<v1::ExecutionServiceListRequest>,
    ) -> Result<Response<v1::ExecutionServiceListResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn cancel(
        &self,
        _: Request<v1::ExecutionServiceCancelRequest>,
    ) -> Result<Response<v1::ExecutionServiceCancelResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }
    async fn signal(
        &self,
        _: Request<v1::ExecutionServiceSignalRequest>,
    ) -> Result<Response<v1::ExecutionServiceSignalResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn resize(
        &self,
        _: Request<v1::ExecutionServiceResizeRequest>,
    ) -> Result<Response<v1::ExecutionServiceResizeResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn detach(
        &self,
        _: Request<v1::ExecutionServiceDetachRequest>,
    ) -> Result<Response<v1::ExecutionServiceDetachResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn write_stdin(
        &self,
        _: Request<Streaming<v1::ExecutionServiceWriteStdinRequest>>,
    ) -> Result<Response<v1::ExecutionServiceWriteStdinResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn read_output(
        &self,
        _: Request<v1::ExecutionServiceReadOutputRequest>,
    ) -> Result<Response<Self::ReadOutputStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn watch(
        &self,
        _: Request<v1::ExecutionServiceWatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

/// Serves until the set is dropped.
pub(super) async fn serve(fake: Arc<Fake>, tasks: &mut JoinSet<()>) -> SocketAddr {
    testing::serve(Server::builder().add_service(ExecutionServiceServer::from_arc(fake)), tasks).await
}
