//! An answer on its way out, watched to its last byte so that it is known how the call ended.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::{Frame, SizeHint};
use tonic::{Code, Status, body::Body};
use tracing::Span;

use crate::telemetry::{Metrics, metrics::code_name};

/// Says, once, how a call ended; a call whose answer was not taken to its end was cancelled.
pub(super) struct Ending {
    method: &'static str,
    began: Instant,
    metrics: Metrics,
    span: Span,
    code: Option<Code>,
}

impl Ending {
    pub(super) fn new(method: &'static str, began: Instant, metrics: Metrics, span: Span) -> Self {
        Self { method, began, metrics, span, code: None }
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
        // What the caller did wrong is not an error of this server.
        let failed = matches!(
            code,
            Code::Unknown
                | Code::DeadlineExceeded
                | Code::Unimplemented
                | Code::Internal
                | Code::Unavailable
                | Code::DataLoss
        );
        if failed {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

/// A watched answer.
pub(super) struct Answer {
    body: Body,
    ending: Ending,
}

impl Answer {
    /// Watches an answer; one without a body has its status in its headers.
    pub(super) fn wrap(response: Response<Body>, mut ending: Ending) -> Response<Body> {
        ending.see(response.headers());
        response.map(|body| Body::new(Self { body, ending }))
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let span = self.ending.span.clone();
        let _entered = span.enter();
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(trailers) = frame.trailers_ref()
        {
            self.ending.see(trailers);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
