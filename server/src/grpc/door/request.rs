//! How a client's stream ended: by its will, because it was reset, or in the middle of a message. To a
//! handler all of these may look like its end, and half an upload must not pass for a whole one.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

use crate::exchange::ClientFault;

/// Of what comes before each message, in bytes: a flag, and the message's length.
const HEAD_BYTES: usize = 5;

/// Why the end of a request's stream was not by its client's will; an extension of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestFault(Arc<OnceLock<ClientFault>>);

impl RequestFault {
    /// Of a stream that nobody watches: whatever its end, it cannot be taken for the client's will.
    pub(crate) fn unknown() -> Self {
        Self(Arc::new(ClientFault::Gone.into()))
    }

    /// Of a stream that has ended; none if its client wanted that.
    pub(crate) fn of_end(&self) -> Option<ClientFault> {
        self.0.get().cloned()
    }
}

/// Watches the stream of a request.
pub(super) fn watch(request: Request<Body>) -> Request<Body> {
    let fault = RequestFault::default();
    let mut request =
        request.map(|body| Body::new(Watched { body, fault: fault.clone(), place: Place::default() }));
    request.extensions_mut().insert(fault);
    request
}

struct Watched {
    body: Body,
    fault: RequestFault,
    place: Place,
}

/// Where a stream is among its messages.
#[derive(Debug, Default)]
struct Place {
    /// Bytes of a head that have come.
    head: usize,
    /// Of the message, as far as its head has come.
    length: u32,
    /// Bytes of the message that are still to come.
    left: usize,
}

impl Place {
    fn pass(&mut self, mut data: &[u8]) {
        while let Some((byte, rest)) = data.split_first() {
            if self.left > 0 {
                let of_message = self.left.min(data.len());
                self.left -= of_message;
                data = data.get(of_message..).unwrap_or_default();
                continue;
            }
            data = rest;
            // What falls out at the top is the flag.
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
            self.place.pass(data);
        }
        let ended_well = match &frame {
            Some(frame) => frame.is_ok(),
            // The transport says so only of a stream that its client has ended.
            None => self.body.is_end_stream(),
        };
        let fault = if !ended_well {
            Some(ClientFault::Gone)
        } else if frame.is_none() && !self.place.is_between_messages() {
            Some(ClientFault::Unreadable("the stream ended in the middle of it".to_owned()))
        } else {
            None
        };
        if let Some(fault) = fault {
            // The first is the one that counts.
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
