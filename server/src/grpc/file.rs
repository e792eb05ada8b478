//! FileService.

use std::sync::Arc;

use airlock_proto::v1::{
    FileServiceDiffRequest, FileServiceDiffResponse, FileServiceDownloadRequest, FileServiceDownloadResponse,
    FileServiceListRequest, FileServiceListResponse, FileServiceStatRequest, FileServiceStatResponse,
    FileServiceUploadRequest, FileServiceUploadResponse, file_service_server::FileService,
};
use tonic::{Code, Request, Response, Status, Streaming};

use super::{Edge, view::Responses};
use crate::status;

#[expect(dead_code, reason = "its handlers come next")]
pub(super) struct Files(pub(super) Arc<Edge>);

fn not_yet<T>() -> Result<T, Status> {
    Err(status::adopt(Code::Unimplemented, ""))
}

#[tonic::async_trait]
impl FileService for Files {
    type DownloadStream = Responses<FileServiceDownloadResponse>;

    async fn upload(
        &self,
        _request: Request<Streaming<FileServiceUploadRequest>>,
    ) -> Result<Response<FileServiceUploadResponse>, Status> {
        not_yet()
    }

    async fn download(
        &self,
        _request: Request<FileServiceDownloadRequest>,
    ) -> Result<Response<Self::DownloadStream>, Status> {
        not_yet()
    }

    async fn stat(
        &self,
        _request: Request<FileServiceStatRequest>,
    ) -> Result<Response<FileServiceStatResponse>, Status> {
        not_yet()
    }

    async fn list(
        &self,
        _request: Request<FileServiceListRequest>,
    ) -> Result<Response<FileServiceListResponse>, Status> {
        not_yet()
    }

    async fn diff(
        &self,
        _request: Request<FileServiceDiffRequest>,
    ) -> Result<Response<FileServiceDiffResponse>, Status> {
        not_yet()
    }
}
