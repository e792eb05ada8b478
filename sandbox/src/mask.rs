//! Masks over a session's directories for one command: they hide a path, make it read-only, or make it writable again.
//!
//! Operates on names only: must not access a file. A mask requires an existing path. A mask for a missing path would
//! leave an empty file on the host, and is not allowed.

pub(crate) mod plan;

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, PathBuf};
use std::sync::Arc;

use crate::layout::{HOME, TMP, WORKSPACE};

/// The maximum number of masks of one launch.
pub const MAX_MASKS: usize = 4096;
/// The maximum total length of their paths, in bytes.
const MAX_MASK_BYTES: usize = 512 << 10;
/// The maximum length of one path, in bytes: the limit of system calls.
const MAX_MASK_PATH: usize = 4095;
/// The maximum total size of their contents, in bytes.
pub(crate) const MAX_MASK_CONTENT: usize = 512 << 10;

/// One of a session's directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionDirectory {
    /// Shown at [`crate::WORKSPACE`].
    Workspace,
    /// Shown at [`crate::HOME`].
    Home,
    /// Shown at [`crate::TMP`].
    Tmp,
}

impl SessionDirectory {
    /// All directories.
    pub const ALL: [Self; 3] = [Self::Workspace, Self::Home, Self::Tmp];

    /// Returns the path inside the sandbox.
    #[must_use]
    pub fn inside(self) -> &'static str {
        match self {
            Self::Workspace => WORKSPACE,
            Self::Home => HOME,
            Self::Tmp => TMP,
        }
    }
}

/// The effect of a mask on a path and everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaskKind {
    /// Replaces the path by an empty file or directory without permissions.
    Hidden,
    /// Makes the path read-only.
    ReadOnly,
    /// Makes the path writable, inside a read-only one.
    Writable,
    /// Makes the path visible, inside a hidden one.
    Shown,
    /// Prevents renaming and removal. A path below it is masked, and the rule must continue to match this path.
    Kept,
    /// Replaces a directory by an empty, read-only one. Masks below it have no effect.
    Empty,
    /// Replaces a file by a read-only one with this content. The contents of one launch have at most 512 KiB.
    Content(Arc<[u8]>),
}

/// One mask. It applies to everything below its path, except below a deeper mask. If several masks have the same path,
/// the last of each pair of opposites applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mask {
    /// The directory that contains the path.
    pub directory: SessionDirectory,
    /// The path relative to it, without `.`, `..` or links. Empty for the whole directory.
    pub path: PathBuf,
    /// The effect.
    pub kind: MaskKind,
}

/// Refuses masks that cannot be applied.
pub(crate) fn check(masks: &[Mask]) -> Result<(), String> {
    if masks.len() > MAX_MASKS {
        return Err(format!(
            "the path rules match {} files and directories, the limit is {MAX_MASKS}",
            masks.len()
        ));
    }
    let lengths = masks.iter().map(|mask| mask.path.as_os_str().len());
    if lengths.clone().sum::<usize>() > MAX_MASK_BYTES || lengths.clone().any(|length| length > MAX_MASK_PATH)
    {
        return Err("the paths that the path rules match are too long in total".to_owned());
    }
    let contents = masks.iter().map(|mask| match &mask.kind {
        MaskKind::Content(content) => content.len(),
        _ => 0,
    });
    if contents.sum::<usize>() > MAX_MASK_CONTENT {
        return Err(format!("the contents of masked files have more than {MAX_MASK_CONTENT} bytes"));
    }
    let plain = |mask: &Mask| {
        mask.path.components().all(|part| matches!(part, Component::Normal(_)))
            && !mask.path.as_os_str().as_bytes().contains(&0)
    };
    match masks.iter().find(|mask| !plain(mask)) {
        Some(mask) => Err(format!("`{}` is not a path below a session's directory", mask.path.display())),
        None => Ok(()),
    }
}
