//! Files that an answer is bound to, and their states.

use serde::{Deserialize, Serialize};

use crate::{EncodingError, encoding};

/// A file that a command would run, and its state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct BoundFile {
    /// An absolute path inside the sandbox.
    pub path: Vec<u8>,
    /// The found or required state.
    pub state: FileState,
}

/// The state of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileState {
    /// Any state is accepted.
    Any,
    /// A file with contents of this SHA-256.
    Digest([u8; 32]),
    /// No file.
    Absent,
    /// Not a readable file.
    Other,
    /// A file that is too large to be compared.
    TooLarge,
    /// The runner could not be asked. This state never matches a file.
    Unknown,
}

impl FileState {
    /// Returns the SHA-256 of the contents, if it is known.
    #[must_use]
    pub fn digest(&self) -> Option<&[u8; 32]> {
        match self {
            Self::Digest(digest) => Some(digest),
            Self::Any | Self::Absent | Self::Other | Self::TooLarge | Self::Unknown => None,
        }
    }
}

/// The encoding of a file. It is that of the approvals that earlier versions stored.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(with = "encoding::bytes")]
    path: Vec<u8>,
    state: StateName,
    /// Hexadecimal. Only for `DIGEST`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    sha256: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum StateName {
    Any,
    Digest,
    Absent,
    Other,
    TooLarge,
    Unknown,
}

impl From<BoundFile> for Form {
    fn from(BoundFile { path, state }: BoundFile) -> Self {
        let (state, digest) = match state {
            FileState::Any => (StateName::Any, None),
            FileState::Digest(digest) => (StateName::Digest, Some(digest)),
            FileState::Absent => (StateName::Absent, None),
            FileState::Other => (StateName::Other, None),
            FileState::TooLarge => (StateName::TooLarge, None),
            FileState::Unknown => (StateName::Unknown, None),
        };
        Self { path, state, sha256: digest.map(hex::encode).unwrap_or_default() }
    }
}

impl TryFrom<Form> for BoundFile {
    type Error = EncodingError;

    fn try_from(Form { path, state, sha256 }: Form) -> Result<Self, EncodingError> {
        if state != StateName::Digest && !sha256.is_empty() {
            return Err(EncodingError::new("a file has a digest, but not the state `DIGEST`"));
        }
        let state = match state {
            StateName::Any => FileState::Any,
            StateName::Digest => {
                let mut digest = [0; 32];
                hex::decode_to_slice(&sha256, &mut digest)
                    .map_err(|error| EncodingError::new(format!("a digest is malformed: {error}")))?;
                FileState::Digest(digest)
            }
            StateName::Absent => FileState::Absent,
            StateName::Other => FileState::Other,
            StateName::TooLarge => FileState::TooLarge,
            StateName::Unknown => FileState::Unknown,
        };
        Ok(Self { path, state })
    }
}
