//! Conversion of the messages of an exchange, and of bound files.

use bytes::Bytes;

use super::{
    error::{ConvertError, joined, parsed, required},
    grant,
};
use crate::{
    runner_v1 as wire,
    runner_v1::{exchange_request::Message as Up, exchange_response::Message as Down},
    v1,
};
use airlock_domain::{
    BoundFile, ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner,
    FileChange, FileInfo, FileState, QuarantinedFile,
    limits::{BOUND_FILES, TRANSFER_CHUNK_BYTES},
};

impl From<ExchangeFromRunner> for wire::ExchangeRequest {
    fn from(message: ExchangeFromRunner) -> Self {
        use ExchangeFromRunner as From;
        let message = match message {
            From::Hello { runner_id, ticket } => {
                Up::Hello(wire::ExchangeHello { runner_id: runner_id.to_string(), ticket })
            }
            From::Ready { offset } => Up::Ready(wire::ExchangeReady { offset }),
            From::Chunk { offset, data } => Up::Chunk(v1::FileChunk { offset, data }),
            From::DownloadStarted(started) => Up::DownloadStarted(started.into()),
            From::Downloaded(done) => Up::Downloaded(done.into()),
            From::Uploaded(uploaded) => Up::Uploaded(uploaded.into()),
            From::File(info) => Up::File(info.into()),
            From::Files { files, more } => {
                Up::Files(wire::FilePage { files: files.into_iter().map(Into::into).collect(), more })
            }
            From::Changes { changes, more } => {
                Up::Changes(wire::ChangePage { changes: changes.into_iter().map(Into::into).collect(), more })
            }
            From::Quarantine { files, more } => Up::Quarantine(wire::QuarantinePage {
                files: files.into_iter().map(Into::into).collect(),
                more,
            }),
            From::Restored { path, replaced_id } => {
                Up::Restored(wire::QuarantineRestored { path: path.into(), replaced_id })
            }
            From::Digests(files) => {
                Up::Digests(wire::DigestsTaken { files: files.into_iter().map(Into::into).collect() })
            }
            From::Previewed(preview) => Up::Previewed(preview.into()),
            From::Written { accepted, ended } => Up::Written(wire::StdinWritten { accepted, ended }),
            From::End => Up::ForwardEnd(wire::ForwardEnd {}),
            From::Failed(failed) => Up::Failed(failed.into()),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<wire::ExchangeRequest> for ExchangeFromRunner {
    type Error = ConvertError;

    fn try_from(request: wire::ExchangeRequest) -> Result<Self, ConvertError> {
        Ok(match required("message", request.message)? {
            Up::Hello(hello) => {
                Self::Hello { runner_id: parsed("hello.runner_id", &hello.runner_id)?, ticket: hello.ticket }
            }
            Up::Ready(wire::ExchangeReady { offset }) => Self::Ready { offset },
            Up::Chunk(chunk) => {
                let (offset, data) = checked(chunk)?;
                Self::Chunk { offset, data }
            }
            Up::DownloadStarted(started) => Self::DownloadStarted(started.try_into()?),
            Up::Downloaded(done) => Self::Downloaded(done.try_into()?),
            Up::Uploaded(uploaded) => Self::Uploaded(uploaded.into()),
            Up::File(info) => Self::File(info.try_into()?),
            Up::Files(page) => {
                let files = page.files.into_iter().map(FileInfo::try_from).collect::<Result<_, _>>()?;
                Self::Files { files, more: page.more }
            }
            Up::Changes(page) => {
                let changes = page.changes.into_iter().map(FileChange::try_from);
                Self::Changes { changes: changes.collect::<Result<_, _>>()?, more: page.more }
            }
            Up::Quarantine(page) => {
                let files = page.files.into_iter().map(QuarantinedFile::try_from);
                Self::Quarantine { files: files.collect::<Result<_, _>>()?, more: page.more }
            }
            Up::Restored(wire::QuarantineRestored { path, replaced_id }) => {
                Self::Restored { path: path.into(), replaced_id }
            }
            Up::Digests(taken) => Self::Digests(files("digests.files", taken.files)?),
            Up::Previewed(preview) => Self::Previewed(preview.try_into()?),
            Up::Written(wire::StdinWritten { accepted, ended }) => Self::Written { accepted, ended },
            Up::ForwardEnd(wire::ForwardEnd {}) => Self::End,
            Up::Failed(failed) => Self::Failed(failed.into()),
        })
    }
}

impl From<ExchangeToRunner> for wire::ExchangeResponse {
    fn from(message: ExchangeToRunner) -> Self {
        use ExchangeOrder::{
            Diff, Digests, Download, Forward, List, Preview, Quarantine, Restore, Stat, Stdin, Upload,
        };
        let message = match message {
            ExchangeToRunner::Order(Upload(order)) => Down::Upload(order.into()),
            ExchangeToRunner::Order(Download(order)) => Down::Download(order.into()),
            ExchangeToRunner::Order(Stat { session_id, path }) => {
                Down::Stat(wire::StatOrder { session_id: session_id.to_string(), path: path.into() })
            }
            ExchangeToRunner::Order(List(order)) => Down::List(order.into()),
            ExchangeToRunner::Order(Diff(order)) => Down::Diff(order.into()),
            ExchangeToRunner::Order(Quarantine(order)) => Down::Quarantine(order.into()),
            ExchangeToRunner::Order(Restore { session_id, quarantine_id }) => {
                Down::Restore(wire::RestoreOrder { session_id: session_id.to_string(), quarantine_id })
            }
            ExchangeToRunner::Order(Digests { session_id, paths }) => Down::Digests(wire::DigestOrder {
                session_id: session_id.to_string(),
                paths: paths.into_iter().map(Into::into).collect(),
            }),
            ExchangeToRunner::Order(Preview(grant)) => {
                Down::Preview(wire::PreviewOrder { grant: grant.encode().into() })
            }
            ExchangeToRunner::Order(Stdin { execution_id, take_over }) => {
                Down::Stdin(wire::StdinOrder { execution_id: execution_id.to_string(), take_over })
            }
            ExchangeToRunner::Order(Forward { session_id, port }) => {
                Down::Forward(wire::ForwardOrder { session_id: session_id.to_string(), port: port.into() })
            }
            ExchangeToRunner::Chunk { offset, data } => Down::Chunk(v1::FileChunk { offset, data }),
            ExchangeToRunner::End { close } => Down::End(wire::ExchangeEnd { close }),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<wire::ExchangeResponse> for ExchangeToRunner {
    type Error = ConvertError;

    fn try_from(response: wire::ExchangeResponse) -> Result<Self, ConvertError> {
        let order = match required("message", response.message)? {
            Down::Upload(order) => ExchangeOrder::Upload(order.try_into()?),
            Down::Download(order) => ExchangeOrder::Download(order.try_into()?),
            Down::Stat(order) => ExchangeOrder::Stat {
                session_id: parsed("stat.session_id", &order.session_id)?,
                path: order.path.into(),
            },
            Down::List(order) => ExchangeOrder::List(order.try_into()?),
            Down::Diff(order) => ExchangeOrder::Diff(order.try_into()?),
            Down::Quarantine(order) => ExchangeOrder::Quarantine(order.try_into()?),
            Down::Restore(order) => ExchangeOrder::Restore {
                session_id: parsed("restore.session_id", &order.session_id)?,
                quarantine_id: order.quarantine_id,
            },
            Down::Digests(order) => {
                if order.paths.len() > BOUND_FILES {
                    let problem = format!("has {} paths, at most {BOUND_FILES}", order.paths.len());
                    return Err(ConvertError::new("digests.paths", problem));
                }
                ExchangeOrder::Digests {
                    session_id: parsed("digests.session_id", &order.session_id)?,
                    paths: order.paths.into_iter().map(Into::into).collect(),
                }
            }
            Down::Preview(order) => ExchangeOrder::Preview(Box::new(grant::of_preview(&order)?)),
            Down::Stdin(order) => ExchangeOrder::Stdin {
                execution_id: parsed("stdin.execution_id", &order.execution_id)?,
                take_over: order.take_over,
            },
            Down::Forward(order) => ExchangeOrder::Forward {
                session_id: parsed("forward.session_id", &order.session_id)?,
                port: u16::try_from(order.port)
                    .ok()
                    .filter(|port| *port != 0)
                    .ok_or_else(|| ConvertError::new("forward.port", "is not a port"))?,
            },
            Down::Chunk(chunk) => {
                let (offset, data) = checked(chunk)?;
                return Ok(Self::Chunk { offset, data });
            }
            Down::End(wire::ExchangeEnd { close }) => return Ok(Self::End { close }),
        };
        Ok(Self::Order(order))
    }
}

/// Returns the offset and the bytes of a chunk. It checks that the chunk is not too long and that its end
/// fits into 64 bits.
fn checked(chunk: v1::FileChunk) -> Result<(u64, Bytes), ConvertError> {
    let length = chunk.data.len();
    if length > TRANSFER_CHUNK_BYTES {
        let problem = format!("has {length} bytes, at most {TRANSFER_CHUNK_BYTES}");
        return Err(ConvertError::new("chunk.data", problem));
    }
    if chunk.offset.checked_add(length as u64).is_none() {
        return Err(ConvertError::new("chunk.offset", "is too large"));
    }
    Ok((chunk.offset, chunk.data))
}

impl From<ExchangeFailed> for wire::ExchangeFailed {
    fn from(failed: ExchangeFailed) -> Self {
        use wire::ExchangeFailure as Wire;
        let mut out = Self { reason: failed.reason, message: failed.message, ..Self::default() };
        let failure = match failed.failure {
            ExchangeFailure::NotFound => Wire::NotFound,
            ExchangeFailure::Invalid => Wire::Invalid,
            ExchangeFailure::OutOfRange { end } => {
                out.end = end;
                Wire::OutOfRange
            }
            ExchangeFailure::FailedPrecondition => Wire::FailedPrecondition,
            ExchangeFailure::Exhausted { limit, value } => {
                (out.limit, out.value) = (limit, value);
                Wire::Exhausted
            }
            ExchangeFailure::Unavailable => Wire::Unavailable,
            ExchangeFailure::Internal => Wire::Internal,
        };
        out.set_failure(failure);
        out
    }
}

impl From<wire::ExchangeFailed> for ExchangeFailed {
    /// Converts a failure. A kind that this version does not recognize is an internal failure of the runner.
    fn from(failed: wire::ExchangeFailed) -> Self {
        use wire::ExchangeFailure as Wire;
        let failure = match failed.failure() {
            Wire::NotFound => ExchangeFailure::NotFound,
            Wire::Invalid => ExchangeFailure::Invalid,
            Wire::OutOfRange => ExchangeFailure::OutOfRange { end: failed.end },
            Wire::FailedPrecondition => ExchangeFailure::FailedPrecondition,
            Wire::Exhausted => ExchangeFailure::Exhausted { limit: failed.limit, value: failed.value },
            Wire::Unavailable => ExchangeFailure::Unavailable,
            Wire::Internal | Wire::Unspecified => ExchangeFailure::Internal,
        };
        Self { failure, reason: failed.reason, message: failed.message }
    }
}

impl From<BoundFile> for v1::BoundFile {
    fn from(file: BoundFile) -> Self {
        let state = match file.state {
            FileState::Any => v1::BoundFileState::Unspecified,
            FileState::Digest(_) => v1::BoundFileState::Digest,
            FileState::Absent => v1::BoundFileState::Absent,
            FileState::Other => v1::BoundFileState::Other,
            FileState::TooLarge => v1::BoundFileState::TooLarge,
            FileState::Unknown => v1::BoundFileState::Unknown,
        };
        let sha256 = file.state.digest().map(|digest| digest.to_vec().into()).unwrap_or_default();
        Self { state: state.into(), sha256, ..Self::default() }.with_path(file.path)
    }
}

impl TryFrom<v1::BoundFile> for BoundFile {
    type Error = ConvertError;

    fn try_from(file: v1::BoundFile) -> Result<Self, ConvertError> {
        let known = v1::BoundFileState::try_from(file.state);
        let state = match known.map_err(|_| ConvertError::new("files.state", "is not a known state"))? {
            v1::BoundFileState::Unspecified => FileState::Any,
            v1::BoundFileState::Digest => {
                let digest = <[u8; 32]>::try_from(&file.sha256[..]);
                FileState::Digest(
                    digest.map_err(|_| ConvertError::new("files.sha256", "does not have 32 bytes"))?,
                )
            }
            v1::BoundFileState::Absent => FileState::Absent,
            v1::BoundFileState::Other => FileState::Other,
            v1::BoundFileState::TooLarge => FileState::TooLarge,
            v1::BoundFileState::Unknown => FileState::Unknown,
        };
        Ok(Self { path: joined("files.path", file.path, file.path_bytes)?, state })
    }
}

/// Converts a list of files and checks its length.
pub(super) fn files(field: &'static str, files: Vec<v1::BoundFile>) -> Result<Vec<BoundFile>, ConvertError> {
    if files.len() > BOUND_FILES {
        let problem = format!("has {} files, at most {BOUND_FILES}", files.len());
        return Err(ConvertError::new(field, problem));
    }
    files.into_iter().map(BoundFile::try_from).collect()
}

#[cfg(test)]
mod tests;
