//! The input of a command. It is forwarded as it is read. After a broken connection, it continues after the last
//! confirmed byte. Unconfirmed input is held in a bounded buffer. Keys from a terminal are forwarded in the same way,
//! but do not end the input.

use airlock_domain::limits::TRANSFER_CHUNK_BYTES;
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::mpsc,
    time::Instant,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{
    Client, ClientError,
    connection::Connection,
    retry::Retries,
    v1::{
        ExecutionServiceWriteStdinRequest, ExecutionServiceWriteStdinResponse,
        execution_service_client::ExecutionServiceClient,
    },
};

/// The number of bytes that are sent before the server must confirm them.
const WINDOW: usize = 1024 * 1024;
/// The number of bytes per read.
const READ: usize = 32 * 1024;
/// The capacity of the queue between reading and sending, in messages.
const QUEUE: usize = 2;

/// The result of forwarding an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The number of bytes that have reached the command's pipe, counted from the start of the input.
    pub accepted: u64,
}

/// Input that was read and is not confirmed.
struct Held {
    /// The offset of the first byte.
    at: u64,
    bytes: BytesMut,
    /// Whether the source has ended.
    ended: bool,
}

impl Held {
    /// Returns the bytes after `offset`, at most one message of them.
    fn after(&self, offset: u64) -> Bytes {
        let skip = usize::try_from(offset.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let rest = self.bytes.get(skip..).unwrap_or_default();
        Bytes::copy_from_slice(rest.get(..TRANSFER_CHUNK_BYTES).unwrap_or(rest))
    }

    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// Removes confirmed bytes. Returns false if the server confirmed less than before or more than was sent.
    fn confirm(&mut self, accepted: u64) -> bool {
        let Some(new) = accepted.checked_sub(self.at).filter(|_| accepted <= self.end()) else {
            return false;
        };
        self.bytes.advance(usize::try_from(new).unwrap_or(usize::MAX));
        self.at = accepted;
        true
    }

    /// Like [`Held::confirm`], but also accepts input that another client has written.
    fn catch_up(&mut self, accepted: u64) -> bool {
        if accepted > self.end() {
            self.bytes.clear();
            self.at = accepted;
        }
        self.confirm(accepted)
    }
}

/// The way in which an input is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// The end of the source ends the input.
    ToItsEnd,
    /// The input stays open, and another client's write to it is ended.
    Keys,
}

impl Client {
    /// Forwards all of `source` to the input of a running command that was started with `stdin`, then ends the
    /// input. `source` starts at the input's byte `offset`. Returns when the command has received everything, or
    /// has ended after receiving everything that was sent. Waits for a command that does not run yet or that does
    /// not read. Dropping the call leaves the input open.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] with `STDIN_CLOSED` or `NOT_RUNNING` if the command takes no more input,
    /// [`ClientError::Local`] if the source cannot be read, [`ClientError::Transport`] if there is no progress within
    /// `Patience::view`.
    pub async fn write_stdin<R>(
        &self,
        execution_id: &str,
        offset: u64,
        source: &mut R,
    ) -> Result<Written, ClientError>
    where
        R: AsyncRead + Unpin + Send,
    {
        let mut held = Held { at: offset, bytes: BytesMut::new(), ended: false };
        let mut retries = Retries::new(&self.connection.patience());
        // Whether the end was sent and its confirmation lost.
        let mut is_unconfirmed = false;
        loop {
            let began = Instant::now();
            match forward(&self.connection, execution_id, &mut held, source, Manner::ToItsEnd).await {
                Ok(answer) => {
                    let moved = answer.accepted > held.at;
                    if !held.confirm(answer.accepted) {
                        return Err(self.connection.contract("it confirmed input that was not sent"));
                    }
                    // The input ended with its source or with the command.
                    if answer.ended && held.bytes.is_empty() {
                        return Ok(Written { accepted: answer.accepted });
                    }
                    self.pause_without_progress(&mut retries, moved).await?;
                }
                Err(error) if is_unconfirmed && held.bytes.is_empty() && is_over(&error) => {
                    return Ok(Written { accepted: held.at });
                }
                Err(error) => {
                    retries.held_since(began);
                    retries.outlast(error, self.connection.patience().view).await?;
                    is_unconfirmed = held.ended;
                }
            }
        }
    }

    /// Types the bytes of `source` at the terminal of a running command, from the input's byte `offset` or from the
    /// current end of the input. A client that was typing is disconnected: only the last client can type. Returns when
    /// the source has ended and all its bytes were delivered. The input stays open, even if the call is dropped.
    ///
    /// # Errors
    /// As for [`Client::write_stdin`], and [`ClientError::Rejected`] with `STDIN_TAKEN` when another client
    /// has taken over the terminal.
    pub async fn type_into<R>(
        &self,
        execution_id: &str,
        offset: Option<u64>,
        source: &mut R,
    ) -> Result<Written, ClientError>
    where
        R: AsyncRead + Unpin + Send,
    {
        let mut held = Held { at: offset.unwrap_or(0), bytes: BytesMut::new(), ended: false };
        let mut retries = Retries::new(&self.connection.patience());
        let mut is_known = offset.is_some();
        loop {
            let began = Instant::now();
            let answer = if is_known {
                forward(&self.connection, execution_id, &mut held, source, Manner::Keys).await
            } else {
                // The first request sends no data. It only finds the current position of the input.
                let mut nothing = Held { at: 0, bytes: BytesMut::new(), ended: true };
                forward(&self.connection, execution_id, &mut nothing, &mut tokio::io::empty(), Manner::Keys)
                    .await
            };
            match answer {
                Ok(ExecutionServiceWriteStdinResponse { accepted, ended }) => {
                    let moved = !is_known || accepted > held.at;
                    let fits = if is_known { held.confirm(accepted) } else { held.catch_up(accepted) };
                    if !fits {
                        return Err(self
                            .connection
                            .contract("it confirmed input that differs from what was sent"));
                    }
                    if (held.ended || (is_known && ended)) && held.bytes.is_empty() {
                        return Ok(Written { accepted });
                    }
                    is_known = true;
                    self.pause_without_progress(&mut retries, moved).await?;
                }
                Err(error) => {
                    is_known = false;
                    retries.held_since(began);
                    retries.outlast(error, self.connection.patience().view).await?;
                }
            }
        }
    }

    /// Records an answer of the server. Pauses unless the command has accepted more input since the last one.
    async fn pause_without_progress(&self, retries: &mut Retries, moved: bool) -> Result<(), ClientError> {
        if moved {
            retries.reset();
            return Ok(());
        }
        let slow = self.connection.transport("it accepts no input");
        retries.outlast(slow, self.connection.patience().view).await
    }
}

/// Reports whether the command has ended, and its input with it.
fn is_over(error: &ClientError) -> bool {
    error.rejection().is_some_and(|rejection| rejection.reason == "NOT_RUNNING")
}

/// Forwards until the window is full, the source has ended or the server responds.
async fn forward<R>(
    connection: &Connection,
    execution_id: &str,
    held: &mut Held,
    source: &mut R,
    manner: Manner,
) -> Result<ExecutionServiceWriteStdinResponse, ClientError>
where
    R: AsyncRead + Unpin + Send,
{
    let (queue, taken) = mpsc::channel(QUEUE);
    let mut client = ExecutionServiceClient::new(connection.separate());
    let mut answer = std::pin::pin!(client.write_stdin(ReceiverStream::new(taken)));
    let answer = tokio::select! {
        answer = &mut answer => answer,
        pumped = pump(queue, execution_id, held, source, manner) => {
            pumped?;
            answer.await
        }
    };
    answer.map(tonic::Response::into_inner).map_err(|status: Status| connection.error(&status))
}

/// Sends the held bytes and the further bytes of the source. Cancel-safe: bytes that were read are held.
async fn pump<R>(
    queue: mpsc::Sender<ExecutionServiceWriteStdinRequest>,
    execution_id: &str,
    held: &mut Held,
    source: &mut R,
    manner: Manner,
) -> Result<(), ClientError>
where
    R: AsyncRead + Unpin,
{
    let mut offset = held.at;
    // The first message names the execution, before there is any data.
    let mut message = ExecutionServiceWriteStdinRequest {
        execution_id: execution_id.to_owned(),
        offset,
        take_over: manner == Manner::Keys,
        ..Default::default()
    };
    loop {
        message.data = held.after(offset);
        message.offset = offset;
        offset += message.data.len() as u64;
        let last = held.ended && offset == held.end();
        message.end = last && manner == Manner::ToItsEnd;
        // If the receiver is closed, the response contains the reason.
        if queue.send(std::mem::take(&mut message)).await.is_err() || last {
            return Ok(());
        }
        if offset < held.end() || held.ended {
            continue;
        }
        if held.bytes.len() >= WINDOW {
            return Ok(());
        }
        held.bytes.reserve(READ);
        let read = source.read_buf(&mut held.bytes).await;
        let read = read.map_err(|error| ClientError::Local(format!("cannot read the input: {error}")))?;
        held.ended = read == 0;
    }
}
