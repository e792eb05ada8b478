//! Detection of how a client's stream ended: by the client's intention, by a reset, or inside a message. A
//! handler cannot distinguish these ends, and an interrupted upload must not be treated as complete.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use airlock_control::exchange::ClientFault;
use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

/// The length of the prefix of each message in bytes: a flag and the length of the message.
const HEAD_BYTES: usize = 5;

/// The reason why a request's stream did not end by the client's intention. An extension of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestFault(Arc<OnceLock<ClientFault>>);

impl RequestFault {
    /// Returns the fault of an unobserved stream. Its end never counts as the client's intention.
    pub(crate) fn unknown() -> Self {
        Self(Arc::new(ClientFault::Gone.into()))
    }

    /// Returns the fault of a stream that has ended, or `None` if the client ended it.
    pub(crate) fn of_end(&self) -> Option<ClientFault> {
        self.0.get().cloned()
    }
}

/// Observes the stream of a request.
pub(super) fn watch(request: Request<Body>) -> Request<Body> {
    let fault = RequestFault::default();
    let mut request = request
        .map(|body| Body::new(Watched { body, fault: fault.clone(), position: StreamPosition::default() }));
    request.extensions_mut().insert(fault);
    request
}

struct Watched {
    body: Body,
    fault: RequestFault,
    position: StreamPosition,
}

/// The position of a stream relative to its messages.
#[derive(Debug, Default)]
struct StreamPosition {
    /// The number of received bytes of a prefix.
    head: usize,
    /// The length of the message, as far as its prefix was received.
    length: u32,
    /// The number of missing bytes of the message.
    left: usize,
}

impl StreamPosition {
    fn pass(&mut self, mut data: &[u8]) {
        while let Some((byte, rest)) = data.split_first() {
            if self.left > 0 {
                let of_message = self.left.min(data.len());
                self.left -= of_message;
                data = data.get(of_message..).unwrap_or_default();
                continue;
            }
            data = rest;
            // The flag is shifted out at the top.
            self.length = self.length << 8 | u32::from(*byte);
            self.head += 1;
            if self.head == HEAD_BYTES {
                *self = Self { left: self.length as usize, ..Self::default() };
            }
        }
    }

    fn is_between_messages(&self) -> bool {
        self.head == 0 && self.left == 0
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.position.pass(data);
        }
        let ended_well = match &frame {
            Some(frame) => frame.is_ok(),
            // The transport reports this only for a stream that its client has ended.
            None => self.body.is_end_stream(),
        };
        let fault = if !ended_well {
            Some(ClientFault::Gone)
        } else if frame.is_none() && !self.position.is_between_messages() {
            Some(ClientFault::Unreadable("the stream ended in the middle of it".to_owned()))
        } else {
            None
        };
        if let Some(fault) = fault {
            // Only the first fault is kept.
            drop(self.fault.0.set(fault));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
