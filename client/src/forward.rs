//! Forwarded connections: a TCP connection to a port of a session, through the server. A broken connection is not
//! repeated, because the program in the session has seen its bytes.

use airlock_domain::limits::TRANSFER_CHUNK_BYTES;
use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::{
    Client, ClientError,
    connection::{ANSWER_BYTES, Connection},
    v1::{
        ForwardEnded, ForwardOpen, SessionServiceForwardRequest, SessionServiceForwardResponse,
        session_service_client::SessionServiceClient, session_service_forward_request::Message as Request,
        session_service_forward_response::Message as Response,
    },
};

/// The timeout for the connection to the program, through server and runner.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
/// The number of attempts to open a connection. If the server refuses it while the request is sent, the status can be
/// lost. No byte of the program is lost by another attempt.
const TRIES: usize = 3;
/// The number of bytes per read.
const READ: usize = 64 * 1024;
/// The capacity of the queue between reading and sending, in messages.
const QUEUE: usize = 2;

/// A connection to a port of a session. Dropping both halves resets the connection, unless both directions have ended.
#[derive(Debug)]
pub struct Forward {
    /// The direction to the program.
    pub sender: ForwardSender,
    /// The direction from the program.
    pub receiver: ForwardReceiver,
}

/// The direction to the program. Dropping it without [`ForwardSender::finish`] resets the connection.
#[derive(Debug)]
pub struct ForwardSender {
    queue: mpsc::Sender<SessionServiceForwardRequest>,
}

/// The direction from the program.
#[derive(Debug)]
pub struct ForwardReceiver {
    connection: Connection,
    messages: Streaming<SessionServiceForwardResponse>,
    has_ended: bool,
}

/// The transferred bytes of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Bytes to the program.
    pub sent: u64,
    /// Bytes from the program.
    pub received: u64,
}

impl ForwardSender {
    /// Sends bytes. Waits while the program reads slowly. Returns false if the connection has ended; the receiver then
    /// has the reason.
    pub async fn send(&self, mut data: Bytes) -> bool {
        while !data.is_empty() {
            let part = data.split_to(data.len().min(TRANSFER_CHUNK_BYTES));
            let message = SessionServiceForwardRequest { message: Some(Request::Data(part)) };
            if self.queue.send(message).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Ends this direction: the program reads the end of the stream. The other direction stays open.
    pub async fn finish(self) {
        let message = SessionServiceForwardRequest { message: Some(Request::End(ForwardEnded {})) };
        // If the connection has ended, the receiver has the reason.
        let _ = self.queue.send(message).await;
    }
}

impl ForwardReceiver {
    /// Returns the next bytes, or `None` once the program has ended its direction. Cancel-safe.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] with the reason, such as `CONNECTION_RESET`, and [`ClientError::Transport`] if the
    /// connection was cut. The bytes before an error can be incomplete.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        if self.has_ended {
            return Ok(None);
        }
        match self.message().await? {
            Some(Response::Data(data)) => Ok(Some(data)),
            Some(Response::End(_)) => {
                self.has_ended = true;
                Ok(None)
            }
            Some(Response::Opened(_)) => Err(self.connection.contract("it sent `opened` twice")),
            None => Err(self.connection.contract("the stream ended before the program ended its direction")),
        }
    }

    /// Waits until the program has received everything after both directions have ended.
    ///
    /// # Errors
    /// As for [`ForwardReceiver::next`].
    pub async fn close(mut self) -> Result<(), ClientError> {
        while self.next().await?.is_some() {}
        match self.message().await? {
            None => Ok(()),
            Some(_) => Err(self.connection.contract("it sent data after the end")),
        }
    }

    async fn message(&mut self) -> Result<Option<Response>, ClientError> {
        let message = self.messages.message().await.map_err(|status| self.connection.error(&status))?;
        let Some(message) = message else { return Ok(None) };
        self.connection.present(message.message, "message").map(Some)
    }
}

impl Forward {
    /// Connects to a TCP port of a session's loopback. Returns when the connection exists. Each connection to a program
    /// uses its own connection to the server, so that a slow one delays no other.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] with the reason, such as `PORT_FORWARD_OFF` or `NOTHING_LISTENS`;
    /// [`ClientError::Transport`] if the server cannot be reached in time.
    pub async fn open(client: &Client, session_id: &str, port: u16) -> Result<Self, ClientError> {
        for _ in 1..TRIES {
            match Self::open_once(client, session_id, port).await {
                Err(ClientError::Transport { .. }) => {}
                other => return other,
            }
        }
        Self::open_once(client, session_id, port).await
    }

    async fn open_once(client: &Client, session_id: &str, port: u16) -> Result<Self, ClientError> {
        let connection = client.connection.clone();
        let (queue, requests) = mpsc::channel(QUEUE);
        let open = ForwardOpen { session_id: session_id.to_owned(), port: port.into() };
        // The queue is empty and its receiver exists, so this cannot fail.
        let _ = queue.try_send(SessionServiceForwardRequest { message: Some(Request::Open(open)) });
        let mut client =
            SessionServiceClient::new(connection.separate()).max_decoding_message_size(ANSWER_BYTES);
        let opening = async {
            let answer = client.forward(ReceiverStream::new(requests)).await;
            let mut messages = answer.map_err(|status| connection.error(&status))?.into_inner();
            let first = messages.message().await.map_err(|status| connection.error(&status))?;
            match first.and_then(|first| first.message) {
                Some(Response::Opened(_)) => Ok(messages),
                _ => Err(connection.contract("its first message is not `opened`")),
            }
        };
        let messages = timeout(CONNECT_TIMEOUT, opening)
            .await
            .map_err(|_| connection.transport("the connection to the port was not opened in time"))??;
        let receiver = ForwardReceiver { connection, messages, has_ended: false };
        Ok(Self { sender: ForwardSender { queue }, receiver })
    }

    /// Transfers bytes between `stream` and the program until both directions have ended. The end of one direction ends
    /// the same direction on the other side.
    ///
    /// # Errors
    /// As for [`ForwardReceiver::next`], and [`ClientError::Local`] if the stream fails. The caller should then reset
    /// the stream, because its data can be incomplete.
    pub async fn relay<S>(self, stream: &mut S) -> Result<Forwarded, ClientError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Self { sender, mut receiver } = self;
        let (from_local, to_local) = tokio::io::split(stream);
        // A failure of one direction ends both.
        let (sent, received) =
            tokio::try_join!(send_all(from_local, sender), receive_all(&mut receiver, to_local))?;
        receiver.close().await?;
        Ok(Forwarded { sent, received })
    }
}

async fn send_all(mut from: impl AsyncRead + Unpin, sender: ForwardSender) -> Result<u64, ClientError> {
    let (mut sent, mut buffer) = (0_u64, BytesMut::new());
    loop {
        buffer.reserve(READ);
        let read = from.read_buf(&mut (&mut buffer).limit(READ)).await.map_err(|error| local(&error))?;
        if read == 0 || !sender.send(buffer.split().freeze()).await {
            sender.finish().await;
            return Ok(sent);
        }
        sent += read as u64;
    }
}

async fn receive_all(
    receiver: &mut ForwardReceiver,
    mut to: impl AsyncWrite + Unpin,
) -> Result<u64, ClientError> {
    let mut received = 0;
    while let Some(data) = receiver.next().await? {
        to.write_all(&data).await.map_err(|error| local(&error))?;
        received += data.len() as u64;
    }
    to.shutdown().await.map_err(|error| local(&error))?;
    Ok(received)
}

fn local(error: &std::io::Error) -> ClientError {
    ClientError::Local(format!("the local connection failed: {error}"))
}
