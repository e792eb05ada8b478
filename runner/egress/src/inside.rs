//! The TLS of a client with an inspected target. The proxy ends it, and serves the requests inside it.

use std::{
    io::{self, Cursor},
    sync::Arc,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, join},
    net::TcpStream,
    time,
};
use tokio_rustls::TlsAcceptor;

use crate::{client::Asked, http, open::Execution, report::amend};

/// The reason that a report states if the client does not accept the proxy's certificate.
const NO_HANDSHAKE: &str = "the TLS handshake with the command failed; the program must trust the certificates of \
                            `SSL_CERT_FILE`, and speak HTTP/1.1";

/// Serves an inspected tunnel, and returns the client's stream for its end.
///
/// # Errors
///
/// Fails if the client does not complete the handshake in time, the connection breaks, or it is no longer permitted.
pub(crate) async fn serve(asked: Asked, execution: &Arc<Execution>) -> io::Result<TcpStream> {
    let Asked { client, early, opened } = asked;
    let inspection = execution.access.inspection.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
    let settings = inspection.server(&opened.target.host).map_err(io::Error::other)?;
    let (reader, writer) = client.into_split();
    let stream = join(Cursor::new(early).chain(reader), writer);
    let accepting = time::timeout(execution.limits().head, TlsAcceptor::from(settings).accept(stream));
    let accepted = tokio::select! {
        biased;
        accepted = accepting => accepted,
        () = opened.watch.clone().revoked() => return Err(io::ErrorKind::PermissionDenied.into()),
    };
    let stream = match accepted {
        Ok(Ok(stream)) => stream,
        failed => {
            amend(&opened.report, |report| report.failed(NO_HANDSHAKE));
            return Err(failed.err().map_or(io::ErrorKind::InvalidData, |_| io::ErrorKind::TimedOut).into());
        }
    };
    let mut stream = http::serve_inspected(stream, opened, execution).await?;
    stream.shutdown().await?;
    let (reader, writer) = stream.into_inner().0.into_inner();
    let (_, reader) = reader.into_inner();
    reader.reunite(writer).map_err(io::Error::other)
}
