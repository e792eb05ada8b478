//! Requests about files and input. Paths are checked only lexically; the runner resolves them.

use airlock_control::{
    api::ApiError,
    decision::{HOME, TMP, WORKSPACE},
    exchange::Piece,
    files::{QUARANTINE_ID_BYTES, TOKEN_BYTES},
};
use airlock_domain::{
    DiffOrder, DownloadOrder, ExecutionId, FileFilter, FileFormat, FileType, ListOrder, QuarantineOrder,
    SessionId, UploadOrder, limits,
};
use airlock_proto::v1;
use bytes::Bytes;
use uuid::Uuid;

use super::checker::Checker;

/// The maximum number of types in a filter.
const TYPES: usize = 16;
/// The maximum length of a name in a path, in bytes, as in the file systems of Linux.
const NAME_BYTES: usize = 255;
/// The default permission bits of a file.
const MODE_DEFAULT: u32 = 0o644;
const MODE_MOST: u32 = 0o7777;
const SET_ID: u32 = 0o6000;
/// The directories of a session that contain files.
const ROOTS: [&str; 3] = [WORKSPACE, HOME, TMP];

/// Validates the first message of an upload.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn upload(first: v1::FileServiceUploadRequest) -> Result<UploadOrder, ApiError> {
    let mut checker = Checker::default();
    let Some(v1::file_service_upload_request::Part::Header(header)) = first.part else {
        checker.bad("header", "must be in the first message");
        return checker.finish(None);
    };
    let session_id = checker.id("header.session_id", &header.session_id);
    let transfer_id = checker.text("header.transfer_id", header.transfer_id, limits::TRANSFER_ID_BYTES);
    let path = checker.path("header.path", header.path, header.path_bytes);
    let format = checker.choice::<v1::FileFormat, FileFormat>("header.format", header.format);
    if header.format == v1::FileFormat::Unspecified as i32 {
        checker.bad("header.format", "is missing; use FILE, TAR or TAR_GZIP");
    }
    if format == Some(FileFormat::File) && (path.is_empty() || path.ends_with(b"/")) {
        checker.bad("header.path", "names a directory; name a file, or use TAR");
    }
    let sha256 = checker.sha256("header.sha256", &header.sha256);
    let mode = checker.mode_bits("header.mode", header.mode, format);
    let order = session_id.zip(format).map(|(session_id, format)| UploadOrder {
        session_id,
        transfer_id: transfer_id.unwrap_or_else(new_transfer),
        path,
        format,
        size: header.size,
        sha256,
        mode,
    });
    checker.finish(order)
}

/// Validates a further message of an upload.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn upload_chunk(message: v1::FileServiceUploadRequest) -> Result<Piece, ApiError> {
    use v1::file_service_upload_request::Part;
    let mut checker = Checker::default();
    match message.part {
        Some(Part::Chunk(v1::FileChunk { offset, data })) => Ok(Piece { offset, data, closes: false }),
        Some(Part::Header(_)) => {
            checker.bad("header", "was sent twice");
            checker.finish(None)
        }
        None => {
            checker.bad("chunk", "is missing");
            checker.finish(None)
        }
    }
}

/// Validates Download.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn download(request: v1::FileServiceDownloadRequest) -> Result<DownloadOrder, ApiError> {
    let mut checker = Checker::default();
    let session_id = checker.id("session_id", &request.session_id);
    let transfer_id = checker.text("transfer_id", request.transfer_id, limits::TRANSFER_ID_BYTES);
    let path = checker.path("path", request.path, request.path_bytes);
    let format = checker.choice::<v1::FileFormat, FileFormat>("format", request.format);
    checker.globs("exclude", &request.exclude);
    if request.offset > 0 && transfer_id.is_none() {
        checker.bad("offset", "requires the transfer_id of the download to continue");
    }
    let order = session_id.map(|session_id| DownloadOrder {
        session_id,
        resume: transfer_id.is_some(),
        transfer_id: transfer_id.unwrap_or_else(new_transfer),
        path,
        format,
        offset: request.offset,
        exclude: request.exclude,
    });
    checker.finish(order)
}

/// Validates Stat.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn stat(request: v1::FileServiceStatRequest) -> Result<(SessionId, Vec<u8>), ApiError> {
    let mut checker = Checker::default();
    let session_id = checker.id("session_id", &request.session_id);
    let path = checker.path("path", request.path, request.path_bytes);
    checker.finish(session_id.map(|session_id| (session_id, path)))
}

/// Validates ListQuarantine. Returns the order and the page token.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_quarantine(
    request: v1::FileServiceListQuarantineRequest,
) -> Result<(QuarantineOrder, Option<String>), ApiError> {
    let mut checker = Checker::default();
    let session_id = checker.id("session_id", &request.session_id);
    let page = checker.page_with(request.page, TOKEN_BYTES);
    let order = session_id.map(|session_id| QuarantineOrder {
        session_id,
        after: String::new(),
        page_size: page.size,
    });
    checker.finish(order.map(|order| (order, page.token)))
}

/// Validates RestoreQuarantine. Returns the session and the ID.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn restore_quarantine(
    request: v1::FileServiceRestoreQuarantineRequest,
) -> Result<(SessionId, String), ApiError> {
    let mut checker = Checker::default();
    let session_id = checker.id("session_id", &request.session_id);
    let id = request.quarantine_id;
    if id.is_empty() || id.len() > QUARANTINE_ID_BYTES || !id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        checker.bad("quarantine_id", "is not an ID from ListQuarantine or a violation");
    }
    checker.finish(session_id.map(|session_id| (session_id, id)))
}

/// Validates List. Returns the order and the page token.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn list_files(request: v1::FileServiceListRequest) -> Result<(ListOrder, Option<String>), ApiError> {
    let mut checker = Checker::default();
    let session_id = checker.id("session_id", &request.session_id);
    let path = checker.path("path", request.path, request.path_bytes);
    let page = checker.page_with(request.page, TOKEN_BYTES);
    let filter = checker.file_filter(request.filter);
    let order = session_id.map(|session_id| ListOrder {
        session_id,
        path,
        recursive: request.recursive,
        after: Vec::new(),
        page_size: page.size,
        filter,
    });
    checker.finish(order.map(|order| (order, page.token)))
}

/// Validates Diff, which applies only to the workspace. Returns the order and the page token.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn diff(request: v1::FileServiceDiffRequest) -> Result<(DiffOrder, Option<String>), ApiError> {
    let mut checker = Checker::default();
    let session_id = checker.id("session_id", &request.session_id);
    let path = checker.path("path", request.path, request.path_bytes);
    if let Some((root, _)) = in_root(&path).filter(|(root, _)| *root != WORKSPACE) {
        checker.bad("path", format!("is in {root}; only {WORKSPACE} is compared with its initial state"));
    }
    let page = checker.page_with(request.page, TOKEN_BYTES);
    let filter = checker.file_filter(request.filter);
    let order = session_id.map(|session_id| DiffOrder {
        session_id,
        path,
        after: Vec::new(),
        page_size: page.size,
        filter,
        patch: request.patch,
    });
    checker.finish(order.map(|order| (order, page.token)))
}

/// Validates the first message of an input. Returns the execution, whether to end another writer, and the
/// first piece.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn write_stdin(
    first: v1::ExecutionServiceWriteStdinRequest,
) -> Result<(ExecutionId, bool, Piece), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", &first.execution_id);
    checker.finish(id.map(|id| (id, first.take_over, piece(first.offset, first.data, first.end))))
}

/// Validates a further message of an input.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn more_stdin(message: v1::ExecutionServiceWriteStdinRequest) -> Result<Piece, ApiError> {
    let mut checker = Checker::default();
    if !message.execution_id.is_empty() {
        checker.bad("execution_id", "is allowed only in the first message");
    }
    if message.take_over {
        checker.bad("take_over", "is allowed only in the first message");
    }
    checker.finish(Some(piece(message.offset, message.data, message.end)))
}

fn piece(offset: u64, data: Bytes, closes: bool) -> Piece {
    Piece { offset, data, closes }
}

fn new_transfer() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns the session directory that contains an absolute path, and the rest of the path.
fn in_root(path: &[u8]) -> Option<(&'static str, &[u8])> {
    ROOTS.into_iter().find_map(|root| {
        let rest = path.strip_prefix(root.as_bytes())?;
        matches!(rest, [] | [b'/', ..]).then_some((root, rest))
    })
}

impl Checker {
    /// Checks a path in one of the session's directories.
    fn path(&mut self, field: &str, text: String, bytes: Bytes) -> Vec<u8> {
        let path = self.joined(field, text, bytes);
        self.at_most(field, path.len(), limits::PATH_BYTES);
        self.no_nul(field, &path);
        let below = match in_root(&path) {
            Some((_, rest)) => rest,
            None if path.starts_with(b"/") => {
                self.bad(
                    field,
                    format!("is not in {WORKSPACE}, {HOME} or {TMP}, which contain a session's files"),
                );
                &path
            }
            None => &path,
        };
        for name in below.split(|byte| *byte == b'/') {
            if name == b".." {
                self.bad(field, "contains `..`; write the path without it");
                break;
            }
            if name.len() > NAME_BYTES {
                self.bad(field, format!("has a name of {} bytes, at most {NAME_BYTES}", name.len()));
                break;
            }
        }
        path
    }

    fn sha256(&mut self, field: &str, bytes: &[u8]) -> Option<[u8; 32]> {
        if bytes.is_empty() {
            return None;
        }
        let hash = bytes.try_into().ok();
        if hash.is_none() {
            self.bad(field, format!("has {} bytes, not 32 or none", bytes.len()));
        }
        hash
    }

    /// Checks the permission bits of a single file.
    fn mode_bits(&mut self, field: &str, mode: u32, format: Option<FileFormat>) -> u32 {
        if mode > MODE_MOST {
            self.bad(field, format!("is {mode:#o}, at most {MODE_MOST:#o}"));
        } else if mode & SET_ID != 0 {
            self.bad(field, "sets set-user-id or set-group-id, which is not permitted");
        }
        if mode != 0 && matches!(format, Some(FileFormat::Tar | FileFormat::TarGzip)) {
            self.bad(field, "is only valid with FILE; an archive contains the mode of each file");
        }
        if mode == 0 { MODE_DEFAULT } else { mode }
    }

    fn globs(&mut self, field: &str, globs: &[String]) {
        self.count(field, globs.len(), limits::GLOBS);
        for (index, glob) in globs.iter().enumerate().take(limits::GLOBS) {
            let entry = format!("{field}[{index}]");
            self.at_most(&entry, glob.len(), limits::GLOB_BYTES);
            self.no_nul(&entry, glob.as_bytes());
            if glob.is_empty() {
                self.bad(&entry, "is empty");
            }
        }
    }

    fn file_filter(&mut self, filter: Option<v1::FileFilter>) -> FileFilter {
        let filter = filter.unwrap_or_default();
        self.count("filter.types", filter.types.len(), TYPES);
        let mut types = Vec::new();
        for (index, number) in filter.types.iter().enumerate().take(TYPES) {
            let field = format!("filter.types[{index}]");
            match self.choice::<v1::FileType, FileType>(&field, *number) {
                Some(file_type) => types.push(file_type),
                None if *number == v1::FileType::Unspecified as i32 => self.bad(&field, "is missing"),
                None => {}
            }
        }
        self.globs("filter.include", &filter.include);
        self.globs("filter.exclude", &filter.exclude);
        FileFilter { types, include: filter.include, exclude: filter.exclude }
    }
}

#[cfg(test)]
mod tests;
