//! The body of an answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use airlock_redact::Redactor;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{Either, Full};
use hyper::{Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio_rustls::client::TlsStream;

use super::metered::Metered;
use crate::{client::Client, report::SharedReport};

/// The body of an answer: a text of the proxy, or the body of the target's answer.
pub(crate) type Body = Either<Full<Bytes>, Box<Forwarded>>;

/// An answer of the proxy or of a target.
pub(crate) type Answer = Response<Body>;

/// The stream to a target: plain, or TLS.
pub(crate) type Stream = tokio_util::either::Either<Metered, TlsStream<Metered>>;

/// The connection to a target.
pub(crate) type Connection = http1::Connection<TokioIo<Stream>, Upload>;

/// The body of a request: as the client sends it, or as a whole.
pub(crate) type Upload = Either<Incoming, Full<Bytes>>;

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
}

impl http_body::Body for Forwarded {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.connection.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
            self.connection = None;
        }
        if self.is_searched {
            self.poll_searched(context)
        } else {
            Pin::new(&mut self.body).poll_frame(context)
        }
    }

    fn is_end_stream(&self) -> bool {
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
