//! The bytes between a client and hyper. The gate passes a head on only after [`head::check`], and stops at the first
//! head that fails. It does not answer: it replaces this head by [`MARKER`], which the service answers in its turn.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock, atomic::Ordering},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::head::{self, Body, HeadError};
use crate::client::Client;

/// The bytes that are read at once.
const READ: usize = 4 * 1024;
/// The most bytes of a tunnel that are read before its answer.
const EARLY: usize = 4 * READ;
/// The path of the request that replaces a refused head.
pub(crate) const MARKER: &str = "/refused-by-airlock";
const MARKER_HEAD: &[u8] = b"GET /refused-by-airlock HTTP/1.1\r\n\r\n";

/// The first head that was refused on a connection.
pub(crate) type Refused = Arc<OnceLock<HeadError>>;

/// The part of the stream that comes next.
#[derive(Clone, Copy)]
enum Expected {
    Head,
    /// So many bytes of a body.
    Body(u64),
    /// Bytes of a body, until the connection ends.
    Rest,
    /// Nothing more for hyper.
    Nothing,
}

/// A client's stream with the gate.
pub(crate) struct Gate<S> {
    stream: S,
    client: Arc<Client>,
    refused: Refused,
    buffer: BytesMut,
    /// The bytes at the beginning of the buffer that may pass.
    passed: usize,
    /// The bytes of an incomplete head that were checked.
    checked: usize,
    expected: Expected,
}

impl<S> Gate<S> {
    /// Creates the gate of a stream, from which `early` was already read.
    pub(crate) fn new(stream: S, early: Vec<u8>, client: Arc<Client>, refused: Refused) -> Self {
        let buffer = BytesMut::from(Bytes::from(early));
        Self { stream, client, refused, buffer, passed: 0, checked: 0, expected: Expected::Head }
    }

    /// Returns the stream, and the bytes that were read from it and have not passed.
    pub(crate) fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.buffer.into())
    }

    /// Passes what may pass. Returns false if more bytes are needed.
    fn pass(&mut self) -> bool {
        let length = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        match self.expected {
            Expected::Head => match self.pass_head() {
                Ok(found) => return found,
                Err(error) => self.refuse(error),
            },
            Expected::Body(_) | Expected::Rest if length == 0 => return false,
            Expected::Body(left) if left > length => {
                self.passed = self.buffer.len();
                self.expected = Expected::Body(left - length);
            }
            Expected::Body(left) => {
                self.passed = usize::try_from(left).unwrap_or(usize::MAX);
                self.expected = Expected::Head;
            }
            Expected::Rest => self.passed = self.buffer.len(),
            Expected::Nothing => return false,
        }
        true
    }

    fn pass_head(&mut self) -> Result<bool, HeadError> {
        let Some(end) = head::find_end(&self.buffer, self.checked)? else {
            self.checked = self.buffer.len();
            return Ok(false);
        };
        self.expected = match head::check(self.buffer.get(..end).unwrap_or_default())? {
            Body::Length(0) => Expected::Head,
            Body::Length(length) => Expected::Body(length),
            Body::Chunked => Expected::Rest,
            Body::Tunnel => Expected::Nothing,
        };
        self.passed = end;
        self.checked = 0;
        Ok(true)
    }

    fn refuse(&mut self, error: HeadError) {
        self.refused.get_or_init(|| error);
        self.buffer = BytesMut::from(MARKER_HEAD);
        self.passed = self.buffer.len();
        self.expected = Expected::Nothing;
    }

    fn count(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.client.transferred.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl<S: AsyncRead + Unpin> Gate<S> {
    /// Reads ahead, up to a limit, while the client waits for the answer. This detects that the client has closed.
    fn watch_end(&mut self, context: &mut Context<'_>) {
        while self.buffer.len() < EARLY {
            let mut bytes = [0; READ];
            let mut read = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {
                    self.count(read.filled().len());
                    self.buffer.extend_from_slice(read.filled());
                }
                Poll::Ready(_) => return self.client.closed.cancel(),
                Poll::Pending => return,
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gate<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.passed > 0 {
                let count = self.passed.min(out.remaining());
                out.put_slice(self.buffer.get(..count).unwrap_or_default());
                self.buffer.advance(count);
                self.passed -= count;
                return Poll::Ready(Ok(()));
            }
            if self.pass() {
                continue;
            }
            if matches!(self.expected, Expected::Nothing) {
                // hyper answers, and ends with it. It needs no notice.
                self.watch_end(context);
                return Poll::Pending;
            }
            let mut bytes = [0; READ];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.count(read.filled().len());
            self.buffer.extend_from_slice(read.filled());
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gate<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.count(count);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
