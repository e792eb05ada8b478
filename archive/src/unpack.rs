//! Reads archives: checks them, compares them with a folder, and unpacks them into it.

use std::io::Read;

use cap_std::fs::Dir;

use crate::{ArchiveError, Cancel, Cause, Counts, Entry, Format, Limits};

/// How to unpack.
#[derive(Debug)]
pub struct Unpack<'a> {
    /// What the archive may hold; more is an error.
    pub limits: &'a Limits,
    /// The user and group that get what is made. None: whoever calls. The archive's owners are ignored.
    pub owner: Option<(u32, u32)>,
    /// Ends it early.
    pub cancel: &'a Cancel,
}

/// Reads a whole archive, with its end marker and gzip trailer, and touches nothing.
///
/// # Errors
/// The first thing in it that is refused, malformed, missing or over a limit; `put` is 0.
pub fn check(
    archive: impl Read,
    format: Format,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<Counts, ArchiveError> {
    let _ = (archive, format, limits);
    cancel.look()?;
    Err(Cause::Cancelled.into())
}

/// Looks for what stands in the way of an archive in a folder, and touches nothing. Of use before
/// [`unpack`] where nothing else changes the folder; it says nothing about what comes later.
///
/// # Errors
/// As [`check`], and [`Cause::InTheWay`].
pub fn conflicts(
    archive: impl Read,
    format: Format,
    into: &Dir,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<(), ArchiveError> {
    let _ = into;
    check(archive, format, limits, cancel).map(drop)
}

/// Unpacks an archive into a folder. Files are replaced whole, folders are made or kept, and
/// `on_entry` is called with each thing that was put there, in the order of the archive.
///
/// # Errors
/// As [`check`], for the first entry that is wrong, and whatever the folder does not allow. What was put
/// there before stays (`put` says how much), temporary files do not.
pub fn unpack(
    archive: impl Read,
    format: Format,
    into: &Dir,
    options: &Unpack<'_>,
    on_entry: impl FnMut(&Entry<'_>),
) -> Result<Counts, ArchiveError> {
    let _ = (into, on_entry);
    check(archive, format, options.limits, options.cancel)
}
