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

use airlock_network::Target;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use self::{gate::Gate, service::Service};
use crate::{
    client::{Asked, Client, PlainHttp, idle},
    open::Execution,
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
    converse(stream, Vec::new(), None, execution).await
}

/// Serves the requests of a tunnel to `plain.target`, and returns the stream for its end.
///
/// # Errors
///
/// As [`serve`].
pub(crate) async fn serve_inside(plain: PlainHttp, execution: &Arc<Execution>) -> io::Result<TcpStream> {
    match converse(plain.client, plain.early, Some(plain.target), execution).await? {
        Ended::Closed(stream) => Ok(stream),
        Ended::Tunnel(asked) => Ok(asked.client),
    }
}

async fn converse(
    stream: TcpStream,
    early: Vec<u8>,
    inside: Option<Target>,
    execution: &Arc<Execution>,
) -> io::Result<Ended> {
    let client = Arc::new(Client::new(Arc::clone(execution)));
    let service = Arc::new(Service::new(Arc::clone(&client), inside));
    let gate = Gate::new(stream, early, Arc::clone(&client), service.refused());
    let answers = Arc::clone(&service);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(execution.limits().head)
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
        () = idle(execution.limits().idle, || client.transferred.load(Ordering::Relaxed)) => {
            return Err(io::ErrorKind::TimedOut.into());
        }
    };
    let (stream, early) = parts.io.into_inner().into_parts();
    Ok(match service.take_tunnel() {
        Some(opened) => Ended::Tunnel(Box::new(Asked { client: stream, early, opened })),
        None => Ended::Closed(stream),
    })
}
