//! Downloads that survive broken connections. Each byte is returned once, and the hash that the server sends at the end
//! is checked.

use std::io;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    time::Instant,
};
use tonic::Streaming;

use super::{
    Client, ClientError, Progress,
    connection::{ANSWER_BYTES, Connection, OPEN_TIMEOUT},
    retry::Retries,
    v1::{
        DownloadDone, DownloadHeader, FileChunk, FileServiceDownloadRequest, FileServiceDownloadResponse,
        file_service_client::FileServiceClient, file_service_download_response::Part,
    },
};

/// The error reason for a transfer that the server no longer holds.
const GONE: &str = "TRANSFER_GONE";

/// A download of a file or an archive.
#[derive(Debug)]
pub struct Download {
    connection: Connection,
    request: FileServiceDownloadRequest,
    most: u64,
    view: Option<Streaming<FileServiceDownloadResponse>>,
    header: Option<DownloadHeader>,
    have: u64,
    /// The time of the last new data or of the last new view.
    since: Instant,
    hash: Sha256,
    done: Option<DownloadDone>,
    retries: Retries,
}

impl Client {
    /// Downloads a file of a session, or a directory as a tar archive of at most `most` bytes. Nothing is sent before
    /// the first call of a method; dropping the download ends it.
    #[must_use]
    pub fn download(&self, request: FileServiceDownloadRequest, most: u64) -> Download {
        Download {
            connection: self.connection.clone(),
            request,
            most,
            view: None,
            header: None,
            have: 0,
            since: Instant::now(),
            hash: Sha256::new(),
            done: None,
            retries: Retries::new(&self.connection.patience()),
        }
    }
}

impl Download {
    /// Returns the header, which describes the file or archive.
    ///
    /// # Errors
    /// As for [`Download::next`].
    pub async fn header(&mut self) -> Result<DownloadHeader, ClientError> {
        loop {
            if let Some(header) = &self.header {
                return Ok(header.clone());
            }
            if let Err(error) = self.step().await {
                self.outlast(error).await?;
            }
        }
    }

    /// Returns the next bytes in order, or `None` once all bytes have arrived and their hash matches. Cancel-safe.
    ///
    /// # Errors
    /// [`ClientError::Rejected`] if the server refuses the download, [`ClientError::Transport`] if no data arrives
    /// within `Patience::call` or `Patience::silence`, [`ClientError::Contract`] if the bytes do not match the server's
    /// description or exceed the limit. Bytes that were returned before an error must not be used.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        while self.done.is_none() {
            match self.step().await {
                Ok(Some(data)) => return Ok(Some(data)),
                Ok(None) => {}
                Err(error) => self.outlast(error).await?,
            }
        }
        Ok(None)
    }

    /// Returns the totals of the download; empty until all bytes have arrived.
    #[must_use]
    pub fn done(&self) -> DownloadDone {
        self.done.clone().unwrap_or_default()
    }

    /// Writes all remaining bytes to `sink` and flushes it.
    ///
    /// # Errors
    /// As for [`Download::next`], and [`ClientError::Local`] if the sink cannot be written.
    pub async fn copy_to<W>(&mut self, sink: &mut W, progress: &Progress) -> Result<DownloadDone, ClientError>
    where
        W: AsyncWrite + Unpin + Send,
    {
        let unwritable =
            |error: &io::Error| ClientError::Local(format!("cannot write the received bytes: {error}"));
        self.copy(sink, progress, unwritable).await
    }

    /// Like [`Download::copy_to`], with a given error for a sink that cannot be written.
    pub(super) async fn copy<W>(
        &mut self,
        sink: &mut W,
        progress: &Progress,
        unwritable: impl Fn(&io::Error) -> ClientError,
    ) -> Result<DownloadDone, ClientError>
    where
        W: AsyncWrite + Unpin + Send,
    {
        while let Some(data) = self.next().await? {
            sink.write_all(&data).await.map_err(|error| unwritable(&error))?;
            progress.set(self.have);
        }
        sink.flush().await.map_err(|error| unwritable(&error))?;
        Ok(self.done())
    }

    /// Reads one message and returns its new bytes, if it has any.
    async fn step(&mut self) -> Result<Option<Bytes>, ClientError> {
        if self.view.is_none() {
            self.view = Some(self.open().await?);
            self.since = Instant::now();
        }
        let Some(view) = &mut self.view else {
            return Ok(None);
        };
        let Some(message) = self.connection.heard(view, self.since).await? else {
            return Err(self.connection.transport("the download ended before its last byte"));
        };
        let part = message.part;
        match part {
            Some(Part::Header(header)) => self.take_header(header).map(|()| None),
            Some(Part::Chunk(chunk)) => self.take_chunk(&chunk),
            Some(Part::Done(done)) => self.take_done(done).map(|()| None),
            None => Ok(None),
        }
    }

    async fn open(&self) -> Result<Streaming<FileServiceDownloadResponse>, ClientError> {
        let mut request = self.request.clone();
        if let Some(header) = &self.header {
            request.transfer_id.clone_from(&header.transfer_id);
            request.offset = self.have;
        }
        let mut client =
            FileServiceClient::new(self.connection.views()).max_decoding_message_size(ANSWER_BYTES);
        match tokio::time::timeout(OPEN_TIMEOUT, client.download(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.connection.error(&status)),
            Err(_) => Err(self.connection.transport("the download did not start in time")),
        }
    }

    fn take_header(&mut self, header: DownloadHeader) -> Result<(), ClientError> {
        match &self.header {
            Some(known) if known.transfer_id != header.transfer_id || known.format != header.format => {
                Err(self.connection.contract("it continued with another transfer"))
            }
            Some(_) => Ok(()),
            None => {
                self.header = Some(header);
                Ok(())
            }
        }
    }

    fn take_chunk(&mut self, chunk: &FileChunk) -> Result<Option<Bytes>, ClientError> {
        if self.header.is_none() {
            return Err(self.connection.contract("it sent bytes before it described the file"));
        }
        let Some(known) = self.have.checked_sub(chunk.offset) else {
            return Err(self.connection.contract("it skipped bytes without reporting a gap"));
        };
        let known = usize::try_from(known).unwrap_or(usize::MAX).min(chunk.data.len());
        let data = chunk.data.slice(known..);
        if data.is_empty() {
            return Ok(None);
        }
        self.have += data.len() as u64;
        if self.have > self.most {
            return Err(ClientError::Local(format!(
                "it is longer than the limit of {} bytes; request a part of it",
                self.most
            )));
        }
        self.hash.update(&data);
        self.retries.reset();
        self.since = Instant::now();
        Ok(Some(data))
    }

    fn take_done(&mut self, done: DownloadDone) -> Result<(), ClientError> {
        if done.size != self.have || done.sha256 != self.hash.clone().finalize().as_slice() {
            return Err(self.connection.contract("the received bytes do not match the announced hash"));
        }
        self.done = Some(done);
        Ok(())
    }

    /// Pauses if `error` may pass, otherwise returns it.
    async fn outlast(&mut self, error: ClientError) -> Result<(), ClientError> {
        self.view = None;
        let gone = error.rejection().is_some_and(|rejection| rejection.reason == GONE);
        if gone && self.have == 0 && self.header.take().is_some() {
            return Ok(());
        }
        self.retries.outlast(error, self.connection.patience().call).await
    }
}
