//! One connection of a command: the protocol of its client, and its end.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time,
};

use crate::{
    client::Asked,
    http, inside,
    open::Execution,
    socks,
    tunnel::{self, Ended},
};

/// The first byte of SOCKS5. No HTTP request begins with it.
const SOCKS5: u8 = 5;
/// The bytes that the proxy reads from a client after its last answer, so that the answer is not lost.
const LINGER_BYTES: usize = 256 * 1024;
/// The time for these bytes.
const LINGER_TIME: Duration = Duration::from_secs(1);

/// Serves a connection until its end. Dropping the future closes it.
pub(crate) async fn serve(stream: TcpStream, execution: Arc<Execution>) {
    // An error ends this connection only, and has been reported if it had a target.
    let _ = converse(stream, execution).await;
}

async fn converse(mut stream: TcpStream, execution: Arc<Execution>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut first = [0];
    let asked = match time::timeout(execution.limits().head, stream.peek(&mut first)).await?? {
        0 => return Ok(()),
        _ if first == [SOCKS5] => match socks::serve(&mut stream, &execution).await? {
            Some(opened) => Asked { client: stream, early: Vec::new(), opened },
            None => return linger(stream).await,
        },
        // In a box, so that a tunnel does not keep its memory.
        _ => match Box::pin(http::serve(stream, &execution)).await? {
            http::Ended::Tunnel(asked) => *asked,
            http::Ended::Closed(stream) => return linger(stream).await,
        },
    };
    match tunnel::run(asked, &execution).await? {
        Ended::Closed => Ok(()),
        Ended::Inspected(asked) => linger(Box::pin(inside::serve(*asked, &execution)).await?).await,
        Ended::PlainHttp(plain) => linger(Box::pin(http::serve_inside(*plain, &execution)).await?).await,
    }
}

/// Closes a connection after its last answer. If unread bytes were left, the kernel would reset the connection, and the
/// client could lose the answer.
async fn linger(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut scratch = [0; 1024];
    let drain = async {
        let mut total = 0;
        while total < LINGER_BYTES {
            match stream.read(&mut scratch).await {
                Ok(0) | Err(_) => return,
                Ok(count) => total += count,
            }
        }
    };
    // A client that does not close is cut off.
    let _ = time::timeout(LINGER_TIME, drain).await;
    Ok(())
}
