//! How a client's stream ended: by its will, or because it was reset. To a handler a stream that its
//! client has reset looks like one that came to its end, and half an upload must not pass for a whole
//! one.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use tonic::{Status, body::Body};

/// Whether the stream of a request was cut; an extension of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCut(Arc<AtomicBool>);

impl RequestCut {
    /// Of a stream that nobody watches: whatever its end, it cannot be taken for the client's will.
    pub(crate) fn unknown() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Says so of a stream that has ended.
    pub(crate) fn is_cut(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Watches the stream of a request.
pub(super) fn watch(request: Request<Body>) -> Request<Body> {
    let cut = RequestCut::default();
    let mut request = request.map(|body| Body::new(Watched { body, cut: cut.clone() }));
    request.extensions_mut().insert(cut);
    request
}

struct Watched {
    body: Body,
    cut: RequestCut,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let ended_well = match &frame {
            Some(frame) => frame.is_ok(),
            // The transport says so only of a stream that its client has ended.
            None => self.body.is_end_stream(),
        };
        if !ended_well {
            self.cut.0.store(true, Ordering::Release);
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
