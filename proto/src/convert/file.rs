//! Conversion of files, filters and changes, and of the orders that concern them.

use std::time::{Duration, UNIX_EPOCH};

use super::error::{ConvertError, digest, joined, parsed, required};
use crate::{runner_v1 as wire, v1};
use airlock_domain::{
    ChangeKind, DiffOrder, DownloadOrder, DownloadStarted, Downloaded, FileChange, FileFilter, FileFormat,
    FileInfo, FileType, ListOrder, QuarantineOrder, QuarantinedFile, SkippedFile, UploadOrder, Uploaded,
};

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Converts microseconds since 1970 to a timestamp.
pub(super) fn timestamp(micros: i64) -> prost_types::Timestamp {
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { (UNIX_EPOCH - distance).into() } else { (UNIX_EPOCH + distance).into() }
}

/// Converts a timestamp to microseconds since 1970. A value out of range is saturated.
pub(super) fn micros(time: &prost_types::Timestamp) -> i64 {
    time.seconds.saturating_mul(MICROS_PER_SECOND).saturating_add(i64::from(time.nanos) / 1000)
}

impl From<FileInfo> for v1::FileInfo {
    fn from(info: FileInfo) -> Self {
        Self {
            r#type: v1::FileType::from(info.file_type).into(),
            size: info.size,
            mode: info.mode,
            modified: Some(timestamp(info.modified_micros)),
            ..Self::default()
        }
        .with_path(info.path)
        .with_link_target(info.link_target)
    }
}

impl TryFrom<v1::FileInfo> for FileInfo {
    type Error = ConvertError;

    fn try_from(info: v1::FileInfo) -> Result<Self, ConvertError> {
        Ok(Self {
            file_type: info.r#type().try_into()?,
            path: joined("file.path", info.path, info.path_bytes)?,
            size: info.size,
            mode: info.mode,
            modified_micros: info.modified.as_ref().map_or(0, micros),
            link_target: joined("file.link_target", info.link_target, info.link_target_bytes)?,
        })
    }
}

impl From<FileFilter> for v1::FileFilter {
    fn from(filter: FileFilter) -> Self {
        Self {
            types: filter.types.into_iter().map(|file_type| v1::FileType::from(file_type).into()).collect(),
            include: filter.include,
            exclude: filter.exclude,
        }
    }
}

impl TryFrom<v1::FileFilter> for FileFilter {
    type Error = ConvertError;

    fn try_from(filter: v1::FileFilter) -> Result<Self, ConvertError> {
        Ok(Self {
            types: filter.types().map(FileType::try_from).collect::<Result<_, _>>()?,
            include: filter.include,
            exclude: filter.exclude,
        })
    }
}

impl From<FileChange> for v1::FileChange {
    fn from(change: FileChange) -> Self {
        let (kind, before, after) = match change.kind {
            ChangeKind::Added { after } => (v1::ChangeKind::Added, None, Some(after)),
            ChangeKind::Modified { before, after } => (v1::ChangeKind::Modified, Some(before), Some(after)),
            ChangeKind::Deleted { before } => (v1::ChangeKind::Deleted, Some(before), None),
        };
        Self {
            kind: kind.into(),
            before: before.map(Into::into),
            after: after.map(Into::into),
            patch_omitted: change.patch_omitted,
            ..Self::default()
        }
        .with_patch(change.patch)
    }
}

impl TryFrom<v1::FileChange> for FileChange {
    type Error = ConvertError;

    fn try_from(change: v1::FileChange) -> Result<Self, ConvertError> {
        let (wire_kind, before, after) = (change.kind(), change.before, change.after);
        let before = || required("change.before", before)?.try_into();
        let after = || required("change.after", after)?.try_into();
        let kind = match wire_kind {
            v1::ChangeKind::Added => ChangeKind::Added { after: after()? },
            v1::ChangeKind::Modified => ChangeKind::Modified { before: before()?, after: after()? },
            v1::ChangeKind::Deleted => ChangeKind::Deleted { before: before()? },
            v1::ChangeKind::Unspecified => {
                return Err(ConvertError::new("change.kind", "is missing or unknown"));
            }
        };
        let patch = joined("change.patch", change.patch, change.patch_bytes)?;
        Ok(Self { kind, patch, patch_omitted: change.patch_omitted })
    }
}

impl From<UploadOrder> for wire::UploadOrder {
    fn from(order: UploadOrder) -> Self {
        Self {
            session_id: order.session_id.to_string(),
            transfer_id: order.transfer_id,
            path: order.path.into(),
            format: v1::FileFormat::from(order.format).into(),
            size: order.size,
            sha256: order.sha256.map(|hash| hash.to_vec()).unwrap_or_default().into(),
            mode: order.mode,
        }
    }
}

impl TryFrom<wire::UploadOrder> for UploadOrder {
    type Error = ConvertError;

    fn try_from(order: wire::UploadOrder) -> Result<Self, ConvertError> {
        let sha256 = match order.sha256.as_ref() {
            [] => None,
            bytes => Some(digest("upload.sha256", bytes)?),
        };
        Ok(Self {
            session_id: parsed("upload.session_id", &order.session_id)?,
            format: order.format().try_into()?,
            transfer_id: order.transfer_id,
            path: order.path.into(),
            size: order.size,
            sha256,
            mode: order.mode,
        })
    }
}

impl From<Uploaded> for wire::Uploaded {
    fn from(uploaded: Uploaded) -> Self {
        let Uploaded { received, files, directories, links, bytes } = uploaded;
        Self { received, files, directories, links, bytes }
    }
}

impl From<wire::Uploaded> for Uploaded {
    fn from(uploaded: wire::Uploaded) -> Self {
        let wire::Uploaded { received, files, directories, links, bytes } = uploaded;
        Self { received, files, directories, links, bytes }
    }
}

impl From<DownloadOrder> for wire::DownloadOrder {
    fn from(order: DownloadOrder) -> Self {
        Self {
            session_id: order.session_id.to_string(),
            transfer_id: order.transfer_id,
            resume: order.resume,
            path: order.path.into(),
            format: order.format.map_or(v1::FileFormat::Unspecified, Into::into).into(),
            offset: order.offset,
            exclude: order.exclude,
        }
    }
}

impl TryFrom<wire::DownloadOrder> for DownloadOrder {
    type Error = ConvertError;

    fn try_from(order: wire::DownloadOrder) -> Result<Self, ConvertError> {
        let format = match order.format() {
            v1::FileFormat::Unspecified => None,
            format => Some(FileFormat::try_from(format)?),
        };
        Ok(Self {
            session_id: parsed("download.session_id", &order.session_id)?,
            transfer_id: order.transfer_id,
            resume: order.resume,
            path: order.path.into(),
            format,
            offset: order.offset,
            exclude: order.exclude,
        })
    }
}

impl From<DownloadStarted> for wire::DownloadStarted {
    fn from(started: DownloadStarted) -> Self {
        Self { format: v1::FileFormat::from(started.format).into(), info: Some(started.info.into()) }
    }
}

impl TryFrom<wire::DownloadStarted> for DownloadStarted {
    type Error = ConvertError;

    fn try_from(started: wire::DownloadStarted) -> Result<Self, ConvertError> {
        Ok(Self {
            format: started.format().try_into()?,
            info: required("download_started.info", started.info)?.try_into()?,
        })
    }
}

impl From<Downloaded> for v1::DownloadDone {
    fn from(done: Downloaded) -> Self {
        let skipped = done.skipped.into_iter().map(|file| {
            v1::SkippedFile { reason: file.reason, ..v1::SkippedFile::default() }.with_path(file.path)
        });
        Self {
            size: done.size,
            sha256: done.sha256.to_vec().into(),
            files: done.files,
            directories: done.directories,
            links: done.links,
            skipped: skipped.collect(),
            skipped_total: done.skipped_total,
        }
    }
}

impl TryFrom<v1::DownloadDone> for Downloaded {
    type Error = ConvertError;

    fn try_from(done: v1::DownloadDone) -> Result<Self, ConvertError> {
        let skipped = done.skipped.into_iter().map(|file| {
            let path = joined("downloaded.skipped.path", file.path, file.path_bytes)?;
            Ok(SkippedFile { path, reason: file.reason })
        });
        Ok(Self {
            size: done.size,
            sha256: digest("downloaded.sha256", &done.sha256)?,
            files: done.files,
            directories: done.directories,
            links: done.links,
            skipped: skipped.collect::<Result<_, _>>()?,
            skipped_total: done.skipped_total,
        })
    }
}

impl From<ListOrder> for wire::ListOrder {
    fn from(order: ListOrder) -> Self {
        Self {
            session_id: order.session_id.to_string(),
            path: order.path.into(),
            recursive: order.recursive,
            after: order.after.into(),
            page_size: order.page_size,
            filter: Some(order.filter.into()),
        }
    }
}

impl TryFrom<wire::ListOrder> for ListOrder {
    type Error = ConvertError;

    fn try_from(order: wire::ListOrder) -> Result<Self, ConvertError> {
        Ok(Self {
            session_id: parsed("list.session_id", &order.session_id)?,
            path: order.path.into(),
            recursive: order.recursive,
            after: order.after.into(),
            page_size: order.page_size,
            filter: order.filter.unwrap_or_default().try_into()?,
        })
    }
}

impl From<QuarantineOrder> for wire::QuarantineOrder {
    fn from(order: QuarantineOrder) -> Self {
        let QuarantineOrder { session_id, after, page_size } = order;
        Self { session_id: session_id.to_string(), after, page_size }
    }
}

impl TryFrom<wire::QuarantineOrder> for QuarantineOrder {
    type Error = ConvertError;

    fn try_from(order: wire::QuarantineOrder) -> Result<Self, ConvertError> {
        let session_id = parsed("quarantine.session_id", &order.session_id)?;
        Ok(Self { session_id, after: order.after, page_size: order.page_size })
    }
}

impl From<QuarantinedFile> for v1::QuarantinedFile {
    fn from(file: QuarantinedFile) -> Self {
        Self {
            id: file.id,
            info: Some(file.info.into()),
            reason: file.reason,
            moved: Some(timestamp(file.moved_micros)),
            execution_id: file.execution_id,
        }
    }
}

impl TryFrom<v1::QuarantinedFile> for QuarantinedFile {
    type Error = ConvertError;

    fn try_from(file: v1::QuarantinedFile) -> Result<Self, ConvertError> {
        Ok(Self {
            id: file.id,
            info: required("info", file.info)?.try_into()?,
            reason: file.reason,
            moved_micros: file.moved.as_ref().map_or(0, micros),
            execution_id: file.execution_id,
        })
    }
}

impl From<DiffOrder> for wire::DiffOrder {
    fn from(order: DiffOrder) -> Self {
        Self {
            session_id: order.session_id.to_string(),
            path: order.path.into(),
            after: order.after.into(),
            page_size: order.page_size,
            filter: Some(order.filter.into()),
            patch: order.patch,
        }
    }
}

impl TryFrom<wire::DiffOrder> for DiffOrder {
    type Error = ConvertError;

    fn try_from(order: wire::DiffOrder) -> Result<Self, ConvertError> {
        Ok(Self {
            session_id: parsed("diff.session_id", &order.session_id)?,
            path: order.path.into(),
            after: order.after.into(),
            page_size: order.page_size,
            filter: order.filter.unwrap_or_default().try_into()?,
            patch: order.patch,
        })
    }
}
