//! The transport over standard input and output: one connection. Nothing else may write to standard output.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use rmcp::{
    service::{ServerInitializeError, serve_server_with_ct},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{handler::Shared, options::Options};

/// The maximum length of a message in bytes.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// The time that running calls have after the end of the input.
const GRACE: Duration = Duration::from_secs(1);
/// The time to end everything that the connection started.
const CLOSE: Duration = Duration::from_secs(10);

/// Serves one connection until its input ends or `stop` returns.
///
/// # Errors
/// Returns text if the client does not begin the protocol, or if the session could not be closed in time.
pub async fn stdio(options: Options, stop: impl Future<Output = ()>) -> Result<(), String> {
    let end = CancellationToken::new();
    let shared = Shared::new(options, 1, end.clone());
    let handler = shared.handler();
    let input = Input { inner: tokio::io::stdin(), ended: Some(handler.ending()) };
    let transport =
        AsyncRwTransport::new_server(input, tokio::io::stdout()).with_max_line_length(MESSAGE_BYTES);
    let served = async {
        match serve_server_with_ct(handler, transport, end.clone()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
            // The client ended before it began, for example to check that the program exists.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(format!("the client did not begin the protocol: {error}")),
        }
    };
    let done = tokio::select! {
        done = served => done,
        () = stop => Ok(()),
    };
    end.cancel();
    match timeout(CLOSE, shared.closed()).await {
        Ok(()) => done,
        Err(_) => {
            Err("the session could not be closed in time; it is closed after its idle timeout".to_owned())
        }
    }
}

/// Standard input. A moment after its end, the running calls are cancelled, because nobody waits for their results.
struct Input<R> {
    inner: R,
    ended: Option<CancellationToken>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if polled.is_ready()
            && buf.filled().len() == before
            && let Some(ended) = self.ended.take()
        {
            tokio::spawn(async move {
                sleep(GRACE).await;
                ended.cancel();
            });
        }
        polled
    }
}
