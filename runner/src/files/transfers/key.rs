//! The parts of an order that identify a transfer.

use airlock_domain::{DownloadOrder, FileFormat, UploadOrder};
use airlock_sandbox::SessionDirectory;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::paths::Inside;

/// The parts of an order that must be equal to resume it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::files) enum TransferKey {
    Upload(UploadKey),
    Download(DownloadKey),
}

/// The key of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::files) struct UploadKey {
    path: Vec<u8>,
    format: String,
    mode: u32,
    size: Option<u64>,
    sha256: Option<[u8; 32]>,
}

/// The key of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::files) struct DownloadKey {
    path: Vec<u8>,
    format: Option<FileFormat>,
    exclude: Vec<String>,
}

impl UploadKey {
    pub(in crate::files) fn of(order: &UploadOrder) -> Self {
        Self {
            path: order.path.clone(),
            format: format!("{:?}", order.format),
            mode: order.mode,
            size: order.size,
            sha256: order.sha256,
        }
    }
}

impl DownloadKey {
    pub(in crate::files) fn of(order: &DownloadOrder) -> Self {
        Self { path: order.path.clone(), format: order.format, exclude: order.exclude.clone() }
    }
}

impl TransferKey {
    /// Returns the session's directory that an upload writes to.
    pub(super) fn target(&self) -> Option<SessionDirectory> {
        match self {
            Self::Upload(order) => Inside::parse(&order.path).ok().map(|path| path.root()),
            Self::Download(_) => None,
        }
    }

    /// Returns the name of a transfer within its session. An upload and a download with the same ID are different.
    pub(super) fn key(&self, id: &str) -> [u8; 32] {
        let kind: &[u8] = match self {
            Self::Upload(_) => b"upload ",
            Self::Download(_) => b"download ",
        };
        Sha256::new().chain_update(kind).chain_update(id).finalize().into()
    }
}
