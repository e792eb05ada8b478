//! The files of a session (workspace, HOME and `/tmp`) and the orders that concern them.

use super::SessionId;

/// The format of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// The contents of one file.
    File,
    /// A tar archive.
    Tar,
    /// A tar archive compressed with gzip.
    TarGzip,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// For example a socket or a named pipe.
    Other,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// An absolute path inside the sandbox.
    pub path: Vec<u8>,
    /// Its type.
    pub file_type: FileType,
    /// The size in bytes of a regular file.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Microseconds since 1970 by the runner's clock.
    pub modified_micros: i64,
    /// The target of a symbolic link, as it was written.
    pub link_target: Vec<u8>,
}

/// A selection of files. All conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// Empty: all types.
    pub types: Vec<FileType>,
    /// Globs over paths relative to the requested path. Empty: all files.
    pub include: Vec<String>,
    /// Globs of files and directories to omit, including everything below these directories.
    pub exclude: Vec<String>,
}

/// An upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadOrder {
    /// The session of the files.
    pub session_id: SessionId,
    /// The client's key, or one from the server.
    pub transfer_id: String,
    /// The path of the file, or the directory to unpack into. Empty: the workspace's root.
    pub path: Vec<u8>,
    /// The format of the data.
    pub format: FileFormat,
    /// The total number of bytes, if it is known.
    pub size: Option<u64>,
    /// SHA-256 of all bytes, if it is known.
    pub sha256: Option<[u8; 32]>,
    /// Permission bits of a single file.
    pub mode: u32,
}

/// The result of an upload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Bytes that were received.
    pub received: u64,
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

/// A download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadOrder {
    /// The session of the files.
    pub session_id: SessionId,
    /// The key of an earlier download, or one from the server.
    pub transfer_id: String,
    /// The transfer must already exist.
    pub resume: bool,
    /// The path. Empty: the workspace's root.
    pub path: Vec<u8>,
    /// The format. `None`: derived from the type of the file.
    pub format: Option<FileFormat>,
    /// The offset to begin at.
    pub offset: u64,
    /// Globs of files and directories to omit.
    pub exclude: Vec<String>,
}

/// The properties of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadStarted {
    /// The format of the data.
    pub format: FileFormat,
    /// The requested file or directory.
    pub info: FileInfo,
}

/// The end of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Bytes of the file or archive.
    pub size: u64,
    /// SHA-256 of all bytes.
    pub sha256: [u8; 32],
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links.
    pub links: u64,
    /// The first of the files that are missing from the archive.
    pub skipped: Vec<SkippedFile>,
    /// The total number of these files.
    pub skipped_total: u64,
}

/// A file that is missing from an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// An absolute path inside the sandbox.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: String,
}

/// A listing of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOrder {
    /// The session of the files.
    pub session_id: SessionId,
    /// The directory. Empty: the workspace's root.
    pub path: Vec<u8>,
    /// Lists all files below the directory.
    pub recursive: bool,
    /// Returns only files after this path. Empty: from the first.
    pub after: Vec<u8>,
    /// The maximum number of files.
    pub page_size: u32,
    /// The files to return.
    pub filter: FileFilter,
}

/// A listing of the quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineOrder {
    /// The session of the files.
    pub session_id: SessionId,
    /// Returns only entries after this ID. Empty: from the first.
    pub after: String,
    /// The maximum number of entries.
    pub page_size: u32,
}

/// A file or directory in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedFile {
    /// The ID for a restore.
    pub id: String,
    /// Its type and original path.
    pub info: FileInfo,
    /// A stable name: `created`, `changed`, ...
    pub reason: String,
    /// The time of the move in microseconds since 1970.
    pub moved_micros: i64,
    /// The execution after which the file was found. Empty: none.
    pub execution_id: String,
}

/// A comparison with the initial workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffOrder {
    /// The session of the files.
    pub session_id: SessionId,
    /// A file, or a directory with everything below it. Empty: the whole workspace.
    pub path: Vec<u8>,
    /// Returns only changes after this path. Empty: from the first.
    pub after: Vec<u8>,
    /// The maximum number of changes.
    pub page_size: u32,
    /// The files to compare.
    pub filter: FileFilter,
    /// Adds unified diffs.
    pub patch: bool,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The kind of the change, with the file before and after it.
    pub kind: ChangeKind,
    /// A unified diff. Empty: none.
    pub patch: Vec<u8>,
    /// The reason for a missing diff: `binary`, `too_large`, `not_kept`, `not_a_file`. Empty if no diff was
    /// requested.
    pub patch_omitted: String,
}

/// The kind of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Added {
        /// The file after the change.
        after: FileInfo,
    },
    /// The file differs.
    Modified {
        /// The file before the change.
        before: FileInfo,
        /// The file after the change.
        after: FileInfo,
    },
    /// The file was removed.
    Deleted {
        /// The file before the change.
        before: FileInfo,
    },
}

impl ChangeKind {
    /// Returns the path of the file, which does not change.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Added { after: info } | Self::Modified { after: info, .. } => &info.path,
            Self::Deleted { before } => &before.path,
        }
    }
}
