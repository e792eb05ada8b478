//! Conversion of the files that answers are bound to.

use super::error::{ConvertError, joined};
use crate::v1;
use airlock_domain::{BoundFile, FileState, limits::BOUND_FILES};

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
