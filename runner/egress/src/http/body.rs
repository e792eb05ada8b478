//! The body of an answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::{Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;

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

/// The connection to a target.
pub(crate) type Connection = http1::Connection<TokioIo<Metered>, Incoming>;

/// The answer's body. It drives the connection to the target, and closes it when it is dropped.
pub(crate) struct Forwarded {
    body: Incoming,
    connection: Option<Pin<Box<Connection>>>,
    client: Arc<Client>,
    /// Sent when the body is dropped.
    _report: SharedReport,
}

impl Forwarded {
    pub(crate) fn new(
        body: Incoming,
        connection: Option<Pin<Box<Connection>>>,
        client: Arc<Client>,
        report: SharedReport,
    ) -> Self {
        Self { body, connection, client, _report: report }
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.connection.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
            self.connection = None;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.client.set_forwarding(None);
    }
}
