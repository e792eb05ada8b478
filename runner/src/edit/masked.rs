//! The masks that would hide a file of an edit from a command, or make it read-only. The copies have no masks, so the
//! runner checks them itself.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use airlock_domain::DecidedEdit;
use airlock_sandbox::{Mask, MaskKind, SessionDirectory, WORKSPACE};

use super::error::EditError;

/// Refuses an edit of a file that a command could not read or replace.
///
/// # Errors
/// The first such file.
pub(crate) fn check(edit: &DecidedEdit, masks: &[Mask]) -> Result<(), EditError> {
    for path in edit.paths() {
        let below = path.strip_prefix(WORKSPACE.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
        let below = PathBuf::from(OsStr::from_bytes(below.unwrap_or_default()));
        // A file is replaced by a rename, so its directory must be writable as well.
        let parent = below.parent().unwrap_or(Path::new(""));
        if [below.as_path(), parent].into_iter().any(|place| is_covered(place, masks)) {
            return Err(EditError::Masked(path));
        }
    }
    Ok(())
}

/// Reports whether the deepest mask of a pair of opposites hides the path or makes it read-only.
fn is_covered(path: &Path, masks: &[Mask]) -> bool {
    let (mut hidden, mut read_only) = ((0, false), (0, false));
    for mask in masks.iter().filter(|mask| mask.directory == SessionDirectory::Workspace) {
        if !path.starts_with(&mask.path) {
            continue;
        }
        let depth = mask.path.components().count();
        let set = |state: &mut (usize, bool), value| {
            if depth >= state.0 {
                *state = (depth, value);
            }
        };
        match mask.kind {
            MaskKind::Hidden | MaskKind::Empty | MaskKind::Content(_) => set(&mut hidden, true),
            MaskKind::Shown => set(&mut hidden, false),
            MaskKind::ReadOnly => set(&mut read_only, true),
            MaskKind::Writable => set(&mut read_only, false),
            MaskKind::Kept if mask.path == path => return true,
            MaskKind::Kept => {}
        }
    }
    hidden.1 || read_only.1
}

#[cfg(test)]
mod tests {
    use airlock_domain::EditedFile;

    use super::*;

    fn covers(masks: &[(&str, MaskKind)], path: &str) -> bool {
        let mask = |(path, kind): &(&str, MaskKind)| Mask {
            directory: SessionDirectory::Workspace,
            path: PathBuf::from(path),
            kind: kind.clone(),
        };
        let masks: Vec<Mask> = masks.iter().map(mask).collect();
        let file =
            EditedFile { path: format!("/workspace/{path}").into_bytes(), backup: Vec::new(), result: None };
        check(&DecidedEdit { words: Vec::new(), files: vec![file] }, &masks).is_err()
    }

    #[test]
    fn the_deepest_mask_decides() {
        use MaskKind::{Empty, Hidden, ReadOnly, Shown, Writable};
        assert!(!covers(&[], "a/f"));
        for (masks, path, expected) in [
            (&[("b", ReadOnly)][..], "a/f", false),
            (&[("a", ReadOnly)], "a/f", true),
            (&[("a/f", ReadOnly)], "a/f", true),
            (&[("a/f", Hidden)], "a/f", true),
            (&[("a/fx", Hidden)], "a/f", false),
            (&[("", ReadOnly), ("a", Writable)], "a/f", false),
            (&[("", ReadOnly), ("a/f", Writable)], "a/f", true),
            (&[("", ReadOnly), ("a", Writable), ("a/f", ReadOnly)], "a/f", true),
            (&[("a", Hidden), ("a/b", Shown)], "a/b/f", false),
            (&[("a", Empty)], "a/f", true),
        ] {
            assert_eq!(covers(masks, path), expected, "{masks:?} {path}");
        }
        assert!(covers(&[("d", MaskKind::Kept)], "d/f"), "its directory must not change");
    }
}
