//! What is laid over a session's folders for one command: parts that it may not
//! read, may not write, or may write all the same.
//!
//! Names only: must not look at a file. A mask is for a name that is there; one
//! for an absent name would leave a ghost file on the host, and is no mask.

mod plan;

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, PathBuf};
use std::sync::Arc;

pub(crate) use plan::plan;

/// The most masks of one launch.
pub const MAX_MASKS: usize = 4096;
/// The most bytes of all their paths.
const MAX_MASK_BYTES: usize = 512 << 10;
/// The longest path of one, in bytes: what a system call takes.
const MAX_MASK_PATH: usize = 4095;
/// The most bytes of the contents of all of them.
pub(crate) const MAX_MASK_CONTENT: usize = 512 << 10;

/// One of a session's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionFolder {
    /// Shown at [`crate::WORKSPACE`].
    Workspace,
    /// Shown at [`crate::HOME`].
    Home,
    /// Shown at [`crate::TMP`].
    Tmp,
}

impl SessionFolder {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Workspace, Self::Home, Self::Tmp];

    /// Where commands see it.
    #[must_use]
    pub fn inside(self) -> &'static str {
        match self {
            Self::Workspace => crate::WORKSPACE,
            Self::Home => crate::HOME,
            Self::Tmp => crate::TMP,
        }
    }
}

/// What a mask does to what it is laid over, and to everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaskKind {
    /// An empty file or folder without any permission is there instead.
    Hidden,
    /// It can be read and not written.
    ReadOnly,
    /// It can be written, inside something that is read-only.
    Writable,
    /// It is seen again, inside something that is hidden.
    Shown,
    /// It can be neither renamed nor removed: something below it is masked, and must
    /// not come out of the reach of the rule that names it.
    Kept,
    /// A folder is empty and read-only. Masks below it have no effect.
    Empty,
    /// A file has this content and is read-only; at most 512 KiB of one launch.
    Content(Arc<[u8]>),
}

/// One mask. What it does holds for everything below it, up to a mask of something
/// further in; of several for the same path the last of each pair of opposites
/// counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mask {
    /// Where it begins.
    pub folder: SessionFolder,
    /// Below it: relative, without `.` and `..`, and no part of it a link. Empty:
    /// the whole folder.
    pub path: PathBuf,
    /// What it does.
    pub kind: MaskKind,
}

/// Refuses masks that cannot be laid.
pub(crate) fn check(masks: &[Mask]) -> Result<(), String> {
    if masks.len() > MAX_MASKS {
        return Err(format!(
            "the path rules name {} files and folders, the limit is {MAX_MASKS}",
            masks.len()
        ));
    }
    let lengths = masks.iter().map(|mask| mask.path.as_os_str().len());
    if lengths.clone().sum::<usize>() > MAX_MASK_BYTES || lengths.clone().any(|length| length > MAX_MASK_PATH)
    {
        return Err("the path rules name paths that are too long together".to_owned());
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
        Some(mask) => Err(format!("`{}` is no path below a session's folder", mask.path.display())),
        None => Ok(()),
    }
}
