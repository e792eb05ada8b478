//! A fake server with one execution that offers output, input and milestones, and breaks its views.

use std::{
    collections::HashMap,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use tokio::task::JoinSet;
use tonic::{Code, Request, Response, Status, Streaming, transport::Server};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::{
    testing::{self, Rng},
    v1::{
        self, Execution, ExecutionServiceReadOutputRequest, ExecutionServiceReadOutputResponse,
        ExecutionServiceWatchResponse, ExecutionServiceWriteStdinRequest, ExecutionServiceWriteStdinResponse,
        Output, OutputDone, OutputLine, OutputRange, OutputSearch, OutputStream, WatchKind,
        execution_service_read_output_request::Selection,
        execution_service_read_output_response::Part,
        execution_service_server::{ExecutionService, ExecutionServiceServer},
        output_edge::Amount,
    },
};

/// The number of lines of the output.
pub(super) const LINES: usize = 6000;
/// The number of events of a watch.
pub(super) const EVENTS: u64 = 40;
const CHUNK: usize = 700;

/// Returns the output.
pub(super) fn text() -> Vec<u8> {
    (1..=LINES).flat_map(|number| format!("{number} {}\n", "x".repeat(number % 13)).into_bytes()).collect()
}

#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) bytes: Vec<u8>,
    pub(super) ended: bool,
}

#[derive(Debug)]
pub(super) struct Fake {
    text: Bytes,
    rng: Mutex<Rng>,
    pub(super) input: Mutex<Input>,
    /// The number of views that still end early.
    broken: Mutex<usize>,
    /// The largest number of pieces that a view delivers.
    most: Mutex<usize>,
    /// Whether the command ends with its input, and no confirmation of the end arrives.
    loses_the_end: AtomicBool,
}

impl Fake {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            text: text().into(),
            rng: Mutex::new(Rng::new(seed)),
            input: Mutex::default(),
            broken: Mutex::default(),
            most: Mutex::new(usize::MAX),
            loses_the_end: AtomicBool::new(false),
        })
    }

    pub(super) fn break_views(&self, count: usize) {
        *self.broken.lock().unwrap() = count;
    }

    pub(super) fn shorten_views(&self, most: usize) {
        *self.most.lock().unwrap() = most;
    }

    pub(super) fn lose_the_end(&self) {
        self.loses_the_end.store(true, Ordering::Relaxed);
    }

    /// Returns a view of these pieces, possibly with a fault.
    fn view<T: Send + 'static>(&self, pieces: Vec<T>) -> View<T> {
        let mut out: Vec<_> = pieces.into_iter().map(Ok).collect();
        out.truncate(*self.most.lock().unwrap());
        let mut broken = self.broken.lock().unwrap();
        if *broken > 0 {
            *broken -= 1;
            let mut rng = self.rng.lock().unwrap();
            out.truncate(rng.below(out.len() + 1));
            match rng.below(3) {
                0 => {}
                1 => out.push(Err(Status::unavailable("going away"))),
                _ => out.push(Err(Status::unknown("broken pipe"))),
            }
        }
        stream::iter(out).boxed()
    }

    fn line_starts(&self) -> Vec<usize> {
        let ends = self.text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).collect()
    }

    fn done(&self, next_offset: usize) -> OutputDone {
        let total = self.text.len() as u64;
        OutputDone { next_offset: next_offset as u64, total, complete: true, ..Default::default() }
    }

    fn bytes(&self, from: usize, to: usize) -> Vec<Part> {
        let data = self.text.slice(from..to);
        let chunk = |(index, data): (usize, &[u8])| {
            let offset = (from + index * CHUNK) as u64;
            let stream = OutputStream::Stdout.into();
            Part::Output(Output { stream, offset, data: Bytes::copy_from_slice(data) })
        };
        let mut parts: Vec<_> = data.chunks(CHUNK).enumerate().map(chunk).collect();
        parts.push(Part::Done(self.done(to)));
        parts
    }

    fn select(&self, selection: Option<Selection>) -> Vec<Part> {
        let (length, starts) = (self.text.len(), self.line_starts());
        let lines = starts.len() - 1;
        match selection {
            None => self.bytes(0, length),
            Some(Selection::Range(OutputRange { offset, length: 0 })) => self.bytes(offset as usize, length),
            Some(Selection::Range(OutputRange { offset, length: most })) => {
                self.bytes(offset as usize, length.min((offset + most) as usize))
            }
            Some(Selection::Head(edge)) => match edge.amount.unwrap() {
                Amount::Bytes(count) => self.bytes(0, length.min(count as usize)),
                Amount::Lines(count) => self.bytes(0, starts[lines.min(count as usize)]),
            },
            Some(Selection::Tail(edge)) => match edge.amount.unwrap() {
                Amount::Bytes(count) => self.bytes(length.saturating_sub(count as usize), length),
                Amount::Lines(count) => self.bytes(starts[lines.saturating_sub(count as usize)], length),
            },
            Some(Selection::Search(search)) => self.search(&search),
        }
    }

    fn search(&self, search: &OutputSearch) -> Vec<Part> {
        let starts = self.line_starts();
        let from = starts.iter().position(|start| *start as u64 >= search.offset).unwrap();
        let line = |index: usize| self.text.slice(starts[index]..starts[index + 1] - 1);
        let most = if search.max_matches == 0 { 1000 } else { search.max_matches as usize };
        let hit = |index: &usize| line(*index).windows(2).any(|part| part == search.pattern.as_bytes());
        let all: Vec<usize> = (from..starts.len() - 1).filter(hit).collect();
        let hits = &all[..all.len().min(most)];
        let near = |index: usize| {
            hits.iter()
                .any(|hit| index + search.before as usize >= *hit && index <= hit + search.after as usize)
        };
        let mut parts = Vec::new();
        for index in (from..starts.len() - 1).filter(|index| near(*index)) {
            parts.push(Part::Line(OutputLine {
                stream: OutputStream::Stdout.into(),
                offset: starts[index] as u64,
                data: line(index),
                number: if search.offset == 0 { index as u64 + 1 } else { 0 },
                context: !hits.contains(&index),
                ..Default::default()
            }));
        }
        let more = all.len() > most;
        let end = if more { starts[hits[most - 1] + 1] } else { self.text.len() };
        parts.push(Part::Done(OutputDone { matches: hits.len() as u64, more, ..self.done(end) }));
        parts
    }
}

type View<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn unimplemented<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("not here"))
}

#[tonic::async_trait]
impl ExecutionService for Fake {
    type RunStream = View<v1::ExecutionServiceRunResponse>;
    type AttachStream = View<v1::ExecutionServiceAttachResponse>;
    type ReadOutputStream = View<ExecutionServiceReadOutputResponse>;
    type WatchStream = View<ExecutionServiceWatchResponse>;

    async fn read_output(
        &self,
        request: Request<ExecutionServiceReadOutputRequest>,
    ) -> Result<Response<Self::ReadOutputStream>, Status> {
        let parts = self.select(request.into_inner().selection);
        let answers = parts.into_iter().map(|part| ExecutionServiceReadOutputResponse { part: Some(part) });
        Ok(Response::new(self.view(answers.collect())))
    }

    async fn watch(
        &self,
        request: Request<v1::ExecutionServiceWatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let cursor = request.into_inner().cursor;
        let from = cursor.as_ref().try_into().map_or(0, u64::from_be_bytes);
        let event = |number: u64| ExecutionServiceWatchResponse {
            cursor: number.to_be_bytes().to_vec().into(),
            kind: if number == from { WatchKind::Unspecified } else { WatchKind::Started }.into(),
            execution: (number > from)
                .then(|| Execution { execution_id: number.to_string(), ..Default::default() }),
        };
        Ok(Response::new(self.view((from..=EVENTS).map(event).collect())))
    }

    async fn write_stdin(
        &self,
        request: Request<Streaming<ExecutionServiceWriteStdinRequest>>,
    ) -> Result<Response<ExecutionServiceWriteStdinResponse>, Status> {
        let mut stream = request.into_inner();
        let loses_the_end = self.loses_the_end.load(Ordering::Relaxed);
        if loses_the_end && self.input.lock().unwrap().ended {
            let details = ErrorDetails::with_error_info("NOT_RUNNING", "airlock", HashMap::new());
            return Err(Status::with_error_details(Code::FailedPrecondition, "it has ended", details));
        }
        while let Some(message) = stream.message().await? {
            let mut input = self.input.lock().unwrap();
            let known = (input.bytes.len() as u64).checked_sub(message.offset);
            let known = known.ok_or_else(|| Status::out_of_range("beyond"))? as usize;
            let new = message.data.get(known.min(message.data.len())..).unwrap_or_default();
            assert!(new.is_empty() || !input.ended, "no event follows the end");
            input.bytes.extend_from_slice(new);
            input.ended |= message.end;
        }
        let input = self.input.lock().unwrap();
        let accepted = input.bytes.len() as u64;
        if loses_the_end && input.ended {
            return Err(Status::unavailable("going away"));
        }
        Ok(Response::new(ExecutionServiceWriteStdinResponse { accepted, ended: input.ended }))
    }

    async fn run(
        &self,
        _: Request<v1::ExecutionServiceRunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        unimplemented()
    }

    async fn attach(
        &self,
        _: Request<v1::ExecutionServiceAttachRequest>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        unimplemented()
    }

    async fn start(
        &self,
        _: Request<v1::ExecutionServiceStartRequest>,
    ) -> Result<Response<v1::ExecutionServiceStartResponse>, Status> {
        unimplemented()
    }

    async fn wait(
        &self,
        _: Request<v1::ExecutionServiceWaitRequest>,
    ) -> Result<Response<v1::ExecutionServiceWaitResponse>, Status> {
        unimplemented()
    }

    async fn get(
        &self,
        _: Request<v1::ExecutionServiceGetRequest>,
    ) -> Result<Response<v1::ExecutionServiceGetResponse>, Status> {
        unimplemented()
    }

    async fn list(
        &self,
        _: Request<v1::ExecutionServiceListRequest>,
    ) -> Result<Response<v1::ExecutionServiceListResponse>, Status> {
        unimplemented()
    }

    async fn cancel(
        &self,
        _: Request<v1::ExecutionServiceCancelRequest>,
    ) -> Result<Response<v1::ExecutionServiceCancelResponse>, Status> {
        unimplemented()
    }

    async fn signal(
        &self,
        _: Request<v1::ExecutionServiceSignalRequest>,
    ) -> Result<Response<v1::ExecutionServiceSignalResponse>, Status> {
        unimplemented()
    }

    async fn resize(
        &self,
        _: Request<v1::ExecutionServiceResizeRequest>,
    ) -> Result<Response<v1::ExecutionServiceResizeResponse>, Status> {
        unimplemented()
    }

    async fn detach(
        &self,
        _: Request<v1::ExecutionServiceDetachRequest>,
    ) -> Result<Response<v1::ExecutionServiceDetachResponse>, Status> {
        unimplemented()
    }
}

/// Serves until the set is dropped.
pub(super) async fn serve(fake: Arc<Fake>, tasks: &mut JoinSet<()>) -> SocketAddr {
    testing::serve(Server::builder().add_service(ExecutionServiceServer::from_arc(fake)), tasks).await
}
