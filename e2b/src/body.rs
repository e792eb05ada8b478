//! Bodies of requests and responses: bounded reading, and bodies that are written while they are sent.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{
    BodyExt as _, Full, LengthLimitError, Limited, StreamBody,
    combinators::{BoxBody, UnsyncBoxBody},
};
use serde::Serialize;
use tokio::sync::mpsc;

use super::refusal::{Kind, Refusal};

/// The body of a request.
pub(crate) type RequestBody = BoxBody<Bytes, io::Error>;
/// The body of a response.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body that records whether it was read to its end.
pub(crate) struct Watched<B> {
    inner: B,
    has_ended: Arc<AtomicBool>,
}

impl<B: http_body::Body> Watched<B> {
    /// Returns the body, and the record.
    pub(crate) fn new(inner: B) -> (Self, Arc<AtomicBool>) {
        let has_ended = Arc::new(AtomicBool::new(inner.is_end_stream()));
        (Self { inner, has_ended: Arc::clone(&has_ended) }, has_ended)
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        let has_ended = matches!(frame, Poll::Ready(None)) || self.inner.is_end_stream();
        self.has_ended.fetch_or(has_ended, Ordering::Relaxed);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.inner.size_hint()
    }
}

/// The pieces of a response that wait for a slow reader.
const QUEUE: usize = 8;

/// Returns a body of a request.
pub(crate) fn boxed<B>(body: B) -> RequestBody
where
    B: http_body::Body<Data = Bytes> + Send + Sync + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body.map_err(io::Error::other).boxed()
}

/// Returns a whole body.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body, and the sender of its pieces. An error instead of a piece breaks the response off, so that the reader
/// does not take it for complete.
pub(crate) fn streamed() -> (mpsc::Sender<io::Result<Bytes>>, Body) {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(QUEUE);
    let pieces = futures::stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece.map(Frame::data), receiver))
    });
    (sender, StreamBody::new(pieces).boxed_unsync())
}

/// Reads a whole body of at most `most` bytes.
pub(crate) async fn collected(body: RequestBody, most: usize) -> Result<Bytes, Refusal> {
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Refusal::new(Kind::TooLarge, format!("the body of the request is longer than {most} bytes")))
        }
        Err(_) => Err(Refusal::invalid("the body of the request is incomplete")),
    }
}

/// Returns a response with a JSON body.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response<Body> {
    let Ok(text) = serde_json::to_vec(value) else {
        return empty(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// Returns the response for an error of the REST API or of a file.
pub(crate) fn refused(refusal: &Refusal) -> Response<Body> {
    let status = refusal.kind.status();
    let body = serde_json::json!({"code": status.as_u16(), "message": refusal.message});
    let mut response = json(status, &body);
    // The SDKs would repeat a request that cannot succeed soon.
    if refusal.kind == Kind::TooMany {
        response.headers_mut().insert("should-retry", HeaderValue::from_static("false"));
    }
    response
}
