//! Calls with arbitrary bytes, and their outcomes.

use std::{collections::VecDeque, convert::Infallible, pin::Pin, task};

use airlock_proto::FILE_DESCRIPTOR_SET;
use bytes::{BufMut as _, Bytes, BytesMut};
use http_body::{Body as _, Frame};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tokio::time::timeout;
use tonic::{Code, Status, body::Body, transport::Channel};
use tonic_types::StatusExt as _;
use tower::{Service as _, ServiceExt as _};

use crate::PATIENCE;

/// The outcome of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) fields: Vec<String>,
}

impl Outcome {
    pub(crate) fn is(&self, code: Code, reason: &str) -> bool {
        self.code == code && self.reason == reason
    }
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        let fields = status.get_details_bad_request().map(|bad| bad.field_violations).unwrap_or_default();
        Self {
            code: status.code(),
            reason: status.get_details_error_info().map(|info| info.reason).unwrap_or_default(),
            fields: fields.into_iter().map(|violation| violation.field).collect(),
        }
    }
}

/// A body that is sent piece by piece.
struct Pieces(VecDeque<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
    ) -> task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        task::Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

/// Returns a message with its gRPC prefix.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len()).unwrap());
    out.put_slice(message);
    out.freeze()
}

/// Calls `path` with these bytes as the body and reads the response to its end.
pub(crate) async fn send(channel: &Channel, path: &str, authorization: Option<&str>, body: Bytes) -> Outcome {
    let mut request = http::Request::post(path)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(Pieces(VecDeque::from([body]))))
        .unwrap();
    if let Some(value) = authorization {
        request.headers_mut().insert("authorization", value.parse().unwrap());
    }
    let mut channel = channel.clone();
    let answer = async {
        let response = match channel.ready().await.unwrap().call(request).await {
            Ok(response) => response,
            Err(error) => return Status::new(Code::Unknown, error.to_string()),
        };
        if let Some(status) = Status::from_header_map(response.headers()) {
            return status;
        }
        let mut body = Box::pin(response.into_body());
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            match frame {
                // A watch has no end. Its first message shows that the call was authorized.
                Ok(frame) if frame.is_data() && path.ends_with("ExecutionService/Watch") => {
                    return Status::ok("");
                }
                Ok(frame) => {
                    if let Some(status) = frame.trailers_ref().and_then(Status::from_header_map) {
                        return status;
                    }
                }
                Err(status) => return status,
            }
        }
        Status::unknown("the answer has no status")
    };
    timeout(PATIENCE, answer).await.unwrap().into()
}

/// Like [`send`], with one message and a token.
pub(crate) async fn call(channel: &Channel, path: &str, token: &str, message: &[u8]) -> Outcome {
    send(channel, path, Some(&format!("Bearer {token}")), framed(message)).await
}

/// Returns every method of the contract that a server serves. It calls those of hooks.
pub(crate) fn contract() -> Vec<String> {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let mut paths = Vec::new();
    for file in set.file.iter().filter(|file| file.package() != "airlock.hooks.v1") {
        for service in &file.service {
            for method in &service.method {
                paths.push(format!("/{}.{}/{}", file.package(), service.name(), method.name()));
            }
        }
    }
    assert!(paths.len() > 10, "{paths:?}");
    paths
}
