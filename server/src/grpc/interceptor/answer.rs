//! The response body of a call, observed to its last byte to determine how the call ended. If the server
//! shuts down first, the response ends with that status.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use airlock_control::api::ApiError;
use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::{Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::{Code, Status, body::Body};
use tracing::Span;

use crate::{
    status,
    telemetry::{
        Metrics, fail,
        metrics::{code_name, is_fault},
    },
    tls::OpenCall,
};

/// Records once how a call ended. A call counts as cancelled if its response was not read to the end.
pub(super) struct Ending {
    method: &'static str,
    began: Instant,
    metrics: Metrics,
    span: Span,
    code: Option<Code>,
    /// While this exists, the connection is not idle.
    _open: Option<OpenCall>,
}

impl Ending {
    pub(super) fn new(
        method: &'static str,
        began: Instant,
        metrics: Metrics,
        span: Span,
        open: Option<OpenCall>,
    ) -> Self {
        Self { method, began, metrics, span, code: None, _open: open }
    }

    fn see(&mut self, headers: &HeaderMap) {
        if let Some(status) = Status::from_header_map(headers) {
            self.code = Some(status.code());
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let code = self.code.unwrap_or(Code::Cancelled);
        self.metrics.call_ended(self.method, code, self.began.elapsed());
        self.span.record("rpc.response.status_code", code_name(code));
        if is_fault(code) {
            fail(&self.span, code_name(code));
        }
    }
}

/// An observed response body.
pub(super) struct Answer {
    body: Body,
    ending: Ending,
    draining: Pin<Box<WaitForCancellationFutureOwned>>,
    is_cut: bool,
}

impl Answer {
    /// Wraps a response. A response without a body has its status in the headers.
    pub(super) fn wrap(
        response: Response<Body>,
        mut ending: Ending,
        draining: CancellationToken,
    ) -> Response<Body> {
        ending.see(response.headers());
        let draining = Box::pin(draining.cancelled_owned());
        response.map(|body| Body::new(Self { body, ending, draining, is_cut: false }))
    }

    fn cut(&mut self) -> Option<Result<Frame<Bytes>, Status>> {
        self.is_cut = true;
        let mut trailers = HeaderMap::new();
        let status = status::from_api(&ApiError::shutting_down());
        Some(status.add_header(&mut trailers).map(|()| {
            self.ending.see(&trailers);
            Frame::trailers(trailers)
        }))
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_cut {
            return Poll::Ready(None);
        }
        let span = self.ending.span.clone();
        let _entered = span.enter();
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(trailers) = frame.trailers_ref()
        {
            self.ending.see(trailers);
        }
        if frame.is_pending() && self.draining.as_mut().poll(cx).is_ready() {
            return Poll::Ready(self.cut());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.is_cut || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
