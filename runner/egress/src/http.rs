//! HTTP/1.1: CONNECT, and requests with an absolute URL. Each request of a connection is authenticated and decided.
//!
//! A tunnel that is refused ends the connection, and so does a request with a body in chunks: the gate does not look
//! for the end of either.
//!
//! Some clients ask for a tunnel even for plain HTTP. Its requests are forwarded one by one, as if each had named its
//! target, so that they cannot reach another one.

mod answer;
mod body;
mod forward;
mod gate;
mod head;
mod metered;
mod service;

use std::{
    convert::Infallible,
    io,
    sync::{Arc, atomic::Ordering},
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

pub use self::forward::ONE_HOP;
pub(crate) use self::service::Inside;
use self::{gate::Gate, service::Service};
use crate::{
    client::{Asked, Client, PlainHttp, idle},
    open::{Execution, Opened},
};

/// How an HTTP connection ended.
pub(crate) enum Ended {
    /// The client has been told that its tunnel is open.
    Tunnel(Box<Asked>),
    /// The last answer has been written.
    Closed(TcpStream),
}

/// Serves requests until the client closes, opens a tunnel, or does something that ends the connection.
///
/// # Errors
///
/// Fails if the connection breaks, is idle for too long, or is no longer permitted.
pub(crate) async fn serve(stream: TcpStream, execution: &Arc<Execution>) -> io::Result<Ended> {
    let client = Client::new(Arc::clone(execution), Some(&stream));
    let (client, early, opened) = converse(stream, Vec::new(), None, client).await?;
    Ok(match opened {
        Some(opened) => Ended::Tunnel(Box::new(Asked { client, early, opened })),
        None => Ended::Closed(client),
    })
}

/// Serves the requests of a tunnel to `plain.target`, and returns the stream for its end.
///
/// # Errors
///
/// As [`serve`].
pub(crate) async fn serve_inside(plain: PlainHttp, execution: &Arc<Execution>) -> io::Result<TcpStream> {
    let client = Client::new(Arc::clone(execution), None);
    let inside = Inside::plain(plain.target);
    let (stream, _, _) = converse(plain.client, plain.early, Some(inside), client).await?;
    Ok(stream)
}

/// Serves the requests inside the TLS of an inspected target, and returns the stream for its end.
///
/// # Errors
///
/// As [`serve`].
pub(crate) async fn serve_inspected<S>(stream: S, opened: Opened, execution: &Arc<Execution>) -> io::Result<S>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let client = Client::new(Arc::clone(execution), None);
    // The connection to the target is open already.
    client.set_forwarding(Some(opened.watch.clone()));
    let (stream, _, _) = converse(stream, Vec::new(), Some(Inside::tls(opened)), client).await?;
    Ok(stream)
}

/// Returns the stream, the bytes that were read from it and not served, and the tunnel that the client has opened.
async fn converse<S>(
    stream: S,
    early: Vec<u8>,
    inside: Option<Inside>,
    client: Client,
) -> io::Result<(S, Vec<u8>, Option<Opened>)>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let client = Arc::new(client);
    let limits = client.execution.limits().clone();
    let service = Arc::new(Service::new(Arc::clone(&client), inside));
    let gate = Gate::new(stream, early, Arc::clone(&client), service.refused());
    let answers = Arc::clone(&service);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(head::MAX_HEADERS)
        .max_buf_size(head::MAX_BYTES)
        .serve_connection(
            TokioIo::new(gate),
            service_fn(move |request| {
                let service = Arc::clone(&answers);
                Box::pin(async move { Ok::<_, Infallible>(service.answer(request).await) })
            }),
        );
    let parts = tokio::select! {
        biased;
        parts = connection.without_shutdown() => parts.map_err(io::Error::other)?,
        () = client.revoked() => return Err(io::ErrorKind::PermissionDenied.into()),
        () = idle(limits.idle, || client.transferred.load(Ordering::Relaxed)) => {
            return Err(io::ErrorKind::TimedOut.into());
        }
    };
    let (stream, early) = parts.io.into_inner().into_parts();
    Ok((stream, early, service.take_tunnel()))
}
