//! A fake server with one workspace and one file. It can be honest or lie.

use std::{
    collections::HashMap,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;
use tonic::{Code, Request, Response, Status, Streaming, transport::Server};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::{
    testing,
    v1::{
        self, DownloadDone, DownloadHeader, FileChunk, FileServiceDownloadResponse, FileServiceUploadRequest,
        FileServiceUploadResponse, UploadHeader,
        file_service_download_response::Part as Down,
        file_service_server::{FileService, FileServiceServer},
        file_service_upload_request::Part as Up,
    },
};

/// The size of a download's chunk, in bytes.
const CHUNK: usize = 1500;

/// The fault of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    None,
    /// The hash belongs to other content.
    Hash,
    /// A chunk in the middle is missing.
    Hole,
    /// The bytes do not end.
    Endless,
    /// The download continues with another transfer.
    Transfer,
    /// Every attempt breaks before the end.
    Cut,
    /// The download starts, and then sends nothing.
    Silent,
    /// Each upload reports an end one byte further than the previous one.
    Ends,
}

#[derive(Debug)]
pub(super) struct Fake {
    /// The content of the download.
    pub(super) content: Bytes,
    pub(super) format: v1::FileFormat,
    pub(super) lie: Lie,
    /// The bytes that arrived for each transfer.
    pub(super) uploads: Mutex<HashMap<String, Vec<u8>>>,
    /// The number of completed uploads.
    pub(super) done: Mutex<usize>,
    pub(super) calls: Mutex<usize>,
}

impl Fake {
    pub(super) fn new(content: impl Into<Bytes>, format: v1::FileFormat, lie: Lie) -> Arc<Self> {
        Arc::new(Self {
            content: content.into(),
            format,
            lie,
            uploads: Mutex::default(),
            done: Mutex::default(),
            calls: Mutex::default(),
        })
    }

    fn take(&self, header: &UploadHeader, chunk: &FileChunk) -> Result<(), Status> {
        let mut uploads = self.uploads.lock().unwrap();
        let have = uploads.entry(header.transfer_id.clone()).or_default();
        let known = (have.len() as u64).checked_sub(chunk.offset).ok_or_else(|| beyond(have.len()))?;
        have.extend_from_slice(chunk.data.get(known as usize..).unwrap_or_default());
        Ok(())
    }

    fn finish(&self, header: &UploadHeader) -> Result<FileServiceUploadResponse, Status> {
        let mut uploads = self.uploads.lock().unwrap();
        let have = uploads.entry(header.transfer_id.clone()).or_default();
        if (have.len() as u64) < header.size.unwrap() {
            return Err(beyond(have.len()));
        }
        assert_eq!(Sha256::digest(&have[..]).as_slice(), header.sha256.as_ref());
        *self.done.lock().unwrap() += 1;
        let received = have.len() as u64;
        Ok(FileServiceUploadResponse { received, files: 1, ..Default::default() })
    }

    fn chunks(&self, from: usize) -> Vec<Down> {
        let rest = self.content.slice(from.min(self.content.len())..);
        let chunk = |(index, data): (usize, &[u8])| {
            let offset = (from + index * CHUNK) as u64;
            Down::Chunk(FileChunk { offset, data: Bytes::copy_from_slice(data) })
        };
        rest.chunks(CHUNK).enumerate().map(chunk).collect()
    }

    fn download(&self, from: usize) -> Vec<Down> {
        let mut parts = self.chunks(from);
        let transfer_id = match self.lie {
            Lie::Transfer => format!("t{}", self.calls.lock().unwrap()),
            _ => "t".to_owned(),
        };
        let header = DownloadHeader { transfer_id, format: self.format.into(), info: None };
        parts.insert(0, Down::Header(header));
        let mut sha256 = Sha256::digest(&self.content).to_vec();
        match self.lie {
            Lie::Hash => sha256[0] ^= 1,
            Lie::Hole if parts.len() > 3 => drop(parts.remove(2)),
            Lie::Transfer | Lie::Cut => {
                parts.truncate(3);
                return parts;
            }
            _ => {}
        }
        let size = self.content.len() as u64;
        parts.push(Down::Done(DownloadDone { size, sha256: sha256.into(), files: 1, ..Default::default() }));
        parts
    }
}

/// Returns the status that tells a client to continue at `end`.
fn beyond(end: usize) -> Status {
    let metadata = HashMap::from([("end".to_owned(), end.to_string())]);
    let details = ErrorDetails::with_error_info("OUT_OF_RANGE", "airlock", metadata);
    Status::with_error_details(Code::OutOfRange, "it goes on elsewhere", details)
}

fn unimplemented<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("not here"))
}

#[tonic::async_trait]
impl FileService for Fake {
    type DownloadStream = Pin<Box<dyn Stream<Item = Result<FileServiceDownloadResponse, Status>> + Send>>;

    async fn upload(
        &self,
        request: Request<Streaming<FileServiceUploadRequest>>,
    ) -> Result<Response<FileServiceUploadResponse>, Status> {
        let call = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            *calls
        };
        if self.lie == Lie::Ends {
            return Err(beyond(call));
        }
        let mut stream = request.into_inner();
        let Some(Up::Header(header)) = stream.message().await?.and_then(|message| message.part) else {
            return Err(Status::invalid_argument("no header"));
        };
        while let Some(message) = stream.message().await? {
            match message.part {
                Some(Up::Chunk(chunk)) => self.take(&header, &chunk)?,
                _ => return Err(Status::invalid_argument("no chunk")),
            }
        }
        self.finish(&header).map(Response::new)
    }

    async fn download(
        &self,
        request: Request<v1::FileServiceDownloadRequest>,
    ) -> Result<Response<Self::DownloadStream>, Status> {
        *self.calls.lock().unwrap() += 1;
        let from = request.into_inner().offset as usize;
        let answer = |part| Ok(FileServiceDownloadResponse { part: Some(part) });
        let parts = self.download(from);
        if self.lie == Lie::Endless {
            let zeros = |index: u64| {
                let data = Bytes::from(vec![0; CHUNK]);
                Down::Chunk(FileChunk { offset: index * CHUNK as u64, data })
            };
            let header = parts.into_iter().take(1);
            return Ok(Response::new(stream::iter(header.chain((0..).map(zeros))).map(answer).boxed()));
        }
        let pieces = stream::iter(parts).map(answer);
        if self.lie == Lie::Silent {
            return Ok(Response::new(
                pieces.take(1 + usize::from(from == 0)).chain(stream::pending()).boxed(),
            ));
        }
        Ok(Response::new(pieces.boxed()))
    }

    async fn stat(
        &self,
        _: Request<v1::FileServiceStatRequest>,
    ) -> Result<Response<v1::FileServiceStatResponse>, Status> {
        unimplemented()
    }

    async fn list(
        &self,
        _: Request<v1::FileServiceListRequest>,
    ) -> Result<Response<v1::FileServiceListResponse>, Status> {
        unimplemented()
    }

    async fn diff(
        &self,
        _: Request<v1::FileServiceDiffRequest>,
    ) -> Result<Response<v1::FileServiceDiffResponse>, Status> {
        unimplemented()
    }

    async fn list_quarantine(
        &self,
        _: Request<v1::FileServiceListQuarantineRequest>,
    ) -> Result<Response<v1::FileServiceListQuarantineResponse>, Status> {
        unimplemented()
    }

    async fn restore_quarantine(
        &self,
        _: Request<v1::FileServiceRestoreQuarantineRequest>,
    ) -> Result<Response<v1::FileServiceRestoreQuarantineResponse>, Status> {
        unimplemented()
    }
}

/// Serves until the set is dropped.
pub(super) async fn serve(fake: Arc<Fake>, tasks: &mut JoinSet<()>) -> SocketAddr {
    testing::serve(Server::builder().add_service(FileServiceServer::from_arc(fake)), tasks).await
}
