//! The Connect protocol with JSON: single calls, and streams of enveloped messages. The SDKs use no other encoding and no
//! compression.

use std::{future::Future, io, time::Duration};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{sync::mpsc, time::timeout};

use super::{
    body::{self, Body, RequestBody},
    refusal::{Kind, Refusal},
};

/// The largest message in bytes.
pub(crate) const MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// The longest time of a single call.
const CALL: Duration = Duration::from_secs(120);
/// The time to receive the one message that opens a stream.
const FIRST: Duration = Duration::from_secs(30);
/// The time for the delivery of the last message of a stream.
const LAST: Duration = Duration::from_secs(5);
/// The length of an envelope's head: flags and length.
const HEAD: usize = 5;
const COMPRESSED: u8 = 1;
const END: u8 = 2;
const UNARY: &str = "application/json";
const STREAM: &str = "application/connect+json";

/// Returns the time that the caller gives the call, if there is one.
pub(crate) fn deadline(headers: &HeaderMap) -> Result<Option<Duration>, Refusal> {
    let Some(given) = headers.get("connect-timeout-ms") else { return Ok(None) };
    let millis = given.to_str().ok().filter(|text| text.len() <= 10).and_then(|text| text.parse().ok());
    millis.map(|millis| Some(Duration::from_millis(millis))).ok_or_else(|| {
        Refusal::invalid("the header `connect-timeout-ms` is not a number of at most ten digits")
    })
}

/// Answers a single call.
pub(crate) async fn unary<Q, A, F>(
    headers: &HeaderMap,
    body: RequestBody,
    call: impl FnOnce(Q) -> F,
) -> Response<Body>
where
    Q: DeserializeOwned,
    A: Serialize,
    F: Future<Output = Result<A, Refusal>>,
{
    let answer = async {
        of_type(headers, UNARY)?;
        let limit = deadline(headers)?.unwrap_or(CALL).min(CALL);
        let whole = async {
            let bytes = body::collected(body, MESSAGE_BYTES).await?;
            call(message(&bytes)?).await
        };
        timeout(limit, whole)
            .await
            .unwrap_or_else(|_| Err(Refusal::new(Kind::Late, "the call did not end before its deadline")))
    };
    match answer.await {
        Ok(answer) => body::json(StatusCode::OK, &answer),
        Err(refusal) => refused(&refusal),
    }
}

/// Returns the response for an error of a single call.
pub(crate) fn refused(refusal: &Refusal) -> Response<Body> {
    let status = match refusal.kind {
        // The protocol names its own status for these.
        Kind::State => StatusCode::BAD_REQUEST,
        Kind::TooLarge => StatusCode::TOO_MANY_REQUESTS,
        kind => kind.status(),
    };
    body::json(status, &error(refusal))
}

fn error(refusal: &Refusal) -> serde_json::Value {
    serde_json::json!({"code": refusal.kind.code(), "message": refusal.message})
}

fn of_type(headers: &HeaderMap, expected: &str) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default().trim();
    if !given.eq_ignore_ascii_case(expected) {
        return Err(Refusal::new(Kind::Unsupported, format!("the content type must be `{expected}`")));
    }
    let encoding = headers.get("connect-content-encoding").or_else(|| headers.get(header::CONTENT_ENCODING));
    match encoding.is_some_and(|encoding| encoding != "identity") {
        true => Err(Refusal::new(Kind::Unsupported, "messages must not be compressed")),
        false => Ok(()),
    }
}

/// Parses a message. An empty one has only defaults.
fn message<Q: DeserializeOwned>(bytes: &[u8]) -> Result<Q, Refusal> {
    let text = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(text)
        .map_err(|error| Refusal::invalid(format!("the message is not valid JSON of its type: {error}")))
}

/// The messages of a request, in their envelopes.
pub(crate) struct Messages {
    body: RequestBody,
    buffer: BytesMut,
    has_ended: bool,
}

impl Messages {
    /// Begins to read.
    ///
    /// # Errors
    /// If the request has another content type.
    pub(crate) fn new(headers: &HeaderMap, body: RequestBody) -> Result<Self, Refusal> {
        of_type(headers, STREAM)?;
        Ok(Self { body, buffer: BytesMut::new(), has_ended: false })
    }

    /// Returns the next message, or `None` after the last one.
    ///
    /// # Errors
    /// If an envelope is incomplete, compressed or too long, or if its message is not valid.
    pub(crate) async fn next<Q: DeserializeOwned>(&mut self) -> Result<Option<Q>, Refusal> {
        loop {
            if let Some((flags, content)) = split(&mut self.buffer)? {
                if flags & COMPRESSED != 0 {
                    return Err(Refusal::new(Kind::Unsupported, "messages must not be compressed"));
                }
                if flags & END != 0 {
                    self.has_ended = true;
                    return Ok(None);
                }
                return message(&content).map(Some);
            }
            if self.has_ended {
                return Ok(None);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(_)) => return Err(Refusal::invalid("the body of the request is incomplete")),
                None if self.buffer.is_empty() => self.has_ended = true,
                None => return Err(Refusal::invalid("the last message of the request is incomplete")),
            }
        }
    }

    /// Returns the single message of a request.
    ///
    /// # Errors
    /// As for [`Messages::next`], and if there is none, or another one.
    pub(crate) async fn only<Q: DeserializeOwned>(mut self) -> Result<Q, Refusal> {
        let both = async {
            let first = self.next().await?.ok_or_else(|| Refusal::invalid("the request has no message"))?;
            // A connection whose request was not read to its end cannot be used again.
            match self.next::<serde_json::Value>().await? {
                None => Ok(first),
                Some(_) => Err(Refusal::invalid("the request has more than one message")),
            }
        };
        timeout(FIRST, both)
            .await
            .unwrap_or_else(|_| Err(Refusal::new(Kind::Late, "the request did not arrive in time")))
    }
}

/// Removes the first envelope from the buffer, if it is complete.
fn split(buffer: &mut BytesMut) -> Result<Option<(u8, Bytes)>, Refusal> {
    let mut head = buffer.get(..HEAD).unwrap_or_default();
    if head.is_empty() {
        return Ok(None);
    }
    let (flags, length) = (head.get_u8(), usize::try_from(head.get_u32()).unwrap_or(usize::MAX));
    if length > MESSAGE_BYTES {
        return Err(Refusal::new(Kind::TooLarge, format!("a message is longer than {MESSAGE_BYTES} bytes")));
    }
    if buffer.len() < HEAD + length {
        return Ok(None);
    }
    buffer.advance(HEAD);
    Ok(Some((flags, buffer.split_to(length).freeze())))
}

fn envelope<T: Serialize>(flags: u8, message: &T) -> io::Result<Bytes> {
    let content = serde_json::to_vec(message)?;
    let mut bytes = BytesMut::with_capacity(HEAD + content.len());
    bytes.put_u8(flags);
    bytes.put_u32(u32::try_from(content.len()).unwrap_or(u32::MAX));
    bytes.put_slice(&content);
    Ok(bytes.freeze())
}

/// The messages of a response that is being sent.
#[derive(Debug)]
pub(crate) struct Sink(mpsc::Sender<io::Result<Bytes>>);

impl Sink {
    /// Sends a message. Waits while the caller reads slowly. Returns false if the caller reads no more.
    pub(crate) async fn send<T: Serialize>(&self, message: &T) -> bool {
        self.0.send(envelope(0, message)).await.is_ok()
    }

    /// Waits until the caller reads no more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// Ends the stream.
    pub(crate) async fn finish(self, result: Result<(), Refusal>) {
        let last = match result {
            Ok(()) => serde_json::json!({}),
            Err(refusal) => serde_json::json!({"error": error(&refusal)}),
        };
        // A caller that does not read gets no end, and takes the stream for broken.
        let _ = timeout(LAST, self.0.send(envelope(END, &last))).await;
    }
}

/// Returns a response whose messages are sent through the sink.
pub(crate) fn stream() -> (Sink, Response<Body>) {
    let (sender, body) = body::streamed();
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(STREAM));
    (Sink(sender), response)
}

/// Returns a stream with one message, or with nothing but an error.
pub(crate) fn single<T: Serialize>(result: Result<T, Refusal>) -> Response<Body> {
    let end = |value: serde_json::Value| envelope(END, &value);
    let parts = match result {
        Ok(message) => {
            envelope(0, &message).and_then(|first| Ok([first, end(serde_json::json!({}))?].concat()))
        }
        Err(refusal) => end(serde_json::json!({"error": error(&refusal)})).map(|last| last.to_vec()),
    };
    let mut response = Response::new(body::whole(parts.unwrap_or_default()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(STREAM));
    response
}

#[cfg(test)]
mod tests;
