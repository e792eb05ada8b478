//! Bodies of requests and responses: bounded reading, and bodies that are written while they are sent.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, StreamBody, combinators::{BoxBody, UnsyncBoxBody}};
use serde::Serialize;
use tokio::sync::mpsc;

use super::refusal::{Kind, Refusal};

/// The body of a request.
pub(crate) type RequestBody = BoxBody<Bytes, io::Error>;
/// The body of a response.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The pieces of a response that wait for a slow reader.
const QUEUE: usize = 8;

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
