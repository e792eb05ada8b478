//! What is asked of a workspace without moving files.

use super::super::{
    ANSWER_BYTES, CALL_TIMEOUT, Client, ClientError, SLOW_CALL_TIMEOUT,
    v1::{self, file_service_client::FileServiceClient},
};
use super::with_timeout;

impl Client {
    /// One file of a session's workspace; a link is described, not followed. An empty path is the
    /// workspace itself.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a path that is not there.
    pub async fn stat(&self, session_id: &str, path: &[u8]) -> Result<v1::FileInfo, ClientError> {
        let request =
            v1::FileServiceStatRequest { session_id: session_id.to_owned(), path: path.to_vec().into() };
        let answer = call!(self, FileServiceClient::stat, request, CALL_TIMEOUT)?;
        self.present(answer.file, "file")
    }

    /// One page of the files in a folder, or of everything below it, ordered by path.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a path that is not there.
    pub async fn files(
        &self,
        request: v1::FileServiceListRequest,
    ) -> Result<v1::FileServiceListResponse, ClientError> {
        call!(self, FileServiceClient::list, request, SLOW_CALL_TIMEOUT)
    }

    /// One page of what has changed in a workspace since it was made, ordered by path.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a path that is not there and was not.
    pub async fn changes(
        &self,
        request: v1::FileServiceDiffRequest,
    ) -> Result<v1::FileServiceDiffResponse, ClientError> {
        call!(self, FileServiceClient::diff, request, SLOW_CALL_TIMEOUT)
    }
}
