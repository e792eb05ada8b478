//! A connection, as the HTTP/2 server reads and writes it.

use std::{
    future::Future as _,
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use airlock_limits::shares::Share;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use super::activity::{Activity, IdleLimit};
use crate::{authn::Peer, telemetry::Metrics};

/// The length of the HTTP/2 connection preface in bytes.
const GREETING_BYTES: usize = 24;

/// The transport of the bytes.
pub(super) enum Io {
    /// Plain text, only on loopback.
    Plain(TcpStream),
    /// TLS after its handshake.
    Tls(Box<TlsStream<TcpStream>>),
}

/// The parts of a connection.
pub(super) struct Parts {
    pub(super) io: Io,
    pub(super) peer: Peer,
    pub(super) place: Share<IpAddr>,
    pub(super) deadline: Instant,
    /// The maximum time without an open call.
    pub(super) idle: Duration,
    pub(super) metrics: Metrics,
    pub(super) cut: CancellationToken,
}

/// The properties of the connection that a call can access.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionInfo {
    pub(crate) peer: Peer,
    pub(crate) activity: Activity,
}

/// A connection. It counts towards the limits until it is dropped. It ends if its client does not send the HTTP/2
/// preface in time, or has no call for too long. It can also be closed.
pub(crate) struct Connection {
    io: Io,
    info: ConnectionInfo,
    idle: IdleLimit,
    _place: Share<IpAddr>,
    metrics: Metrics,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    greeting: Option<Greeting>,
}

struct Greeting {
    missing: usize,
    deadline: Pin<Box<Sleep>>,
}

impl Connection {
    pub(super) fn new(parts: Parts) -> Self {
        parts.metrics.connection_opened();
        let activity = Activity::new();
        Self {
            io: parts.io,
            idle: IdleLimit::new(parts.idle, activity.clone()),
            info: ConnectionInfo { peer: parts.peer, activity },
            _place: parts.place,
            metrics: parts.metrics,
            cut: Box::pin(parts.cut.cancelled_owned()),
            greeting: Some(Greeting {
                missing: GREETING_BYTES,
                deadline: Box::pin(sleep_until(parts.deadline)),
            }),
        }
    }

    /// Reports whether the connection was cut. Checked for reads and writes, because a blocked direction is
    /// not polled.
    fn is_cut(&mut self, cx: &mut Context<'_>) -> bool {
        self.cut.as_mut().poll(cx).is_ready()
    }

    fn io(&mut self) -> Pin<&mut dyn Both> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream),
            Io::Tls(stream) => Pin::new(stream.as_mut()),
        }
    }
}

/// A stream that can be read and written.
trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

impl Drop for Connection {
    fn drop(&mut self) {
        self.metrics.connection_closed();
    }
}

impl Connected for Connection {
    type ConnectInfo = ConnectionInfo;

    fn connect_info(&self) -> ConnectionInfo {
        self.info.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if let Some(greeting) = &mut self.greeting
            && greeting.deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        let read = self.io().poll_read(cx, buf);
        // Received data is processed first, so that a call in transit is not lost.
        if read.is_pending() && self.idle.is_over(cx) {
            return Poll::Ready(Ok(()));
        }
        if let Some(greeting) = &mut self.greeting {
            greeting.missing = greeting.missing.saturating_sub(buf.filled().len() - before);
            if greeting.missing == 0 {
                self.greeting = None;
            }
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        self.io().poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        self.io().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(stream) => stream.is_write_vectored(),
            Io::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
