//! Uploads that survive broken connections: bytes that the server already holds are not sent again. This module reads
//! only the given source.

use std::{
    io::SeekFrom,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_domain::limits::TRANSFER_CHUNK_BYTES;
use bytes::BytesMut;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncSeek, AsyncSeekExt as _},
    sync::mpsc,
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Response, Status};

use super::{
    Client, ClientError,
    connection::Connection,
    retry::Retries,
    v1::{
        self, FileServiceUploadRequest, FileServiceUploadResponse, UploadHeader,
        file_service_client::FileServiceClient, file_service_upload_request::Part,
    },
};

/// The capacity of the queue between reading and sending, in chunks.
const QUEUE: usize = 2;
/// The time in which the server must take one chunk.
const STALL: Duration = Duration::from_secs(60);
/// The time for the response after the last chunk. A large archive takes time to unpack.
const ANSWER: Duration = Duration::from_secs(600);

/// The progress of a transfer. Clones share the value.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Returns the number of bytes that were sent or received.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

impl Client {
    /// Uploads a file, or the content of a tar archive, into a session. `source` must contain all bytes; the header's
    /// size and hash are computed from it. A header without `transfer_id` gets one. Dropping the call ends the upload
    /// and leaves the session unchanged.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] if the server refuses the upload (`ARCHIVE_REFUSED` names the invalid entry),
    /// [`ClientError::Local`] if the source cannot be read, [`ClientError::Transport`] if there is no progress within
    /// `Patience::call`.
    pub async fn upload<S>(
        &self,
        mut header: UploadHeader,
        source: &mut S,
        progress: &Progress,
    ) -> Result<FileServiceUploadResponse, ClientError>
    where
        S: AsyncRead + AsyncSeek + Unpin + Send,
    {
        let (size, sha256) = digest(source).await?;
        header.size = Some(size);
        header.sha256 = sha256.to_vec().into();
        if header.transfer_id.is_empty() {
            header.transfer_id = uuid::Uuid::new_v4().to_string();
        }
        let mut retries = Retries::new(&self.connection.patience());
        let (mut from, mut there) = (0, 0);
        loop {
            progress.set(from);
            let mut sent = from;
            let error = match send(&self.connection, &header, size, source, &mut sent, progress).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match end_of(&error) {
                // The server holds more than it had ever confirmed, although less than was sent: there is progress.
                Some(end) if (there + 1..from).contains(&end) => {
                    (from, there) = (end, end);
                    retries.reset();
                }
                Some(end) if end <= size => {
                    from = end;
                    let slow = self.connection.transport("it does not keep the sent bytes");
                    retries.outlast(slow, self.connection.patience().call).await?;
                }
                _ => {
                    retries.outlast(error, self.connection.patience().call).await?;
                    from = sent;
                }
            }
        }
    }
}

/// Sends the bytes after `sent`, and updates `sent`.
async fn send<S>(
    connection: &Connection,
    header: &UploadHeader,
    size: u64,
    source: &mut S,
    sent: &mut u64,
    progress: &Progress,
) -> Result<FileServiceUploadResponse, ClientError>
where
    S: AsyncRead + AsyncSeek + Unpin + Send,
{
    source.seek(SeekFrom::Start(*sent)).await.map_err(|error| unreadable(&error))?;
    let (queue, taken) = mpsc::channel(QUEUE);
    let mut client = FileServiceClient::new(connection.separate());
    let mut answer = std::pin::pin!(client.upload(ReceiverStream::new(taken)));
    let pumped = tokio::select! {
        answer = &mut answer => return answered(connection, answer),
        pumped = pump(queue, header, size, source, sent, progress) => pumped,
    };
    match pumped {
        Ok(()) => {}
        // The response contains the reason.
        Err(Halt::NotTaken) => return answered(connection, answer.await),
        Err(Halt::Stalled) => return Err(connection.transport("it accepts no more bytes")),
        Err(Halt::Source(error)) => return Err(error),
    }
    match timeout(ANSWER, answer).await {
        Ok(answer) => answered(connection, answer),
        Err(_) => Err(connection.transport("the upload was not answered in time")),
    }
}

fn answered<T>(connection: &Connection, answer: Result<Response<T>, Status>) -> Result<T, ClientError> {
    answer.map(Response::into_inner).map_err(|status| connection.error(&status))
}

/// The reason why a pump stopped before the end.
enum Halt {
    /// The call has ended.
    NotTaken,
    /// There was no progress for too long.
    Stalled,
    /// The source cannot be read.
    Source(ClientError),
}

impl From<ClientError> for Halt {
    fn from(error: ClientError) -> Self {
        Self::Source(error)
    }
}

/// Sends the header and all remaining bytes. Closing the queue ends the upload.
async fn pump<S>(
    queue: mpsc::Sender<FileServiceUploadRequest>,
    header: &UploadHeader,
    size: u64,
    source: &mut S,
    sent: &mut u64,
    progress: &Progress,
) -> Result<(), Halt>
where
    S: AsyncRead + Unpin,
{
    put(&queue, Part::Header(header.clone())).await?;
    while *sent < size {
        let chunk = chunk(source, *sent, size).await?;
        let length = chunk.data.len() as u64;
        put(&queue, Part::Chunk(chunk)).await?;
        *sent += length;
        progress.set(*sent);
    }
    Ok(())
}

async fn put(queue: &mpsc::Sender<FileServiceUploadRequest>, part: Part) -> Result<(), Halt> {
    let request = FileServiceUploadRequest { part: Some(part) };
    match timeout(STALL, queue.send(request)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Halt::NotTaken),
        Err(_) => Err(Halt::Stalled),
    }
}

/// Reads the next chunk of the source.
async fn chunk<S>(source: &mut S, offset: u64, size: u64) -> Result<v1::FileChunk, ClientError>
where
    S: AsyncRead + Unpin,
{
    let most = usize::try_from(size - offset).unwrap_or(usize::MAX).min(TRANSFER_CHUNK_BYTES);
    let mut data = BytesMut::with_capacity(most);
    let read = source.take(most as u64).read_buf(&mut data).await.map_err(|error| unreadable(&error))?;
    if read == 0 {
        return Err(ClientError::Local("the file was truncated while it was read".to_owned()));
    }
    Ok(v1::FileChunk { offset, data: data.freeze() })
}

/// Returns the length and the hash of the source.
async fn digest<S>(source: &mut S) -> Result<(u64, [u8; 32]), ClientError>
where
    S: AsyncRead + AsyncSeek + Unpin,
{
    source.seek(SeekFrom::Start(0)).await.map_err(|error| unreadable(&error))?;
    let (mut size, mut hash) = (0, Sha256::new());
    let mut data = BytesMut::with_capacity(TRANSFER_CHUNK_BYTES);
    while source.read_buf(&mut data).await.map_err(|error| unreadable(&error))? > 0 {
        size += data.len() as u64;
        hash.update(&data);
        data.clear();
    }
    Ok((size, hash.finalize().into()))
}

/// Returns the offset at which a transfer must continue, if the error contains one.
pub(super) fn end_of(error: &ClientError) -> Option<u64> {
    let rejection = error.rejection().filter(|rejection| rejection.code == Code::OutOfRange)?;
    rejection.metadata.get("end")?.parse().ok()
}

fn unreadable(error: &std::io::Error) -> ClientError {
    ClientError::Local(format!("cannot read the file: {error}"))
}
