//! The FileService.

use std::sync::Arc;

use airlock_control::{
    SessionInUse,
    exchange::Exchanges,
    files::{self, Download, DownloadPart, Entry, Listed},
    session::Sessions,
};
use airlock_domain::{Uploaded, limits::MESSAGE_BYTES};
use airlock_proto::v1::{
    self, FileServiceDiffRequest, FileServiceDiffResponse, FileServiceDownloadRequest,
    FileServiceDownloadResponse, FileServiceListQuarantineRequest, FileServiceListQuarantineResponse,
    FileServiceListRequest, FileServiceListResponse, FileServiceRestoreQuarantineRequest,
    FileServiceRestoreQuarantineResponse, FileServiceStatRequest, FileServiceStatResponse,
    FileServiceUploadRequest, FileServiceUploadResponse, file_service_download_response::Part,
    file_service_server::FileService,
};
use futures::{StreamExt as _, stream};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use super::{
    call::{caller, refused},
    incoming::Incoming,
    view::Responses,
};
use crate::validate;

/// The handler of the FileService.
pub(super) struct FileHandler {
    pub(super) sessions: Arc<Sessions>,
    pub(super) exchanges: Exchanges,
}

#[tonic::async_trait]
impl FileService for FileHandler {
    type DownloadStream = Responses<FileServiceDownloadResponse>;

    async fn upload(
        &self,
        request: Request<Streaming<FileServiceUploadRequest>>,
    ) -> Result<Response<FileServiceUploadResponse>, Status> {
        let who = caller(&request)?.principal;
        let exchanges = &self.exchanges;
        let mut incoming = Incoming::new(request);
        let wait = exchanges.limits().transfer_idle;
        let order = incoming.first("header", wait).await.and_then(validate::upload).map_err(refused)?;
        let session = self.sessions.in_use(&who, order.session_id).await.map_err(refused)?;
        self.sessions.check_may_write(&who, &session.record).map_err(refused)?;
        let transfer_id = order.transfer_id.clone();
        let pieces = incoming.pieces(None, validate::upload_chunk);
        let uploaded = files::upload(exchanges, &who, &session.record.runner_id, order, pieces).await;
        let Uploaded { received, files, directories, links, bytes } = uploaded.map_err(refused)?;
        let answer = FileServiceUploadResponse { transfer_id, received, files, directories, links, bytes };
        Ok(Response::new(answer))
    }

    async fn download(
        &self,
        request: Request<FileServiceDownloadRequest>,
    ) -> Result<Response<Self::DownloadStream>, Status> {
        let who = caller(&request)?.principal;
        let order = validate::download(request.into_inner()).map_err(refused)?;
        let session = self.sessions.in_use(&who, order.session_id).await.map_err(refused)?;
        let transfer_id = order.transfer_id.clone();
        let download = files::download(&self.exchanges, &who, &session.record.runner_id, order).await;
        Ok(Response::new(responses(session, transfer_id, download.map_err(refused)?)))
    }

    async fn stat(
        &self,
        request: Request<FileServiceStatRequest>,
    ) -> Result<Response<FileServiceStatResponse>, Status> {
        let who = caller(&request)?.principal;
        let (session_id, path) = validate::stat(request.into_inner()).map_err(refused)?;
        let session = self.sessions.in_use(&who, session_id).await.map_err(refused)?;
        let found = files::stat(&self.exchanges, &who, &session.record.runner_id, session_id, path).await;
        Ok(Response::new(FileServiceStatResponse { file: Some(found.map_err(refused)?.into()) }))
    }

    async fn list(
        &self,
        request: Request<FileServiceListRequest>,
    ) -> Result<Response<FileServiceListResponse>, Status> {
        let who = caller(&request)?.principal;
        let (order, token) = validate::list_files(request.into_inner()).map_err(refused)?;
        let session = self.sessions.in_use(&who, order.session_id).await.map_err(refused)?;
        let listed = files::list(&self.exchanges, &who, &session.record.runner_id, order, token).await;
        let answer = fitting(listed.map_err(refused)?, |listed| FileServiceListResponse {
            files: listed.items.iter().cloned().map(Into::into).collect(),
            next_page_token: listed.next_page_token(),
        });
        Ok(Response::new(answer))
    }

    async fn diff(
        &self,
        request: Request<FileServiceDiffRequest>,
    ) -> Result<Response<FileServiceDiffResponse>, Status> {
        let who = caller(&request)?.principal;
        let (order, token) = validate::diff(request.into_inner()).map_err(refused)?;
        let session = self.sessions.in_use(&who, order.session_id).await.map_err(refused)?;
        let listed = files::diff(&self.exchanges, &who, &session.record.runner_id, order, token).await;
        let answer = fitting(listed.map_err(refused)?, |listed| FileServiceDiffResponse {
            changes: listed.items.iter().cloned().map(Into::into).collect(),
            next_page_token: listed.next_page_token(),
        });
        Ok(Response::new(answer))
    }

    async fn list_quarantine(
        &self,
        request: Request<FileServiceListQuarantineRequest>,
    ) -> Result<Response<FileServiceListQuarantineResponse>, Status> {
        let who = caller(&request)?.principal;
        let (order, token) = validate::list_quarantine(request.into_inner()).map_err(refused)?;
        let session = self.sessions.in_use(&who, order.session_id).await.map_err(refused)?;
        let listed =
            files::list_quarantine(&self.exchanges, &who, &session.record.runner_id, order, token).await;
        let answer = fitting(listed.map_err(refused)?, |listed| FileServiceListQuarantineResponse {
            files: listed.items.iter().cloned().map(Into::into).collect(),
            next_page_token: listed.next_page_token(),
        });
        Ok(Response::new(answer))
    }

    async fn restore_quarantine(
        &self,
        request: Request<FileServiceRestoreQuarantineRequest>,
    ) -> Result<Response<FileServiceRestoreQuarantineResponse>, Status> {
        let who = caller(&request)?.principal;
        let (session_id, id) = validate::restore_quarantine(request.into_inner()).map_err(refused)?;
        let session = self.sessions.in_use(&who, session_id).await.map_err(refused)?;
        let (exchanges, runner) = (&self.exchanges, &session.record.runner_id);
        let item = files::quarantined(exchanges, &who, runner, session_id, &id).await.map_err(refused)?;
        let begun = self.sessions.begin_restore(&who, &session.record, &item).await.map_err(refused)?;
        let restored = files::restore_quarantine(exchanges, &who, runner, session_id, id).await;
        let path = restored.as_ref().ok().map(|(path, _)| path.as_slice());
        if let Err(error) = self.sessions.end_restore(begun, path).await {
            // The audit has an entry for the start of the restore, and the client needs the outcome.
            tracing::error!(%error, session = %session_id, "cannot close an audit entry");
        }
        let (path, replaced_id) = restored.map_err(refused)?;
        let answer = FileServiceRestoreQuarantineResponse { replaced_id, ..Default::default() };
        Ok(Response::new(answer.with_path(path)))
    }
}

/// Returns the responses of a download, the header first. The session counts as used until the stream ends.
fn responses(
    session: SessionInUse,
    transfer_id: String,
    download: Download,
) -> Responses<FileServiceDownloadResponse> {
    let Download { started, parts } = download;
    let header = v1::DownloadHeader {
        transfer_id,
        format: v1::FileFormat::from(started.format).into(),
        info: Some(started.info.into()),
    };
    let parts = parts.map(move |part| {
        let _in_use = &session;
        match part {
            Ok(DownloadPart::Chunk { offset, data }) => Ok(Part::Chunk(v1::FileChunk { offset, data })),
            Ok(DownloadPart::Done(done)) => Ok(Part::Done(done.into())),
            Err(error) => Err(refused(error)),
        }
    });
    let header = stream::once(std::future::ready(Ok(Part::Header(header))));
    Box::pin(
        header.chain(parts).map(|part| part.map(|part| FileServiceDownloadResponse { part: Some(part) })),
    )
}

/// Removes entries from a page until it fits into a message; they move to the next page. A single entry
/// always fits.
fn fitting<T: Entry, M: Message>(mut listed: Listed<T>, answer: fn(&Listed<T>) -> M) -> M {
    loop {
        let page = answer(&listed);
        if listed.items.len() <= 1 || page.encoded_len() <= MESSAGE_BYTES {
            return page;
        }
        listed.shorten();
    }
}
