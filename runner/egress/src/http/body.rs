//! The body of an answer.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use airlock_redact::Redactor;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::{Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::metered::Metered;
use crate::{client::Client, report::SharedReport};

/// The body of an answer: a text of the proxy, or the body of the target's answer.
pub(crate) enum Body {
    Text(Option<Bytes>),
    Forwarded(Box<Forwarded>),
}

/// An answer of the proxy or of a target.
pub(crate) type Answer = Response<Body>;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            Self::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Forwarded(forwarded) => forwarded.poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Text(text) => text.is_none(),
            Self::Forwarded(forwarded) => forwarded.is_end(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(text) => {
                let length = text.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Forwarded(forwarded) => forwarded.size_hint(),
        }
    }
}

/// The stream to a target: plain, or TLS.
pub(crate) type Stream = Either<Metered, TlsStream<Metered>>;

/// The connection to a target.
pub(crate) type Connection = http1::Connection<TokioIo<Stream>, Upload>;

/// The body of a request: as the client sends it, or as a whole.
pub(crate) enum Upload {
    Stream(Incoming),
    /// `None`: it is empty, or was sent.
    Whole(Option<Bytes>),
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            Self::Stream(body) => Pin::new(body).poll_frame(context),
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Stream(body) => body.is_end_stream(),
            Self::Whole(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Stream(body) => body.size_hint(),
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Reads a whole body of at most `most` bytes. `None`: it is longer, or the client breaks the connection.
pub(crate) async fn whole(mut body: Incoming, most: usize) -> Option<Bytes> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > most {
            return None;
        }
    }
    Some(bytes.into())
}

/// The answer's body. It drives the connection to the target, and closes it when it is dropped.
pub(crate) struct Forwarded {
    body: Incoming,
    connection: Option<Pin<Box<Connection>>>,
    client: Arc<Client>,
    /// Replaces secrets. `None`: there are none, or the body has ended.
    redactor: Option<Redactor>,
    /// Whether secrets are replaced. The body's length is then unknown, and it has no trailers.
    is_searched: bool,
    /// Sent when the body is dropped.
    _report: SharedReport,
}

impl Forwarded {
    pub(crate) fn new(
        body: Incoming,
        connection: Option<Pin<Box<Connection>>>,
        client: Arc<Client>,
        report: SharedReport,
        redactor: Option<Redactor>,
    ) -> Self {
        let is_searched = redactor.is_some();
        Self { body, connection, client, redactor, is_searched, _report: report }
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.connection.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
            self.connection = None;
        }
        if self.is_searched {
            self.poll_searched(context)
        } else {
            Pin::new(&mut self.body).poll_frame(context)
        }
    }

    /// Returns the next bytes in which no secret can begin any more.
    fn poll_searched(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut out = Vec::new();
        while let Some(redactor) = &mut self.redactor {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        redactor.push(bytes, &mut out);
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    redactor.finish(&mut out);
                    self.redactor = None;
                }
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end(&self) -> bool {
        if self.is_searched { self.redactor.is_none() } else { self.body.is_end_stream() }
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_searched { SizeHint::default() } else { self.body.size_hint() }
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.client.set_forwarding(None);
    }
}
