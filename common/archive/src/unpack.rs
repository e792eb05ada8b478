//! Checks archives, compares them with a directory, and unpacks them into it. `walk` decides which
//! entries are accepted, and `put` creates them; this module must not bypass either.

use std::{io::Read, os::fd::AsFd};

use cap_std::fs::Dir;

use crate::{
    ArchiveError, BLOCK_BYTES, Cancel, Counts, Entry, Format, Kind, Limits,
    put::{self, Content, DIRECTORY_MODE, Target},
    walk::{Item, Walk},
};

/// The options of unpacking.
#[derive(Debug)]
pub struct Unpack<'a> {
    /// The limits of the archive; a larger archive is an error.
    pub limits: &'a Limits,
    /// Permission bits that are removed from all files and directories, like a process's umask. 0 keeps
    /// the bits of the archive.
    pub umask: u32,
    /// Cancels the call.
    pub cancel: &'a Cancel,
}

/// Reads a whole archive, including its end marker and gzip trailer, without creating anything.
///
/// # Errors
/// The first entry that is refused, malformed, missing or over a limit; `put` is 0.
pub fn check(
    archive: impl Read,
    format: Format,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<Counts, ArchiveError> {
    each(archive, format, limits, cancel, |_| Ok(()))
}

/// Like [`check`], and also checks for existing files in a directory that conflict with the archive. It
/// changes nothing. Later changes by other programs are not covered.
///
/// # Errors
/// As for [`check`], and [`Cause::InTheWay`](crate::Cause::InTheWay).
pub fn conflicts(
    archive: impl Read,
    format: Format,
    into: &Dir,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<Counts, ArchiveError> {
    let root = into.as_fd();
    each(archive, format, limits, cancel, |item| put::look(root, &item.path, item.kind == Kind::Directory))
}

/// Unpacks an archive into a directory. Files are replaced atomically, directories are created or kept.
/// `on_entry` is called for each created entry, in the order of the archive.
///
/// # Errors
/// As for [`check`] for the first invalid entry, and the errors of the directory. Entries that were
/// created before remain (`put` is their number); temporary files do not.
pub fn unpack(
    archive: impl Read,
    format: Format,
    into: &Dir,
    options: &Unpack<'_>,
    mut on_entry: impl FnMut(&Entry<'_>),
) -> Result<Counts, ArchiveError> {
    let mut walk = Walk::new(archive, format, options.limits, options.cancel);
    let mut target = Target::new(into.as_fd(), options.umask);
    let mut put = 0;
    let mut told = |entry: &Entry<'_>| {
        put += 1;
        on_entry(entry);
    };
    let result = put_all(&mut walk, &mut target, options.umask, &mut told);
    // Also after an error: directories must not keep the modes that were needed to fill them.
    let finished = target.finish();
    result.and(finished).map(|()| walk.counts()).map_err(|error| error.having_put(put))
}

fn each(
    archive: impl Read,
    format: Format,
    limits: &Limits,
    cancel: &Cancel,
    mut look: impl FnMut(&Item) -> Result<(), ArchiveError>,
) -> Result<Counts, ArchiveError> {
    let mut walk = Walk::new(archive, format, limits, cancel);
    let mut buffer = vec![0; BLOCK_BYTES];
    while let Some(item) = walk.next()? {
        look(&item)?;
        while walk.content(&mut buffer)? > 0 {}
    }
    Ok(walk.counts())
}

fn put_all(
    walk: &mut Walk<'_, impl Read>,
    target: &mut Target<'_>,
    umask: u32,
    told: &mut dyn FnMut(&Entry<'_>),
) -> Result<(), ArchiveError> {
    let mut buffer = vec![0; BLOCK_BYTES];
    while let Some(item) = walk.next()? {
        let Item { path, kind, size, mode, modified, target: link } = &item;
        let mut on_directory = |path: &[u8]| {
            told(&Entry {
                path,
                kind: Kind::Directory,
                size: 0,
                mode: DIRECTORY_MODE & !umask,
                link_target: None,
                sha256: None,
            });
        };
        let mut sha256 = None;
        match kind {
            Kind::File => {
                let mut read = |buffer: &mut [u8]| walk.content(buffer);
                let content = Content { read: &mut read, buffer: &mut buffer };
                sha256 = Some(target.file(path, *mode, Some(*modified), content, &mut on_directory)?.1);
            }
            Kind::Directory => target.directory(path, *mode, *modified, &mut on_directory)?,
            Kind::Symlink => target.symlink(path, link, &mut on_directory)?,
            Kind::HardLink => target.hard_link(path, link, &mut on_directory)?,
        }
        let mode = if *kind == Kind::Symlink { *mode } else { mode & !umask };
        let is_link = matches!(kind, Kind::Symlink | Kind::HardLink);
        let link_target = is_link.then_some(link.as_slice());
        told(&Entry { path, kind: *kind, size: *size, mode, link_target, sha256 });
    }
    Ok(())
}
