//! Files of a session's workspace, HOME and /tmp, and what can be asked of them.

use super::SessionId;

/// What the bytes of a transfer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// One file's content.
    File,
    /// A tar archive.
    Tar,
    /// A tar archive, compressed with gzip.
    TarGzip,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A folder.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A socket, a named pipe.
    Other,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Absolute, inside the sandbox.
    pub path: Vec<u8>,
    /// What it is.
    pub file_type: FileType,
    /// Bytes; of a regular file.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Microseconds since 1970, by the runner's clock.
    pub modified_micros: i64,
    /// Of a link, as it was written.
    pub link_target: Vec<u8>,
}

/// Which files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// Empty: all.
    pub types: Vec<FileType>,
    /// Globs over the path below the one asked for; empty: all.
    pub include: Vec<String>,
    /// Neither these nor what is below them.
    pub exclude: Vec<String>,
}

/// An upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadOrder {
    /// Whose files.
    pub session_id: SessionId,
    /// The client's key, or one made by the server.
    pub transfer_id: String,
    /// The file, or the folder to unpack into; empty: the workspace's root.
    pub path: Vec<u8>,
    /// What comes.
    pub format: FileFormat,
    /// How many bytes will come, if that is known.
    pub size: Option<u64>,
    /// SHA-256 of all of them, if that is known.
    pub sha256: Option<[u8; 32]>,
    /// Permission bits of a single file.
    pub mode: u32,
}

/// What an upload put into the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Bytes that came.
    pub received: u64,
    /// Regular files.
    pub files: u64,
    /// Folders.
    pub directories: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Of the files' contents.
    pub bytes: u64,
}

/// A download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadOrder {
    /// Whose files.
    pub session_id: SessionId,
    /// From an earlier download, or made by the server.
    pub transfer_id: String,
    /// It must be there already.
    pub resume: bool,
    /// What; empty: the workspace's root.
    pub path: Vec<u8>,
    /// None: by what it is.
    pub format: Option<FileFormat>,
    /// From where on.
    pub offset: u64,
    /// Globs of what to leave out.
    pub exclude: Vec<String>,
}

/// How a download begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadStarted {
    /// What will come.
    pub format: FileFormat,
    /// Of the path that was asked for.
    pub info: FileInfo,
}

/// How a download ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Bytes of the file or archive.
    pub size: u64,
    /// SHA-256 of all of them.
    pub sha256: [u8; 32],
    /// Regular files.
    pub files: u64,
    /// Folders.
    pub directories: u64,
    /// Symbolic links.
    pub links: u64,
    /// The first of those that are not in it.
    pub skipped: Vec<SkippedFile>,
    /// How many these are.
    pub skipped_total: u64,
}

/// A file that is not in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// Absolute, inside the sandbox.
    pub path: Vec<u8>,
    /// Why.
    pub reason: String,
}

/// A listing of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOrder {
    /// Whose files.
    pub session_id: SessionId,
    /// Which folder; empty: the workspace's root.
    pub path: Vec<u8>,
    /// Everything below it.
    pub recursive: bool,
    /// Only what comes after this path; empty: from the first.
    pub after: Vec<u8>,
    /// Files at most.
    pub page_size: u32,
    /// Which files.
    pub filter: FileFilter,
}

/// What was moved out of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineOrder {
    /// Whose files.
    pub session_id: SessionId,
    /// Only what comes after this id; empty: from the first.
    pub after: String,
    /// Items at most.
    pub page_size: u32,
}

/// Something that was moved out of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedFile {
    /// By which it is given back.
    pub id: String,
    /// What it is, and where it was.
    pub info: FileInfo,
    /// A stable name: `created`, `changed`, ...
    pub reason: String,
    /// When, in microseconds since 1970.
    pub moved_micros: i64,
    /// At the end of which command it was found; empty if of none.
    pub execution_id: String,
}

/// A comparison with how the workspace was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffOrder {
    /// Whose files.
    pub session_id: SessionId,
    /// Only this, or what is below it; empty: all.
    pub path: Vec<u8>,
    /// Only what comes after this path; empty: from the first.
    pub after: Vec<u8>,
    /// Changes at most.
    pub page_size: u32,
    /// Which files.
    pub filter: FileFilter,
    /// With unified diffs.
    pub patch: bool,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// What it was and what it is; at least one of them is there.
    pub kind: ChangeKind,
    /// A unified diff; empty where there is none.
    pub patch: Vec<u8>,
    /// Why there is none: `binary`, `too_large`, `not_kept`, `not_a_file`; empty if none was wanted.
    pub patch_omitted: String,
}

/// How a file differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there.
    Added {
        /// As it is.
        after: FileInfo,
    },
    /// It was otherwise.
    Modified {
        /// As it was.
        before: FileInfo,
        /// As it is.
        after: FileInfo,
    },
    /// It is gone.
    Deleted {
        /// As it was.
        before: FileInfo,
    },
}

impl ChangeKind {
    /// The file's path, which does not change.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Added { after: info } | Self::Modified { after: info, .. } => &info.path,
            Self::Deleted { before } => &before.path,
        }
    }
}
