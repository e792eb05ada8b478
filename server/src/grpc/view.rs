//! Views of executions and watches as responses to a client, and the handling of a client that disconnects.

use std::{pin::Pin, sync::Arc, time::Instant};

use airlock_control::{api::WatchEvent, execution::Executions, model::Principal, watch::Watches};
use airlock_domain::{CancelledBy, ExecutionId};
use airlock_output::stream::{Event, EventKind, EventStream, StreamError};
use airlock_proto::v1::{self, ExecutionServiceWatchRequest, ExecutionServiceWatchResponse, WatchKind};
use airlock_store::record::Milestone;
use futures::{Stream, StreamExt as _};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::Status;
use tracing::{Instrument as _, Span, field::Empty};

use super::{call::refused, records};
use crate::{
    telemetry::{Metrics, fail},
    validate,
};

/// The stream of responses.
pub(super) type Responses<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The data for handling the disconnect of a client.
#[derive(Clone)]
pub(super) struct Disconnects {
    pub(super) executions: Arc<Executions>,
    /// Owns the tasks that outlive a call: starts and cancellations after their caller has disconnected.
    pub(super) tasks: TaskTracker,
    /// The server shuts down. A call that ends now was not ended by its client.
    pub(super) stopping: CancellationToken,
}

/// Ends a command when it is dropped, unless the stream was complete or the server shuts down.
pub(super) struct EndOnDisconnect {
    disconnects: Disconnects,
    who: Principal,
    execution: ExecutionId,
    armed: bool,
}

impl EndOnDisconnect {
    pub(super) fn new(disconnects: Disconnects, who: Principal, execution: ExecutionId) -> Self {
        Self { disconnects, who, execution, armed: true }
    }
}

impl Drop for EndOnDisconnect {
    fn drop(&mut self) {
        if !self.armed || self.disconnects.stopping.is_cancelled() {
            return;
        }
        let (executions, who, execution) =
            (self.disconnects.executions.clone(), self.who.clone(), self.execution);
        let cancel = async move {
            if let Err(error) = executions.cancel(&who, execution, CancelledBy::Disconnect).await {
                tracing::warn!(%execution, %error, "cannot cancel a command after its client disconnected");
            }
        };
        self.disconnects.tasks.spawn(cancel.in_current_span());
    }
}

/// Converts the events of a view to responses. `began` is the start of the call.
pub(super) fn responses<T: 'static>(
    events: EventStream,
    began: Instant,
    metrics: Metrics,
    mut guard: Option<EndOnDisconnect>,
    wrap: fn(v1::Event) -> T,
) -> Responses<T> {
    let mut first = Some(metrics);
    let mut span = ViewSpan::new();
    Box::pin(events.map(move |event| {
        span.record(&event);
        let is_output = matches!(&event, Ok(Event { kind: EventKind::Output { .. }, .. }));
        if let Some(metrics) = first.take_if(|_| is_output) {
            metrics.first_byte(began.elapsed());
        }
        let closes = event
            .as_ref()
            .map_or(true, |event| matches!(event.kind, EventKind::Finished(_) | EventKind::Backgrounded(_)));
        if let Some(guard) = guard.as_mut().filter(|_| closes) {
            guard.armed = false;
        }
        event.map(|event| wrap(to_wire(event))).map_err(refused)
    }))
}

/// The span of a view. Records the number of output bytes and the closing event.
struct ViewSpan {
    span: Span,
    bytes: u64,
}

impl ViewSpan {
    fn new() -> Self {
        let span = tracing::info_span!("stream", airlock.output.bytes = Empty, airlock.closed_with = Empty);
        Self { span, bytes: 0 }
    }

    fn record(&mut self, event: &Result<Event, StreamError>) {
        let closed_with = match event.as_ref().map(|event| &event.kind) {
            Ok(EventKind::Output { data, .. }) => {
                self.bytes += data.len() as u64;
                return;
            }
            Ok(EventKind::Finished(_)) => "finished",
            Ok(EventKind::Backgrounded(_)) => "backgrounded",
            Ok(_) => return,
            Err(_) => {
                fail(&self.span, "cut");
                "error"
            }
        };
        self.span.record("airlock.closed_with", closed_with);
    }
}

impl Drop for ViewSpan {
    fn drop(&mut self) {
        self.span.record("airlock.output.bytes", self.bytes);
    }
}

fn to_wire(event: Event) -> v1::Event {
    use v1::event::Event as Wire;
    let cursor = event.cursor.encode().into();
    let event = match event.kind {
        EventKind::Opened(record) => {
            Wire::Opened(v1::Opened { execution: Some(records::execution(*record)) })
        }
        EventKind::StateChanged(change) => Wire::StateChanged(records::state_changed(&change)),
        EventKind::Output { stream, offset, data } => {
            Wire::Output(v1::Output { stream: v1::OutputStream::from(stream).into(), offset, data })
        }
        EventKind::Gap { stream, from, to } => {
            Wire::Gap(v1::Gap { stream: v1::OutputStream::from(stream).into(), from, to })
        }
        EventKind::Progress(progress) => Wire::Progress(records::progress(progress)),
        EventKind::Finished(record) => {
            Wire::Finished(v1::Finished { execution: Some(records::finished_execution(*record)) })
        }
        EventKind::Backgrounded(record) => {
            Wire::Backgrounded(v1::Backgrounded { execution: Some(records::execution(*record)) })
        }
    };
    v1::Event { cursor, event: Some(event) }
}

/// Opens a watch.
pub(super) async fn open_watch(
    watches: &Watches,
    who: &Principal,
    request: &ExecutionServiceWatchRequest,
) -> Result<Responses<ExecutionServiceWatchResponse>, Status> {
    let request = validate::watch(request).map_err(refused)?;
    let events = watches.open(who, request).await.map_err(refused)?;
    Ok(Box::pin(events.map(|event| event.map(watch_to_wire).map_err(refused))))
}

fn watch_to_wire(event: WatchEvent) -> ExecutionServiceWatchResponse {
    let kind = match event.what {
        None => WatchKind::Unspecified,
        Some((Milestone::Started, _)) => WatchKind::Started,
        Some((Milestone::Backgrounded, _)) => WatchKind::Backgrounded,
        Some((Milestone::Finished, _)) => WatchKind::Finished,
    };
    ExecutionServiceWatchResponse {
        cursor: event.cursor.into(),
        kind: kind.into(),
        execution: event.what.map(|(_, record)| records::execution(*record)),
    }
}
