//! Conversion of previews of file edits, and the results that an approval of one is bound to.

use prost::Message as _;

use super::error::{ConvertError, digest, joined};
use crate::v1;
use airlock_domain::{
    BoundFile, DecidedEdit, EditPreview, EditedFile, FilePreview,
    limits::{EDIT_DIFF_BYTES, EDIT_FILES},
};

impl From<EditPreview> for v1::EditPreview {
    fn from(preview: EditPreview) -> Self {
        Self { files: preview.files.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl From<FilePreview> for v1::FilePreview {
    fn from(file: FilePreview) -> Self {
        Self {
            before_sha256: file.before.to_vec().into(),
            after_sha256: file.after.to_vec().into(),
            before_bytes: file.before_bytes,
            after_bytes: file.after_bytes,
            mode: file.mode,
            binary: file.is_binary,
            replaces_link: file.replaces_link,
            truncated: file.is_truncated,
            backup: file.backup.map(Into::into),
            ..Self::default()
        }
        .with_path(file.path)
        .with_diff(file.diff)
    }
}

impl TryFrom<v1::EditPreview> for EditPreview {
    type Error = ConvertError;

    fn try_from(preview: v1::EditPreview) -> Result<Self, ConvertError> {
        if preview.files.len() > EDIT_FILES {
            let problem = format!("has {} files, at most {EDIT_FILES}", preview.files.len());
            return Err(ConvertError::new("previewed.files", problem));
        }
        let files = preview.files.into_iter().map(FilePreview::try_from).collect::<Result<_, _>>()?;
        Ok(Self { files })
    }
}

impl TryFrom<v1::FilePreview> for FilePreview {
    type Error = ConvertError;

    fn try_from(file: v1::FilePreview) -> Result<Self, ConvertError> {
        let diff = joined("previewed.diff", file.diff, file.diff_bytes)?;
        if diff.len() > EDIT_DIFF_BYTES {
            let problem = format!("has {} bytes, at most {EDIT_DIFF_BYTES}", diff.len());
            return Err(ConvertError::new("previewed.diff", problem));
        }
        Ok(Self {
            path: joined("previewed.path", file.path, file.path_bytes)?,
            before: digest("previewed.before_sha256", &file.before_sha256)?,
            after: digest("previewed.after_sha256", &file.after_sha256)?,
            before_bytes: file.before_bytes,
            after_bytes: file.after_bytes,
            mode: file.mode & 0o7777,
            is_binary: file.binary,
            replaces_link: file.replaces_link,
            diff,
            is_truncated: file.truncated,
            backup: file.backup.map(BoundFile::try_from).transpose()?,
        })
    }
}

/// Returns the edit of an approval without its diffs: the fields that the answer is bound to.
pub(super) fn bound(edit: &DecidedEdit) -> v1::EditPreview {
    let file = |file: &EditedFile| {
        let backup =
            (!file.backup.is_empty()).then(|| v1::BoundFile::default().with_path(file.backup.clone()));
        let after_sha256 = file.result.map(|digest| digest.to_vec().into()).unwrap_or_default();
        v1::FilePreview { after_sha256, backup, ..v1::FilePreview::default() }.with_path(file.path.clone())
    };
    v1::EditPreview {
        files: edit.files.iter().map(file).collect(),
        words: edit.words.iter().map(|word| v1::Word::known(word.clone())).collect(),
        note: String::new(),
    }
}

/// Returns the results that the approved edit in the encoded terms of an approval is bound to, in the order of its
/// files. Empty if the approval has no preview, or if the terms cannot be read.
#[must_use]
pub fn approved_results(terms: &[u8]) -> Vec<[u8; 32]> {
    let edit = v1::ApprovalTerms::decode(terms).ok().and_then(|terms| terms.edit);
    let files = edit.map(|edit| edit.files).unwrap_or_default();
    let results = files.iter().map(|file| digest("edit.after_sha256", &file.after_sha256));
    results.collect::<Result<_, _>>().unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use airlock_domain::FileState;

    use super::*;

    /// Returns a file edit in which each field has a value.
    pub(crate) fn decided() -> DecidedEdit {
        let file = EditedFile {
            path: b"/workspace/x.sh".to_vec(),
            backup: b"/workspace/x.sh.bak".to_vec(),
            result: Some([9; 32]),
        };
        DecidedEdit { words: vec![b"sed".to_vec(), b"\xff".to_vec()], files: vec![file] }
    }

    fn preview() -> EditPreview {
        let file = FilePreview {
            path: b"/workspace/\xff".to_vec(),
            before: [1; 32],
            after: [2; 32],
            before_bytes: 3,
            after_bytes: 4,
            mode: 0o640,
            is_binary: true,
            replaces_link: true,
            diff: b"-a\n+\xff\n".to_vec(),
            is_truncated: true,
            backup: Some(BoundFile { path: b"/workspace/b".to_vec(), state: FileState::Digest([5; 32]) }),
        };
        EditPreview { files: vec![file] }
    }

    #[test]
    fn a_preview_survives_the_wire() {
        let wire = v1::EditPreview::from(preview());
        assert_eq!(EditPreview::try_from(wire), Ok(preview()));
    }

    #[test]
    fn a_preview_beyond_its_limits_is_refused() {
        let mut many = v1::EditPreview::from(preview());
        many.files = vec![many.files[0].clone(); EDIT_FILES + 1];
        assert_eq!(EditPreview::try_from(many).unwrap_err().field, "previewed.files");
        let mut long = v1::EditPreview::from(preview());
        long.files[0].diff_bytes = vec![b'x'; EDIT_DIFF_BYTES + 1].into();
        assert_eq!(EditPreview::try_from(long).unwrap_err().field, "previewed.diff");
        let mut short = v1::EditPreview::from(preview());
        short.files[0].after_sha256 = vec![1; 31].into();
        assert_eq!(EditPreview::try_from(short).unwrap_err().field, "previewed.after_sha256");
    }

    #[test]
    fn terms_without_whole_results_have_none() {
        let of = |edit| v1::ApprovalTerms { edit, ..v1::ApprovalTerms::default() }.encode_to_vec();
        assert_eq!(approved_results(&of(Some(preview().into()))), [[2; 32]]);
        let mut short = v1::EditPreview::from(preview());
        short.files[0].after_sha256 = vec![1; 31].into();
        assert!(approved_results(&of(Some(short))).is_empty());
        assert!(approved_results(&of(None)).is_empty());
        assert!(approved_results(b"\xff").is_empty());
    }
}
