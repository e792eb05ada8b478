//! File edits: a `sed -i` whose changes are shown before they are approved, and written exactly as shown.

use serde::{Deserialize, Serialize};

use crate::{
    BoundFile, EncodingError, encoding,
    limits::{EDIT_DIFF_BYTES, EDIT_FILE_BYTES, EDIT_FILES},
};

/// The file edit of a grant. The runner runs the program on copies, and writes the results only if they are the approved
/// ones. The required states of the files and of their backups are in [`Decided::files`](crate::Decided::files).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidedEdit {
    /// The words of the command: sed and its arguments.
    #[serde(with = "encoding::byte_lists")]
    pub words: Vec<Vec<u8>>,
    /// The edited files in the order of the command. At most [`EDIT_FILES`].
    pub files: Vec<EditedFile>,
}

impl DecidedEdit {
    /// Returns the files and their backups, ordered by path.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<u8>> {
        let backups = self.files.iter().map(|file| &file.backup).filter(|backup| !backup.is_empty());
        let mut paths: Vec<Vec<u8>> =
            self.files.iter().map(|file| &file.path).chain(backups).cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    pub(crate) fn check(&self) -> Result<(), EncodingError> {
        if self.files.is_empty() || self.files.len() > EDIT_FILES || self.words.is_empty() {
            let problem = format!("a file edit has no words, or not 1 to {EDIT_FILES} files");
            return Err(EncodingError::new(problem));
        }
        Ok(())
    }
}

/// A file of a file edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditedFile {
    /// An absolute path inside the sandbox, below the workspace.
    #[serde(with = "encoding::bytes")]
    pub path: Vec<u8>,
    /// The path of its backup. Empty: no backup.
    #[serde(with = "encoding::bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub backup: Vec<u8>,
    /// SHA-256 of the approved contents. `None` before there is a preview.
    #[serde(with = "result", default, skip_serializing_if = "Option::is_none")]
    pub result: Option<[u8; 32]>,
}

/// An optional digest as hexadecimal text.
mod result {
    use std::borrow::Cow;

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(
        digest: &Option<[u8; 32]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&digest.map(hex::encode).unwrap_or_default())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<[u8; 32]>, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let mut digest = [0; 32];
        hex::decode_to_slice(text.as_bytes(), &mut digest).map_err(D::Error::custom)?;
        Ok(Some(digest))
    }
}

/// The changes that a file edit would make, as a runner found them on copies of the files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditPreview {
    /// One entry for each file, in the order of the command.
    pub files: Vec<FilePreview>,
}

impl EditPreview {
    /// Reports whether the preview is of this edit and within the limits.
    #[must_use]
    pub fn is_of(&self, edit: &DecidedEdit) -> bool {
        let diffs: usize = self.files.iter().map(|file| file.diff.len()).sum();
        let is_of = |(preview, file): (&FilePreview, &EditedFile)| {
            let backup = preview.backup.as_ref().map_or(&[][..], |backup| &backup.path);
            let bytes = preview.before_bytes.max(preview.after_bytes);
            preview.path == file.path && backup == file.backup && bytes <= EDIT_FILE_BYTES
        };
        self.files.len() == edit.files.len()
            && diffs <= EDIT_DIFF_BYTES
            && self.files.iter().zip(&edit.files).all(is_of)
    }
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePreview {
    /// An absolute path inside the sandbox.
    pub path: Vec<u8>,
    /// SHA-256 of the contents.
    pub before: [u8; 32],
    /// SHA-256 of the contents after the edit.
    pub after: [u8; 32],
    /// The size in bytes.
    pub before_bytes: u64,
    /// The size in bytes after the edit.
    pub after_bytes: u64,
    /// The permission bits, which the edit keeps.
    pub mode: u32,
    /// Whether one of the contents is not text. Then there is no diff.
    pub is_binary: bool,
    /// Whether the path is a link, which the edit replaces by a file.
    pub replaces_link: bool,
    /// The unified diff. Empty if nothing changes.
    pub diff: Vec<u8>,
    /// Whether the diff is incomplete. The diffs of one edit have at most [`EDIT_DIFF_BYTES`].
    pub is_truncated: bool,
    /// The backup that the edit creates or replaces, with its current state.
    pub backup: Option<BoundFile>,
}
