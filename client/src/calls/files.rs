//! The calls that list a session's files and its quarantine. They transfer no content.

use super::super::{
    Client, ClientError,
    connection::ANSWER_BYTES,
    v1::{self, file_service_client::FileServiceClient},
};
use super::{CALL_TIMEOUT, SLOW_CALL_TIMEOUT, with_timeout};

impl Client {
    /// Returns information about one file of a session. Links are not followed. An empty path is the
    /// workspace itself.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a path that does not exist.
    pub async fn stat(&self, session_id: &str, path: &[u8]) -> Result<v1::FileInfo, ClientError> {
        let request = v1::FileServiceStatRequest { session_id: session_id.to_owned(), ..Default::default() }
            .with_path(path.to_vec());
        let answer = call!(self.connection, FileServiceClient::stat, request, CALL_TIMEOUT)?;
        self.connection.present(answer.file, "file")
    }

    /// Returns one page of the files in a directory, or of all files below it, ordered by path.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a path that does not exist.
    pub async fn files(
        &self,
        request: v1::FileServiceListRequest,
    ) -> Result<v1::FileServiceListResponse, ClientError> {
        call!(self.connection, FileServiceClient::list, request, SLOW_CALL_TIMEOUT)
    }

    /// Returns one page of the quarantine, oldest entry first.
    ///
    /// # Errors
    /// As for any call.
    pub async fn quarantine(
        &self,
        request: v1::FileServiceListQuarantineRequest,
    ) -> Result<v1::FileServiceListQuarantineResponse, ClientError> {
        call!(self.connection, FileServiceClient::list_quarantine, request, SLOW_CALL_TIMEOUT)
    }

    /// Restores an entry of the quarantine to its previous path.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` if the entry is not in the quarantine.
    pub async fn restore(
        &self,
        session_id: &str,
        quarantine_id: &str,
    ) -> Result<v1::FileServiceRestoreQuarantineResponse, ClientError> {
        let (session_id, quarantine_id) = (session_id.to_owned(), quarantine_id.to_owned());
        let request = v1::FileServiceRestoreQuarantineRequest { session_id, quarantine_id };
        call!(self.connection, FileServiceClient::restore_quarantine, request, SLOW_CALL_TIMEOUT)
    }

    /// Returns one page of the changes in a workspace since it was created, ordered by path.
    ///
    /// # Errors
    /// As for any call; `NOT_FOUND` for a path that does not exist and did not exist.
    pub async fn changes(
        &self,
        request: v1::FileServiceDiffRequest,
    ) -> Result<v1::FileServiceDiffResponse, ClientError> {
        call!(self.connection, FileServiceClient::diff, request, SLOW_CALL_TIMEOUT)
    }
}
