//! What is laid over a session's folders for one command: parts that it may not
//! read, may not write, or may write all the same.
//!
//! Names only: must not look at a file. A mask is for a name that is there; one
//! for an absent name would leave a ghost file on the host, and is no mask.

use std::path::PathBuf;

/// One of a session's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionFolder {
    /// Shown at [`crate::WORKSPACE`].
    Workspace,
    /// Shown at [`crate::HOME`].
    Home,
    /// Shown at `/tmp`.
    Tmp,
}

/// What a mask does to what it is laid over, and to everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaskKind {
    /// An empty file or folder without any permission is there instead.
    Hidden,
    /// It can be read and not written.
    ReadOnly,
    /// It can be written, inside something that is read-only.
    Writable,
    /// It is seen again, inside something that is hidden.
    Shown,
}

/// One mask. Later ones lie over earlier ones.
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
