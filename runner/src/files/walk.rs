//! Goes through a folder that hostile commands may be changing, in the order of the bytes of its paths.
//!
//! Follows no link. Holds a bounded part of the names: a folder with more of them is read several times,
//! each time from where it stands. Holds a bounded number of folders open: those above are opened again on
//! the way back. What goes away meanwhile is left out.

use std::{
    collections::BTreeSet,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_archive::Cancel;
use airlock_proto::domain::ExchangeFailed;
use rustix::{
    fs::{AtFlags, Dir, FileType as RawType, Stat, statat},
    io::Errno,
};

use super::{
    failure::{of_path, precondition, shown, unavailable},
    paths::{Inside, join},
    place::open_folder,
    select::Selection,
};

/// Bytes of names held at once, of all folders that are open together but for the deepest ones' share.
const NAMES_BYTES: usize = 4 << 20;
/// The share of each folder at least.
const SHARE_MIN: usize = 16 << 10;
/// What a held name takes besides its bytes.
const NAME_COST: usize = 64;
/// Folders nested deeper than this are an error.
pub(super) const MAX_DEPTH: usize = 200;
/// Of these, those that are open at once, besides the one where the walk began.
const OPEN_FOLDERS: usize = 16;

/// What stands in a folder's order: a name, or (with a slash at its end) what is below it.
type Key = Vec<u8>;

#[derive(Debug)]
struct Level {
    /// None: it is opened again when the walk comes back to it. That of the first level stays.
    folder: Option<OwnedFd>,
    /// Relative to where the walk began.
    path: Vec<u8>,
    names: BTreeSet<Key>,
    /// There were more names than fit.
    more: bool,
    last: Key,
}

/// Where a walk goes, and where it begins.
#[derive(Debug)]
pub(super) struct Route<'a> {
    /// Of the folder, for messages and for what the walk's paths are relative to.
    pub(super) at: &'a Inside,
    /// Into folders too.
    pub(super) recursive: bool,
    /// Relative to `at`: only what comes after it.
    pub(super) after: &'a [u8],
    pub(super) selection: &'a Selection,
    /// Folders that cannot be read are passed over; otherwise they are an error.
    pub(super) skip_closed: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    route: Route<'a>,
    levels: Vec<Level>,
    cancel: &'a Cancel,
    share: usize,
}

/// Something that was there.
#[derive(Debug)]
pub(super) struct Seen {
    /// Relative to where the walk began.
    pub(super) path: Vec<u8>,
    pub(super) stat: Stat,
    name_at: usize,
}

impl Seen {
    /// Its name in [`Walk::folder`].
    pub(super) fn name(&self) -> &[u8] {
        self.path.get(self.name_at..).unwrap_or_default()
    }
}

impl<'a> Walk<'a> {
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn new(folder: OwnedFd, route: Route<'a>, cancel: &'a Cancel) -> Result<Self, ExchangeFailed> {
        Self::with_share(folder, route, cancel, NAMES_BYTES / 2)
    }

    fn with_share(
        folder: OwnedFd,
        route: Route<'a>,
        cancel: &'a Cancel,
        share: usize,
    ) -> Result<Self, ExchangeFailed> {
        let mut walk = Self { route, levels: Vec::new(), cancel, share };
        walk.enter(folder, Vec::new())?;
        Ok(walk)
    }

    /// The next one; none at the end. Blocks.
    ///
    /// # Errors
    /// If a folder cannot be read or is nested too deep, or the walk was cancelled.
    pub(super) fn next(&mut self) -> Result<Option<Seen>, ExchangeFailed> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(unavailable("CANCELLED", "it was ended before it was done; ask again"));
            }
            if !self.reopen()? {
                self.levels.pop();
            }
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(folder) = &level.folder else { continue };
            let Some(key) = level.names.pop_first() else {
                if level.more {
                    self.fill()?;
                } else {
                    self.levels.pop();
                }
                continue;
            };
            level.last.clone_from(&key);
            if let Some(name) = key.strip_suffix(b"/") {
                let path = join(&level.path, name);
                match open_folder(folder.as_fd(), name) {
                    Ok(Some(folder)) => self.enter(folder, path)?,
                    Ok(None) => {}
                    Err(Errno::ACCESS) if self.route.skip_closed => {}
                    Err(errno) => return Err(of_path(&self.route.at.below(&path), errno)),
                }
                continue;
            }
            match statat(folder, &*key, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    let path = join(&level.path, &key);
                    return Ok(Some(Seen { name_at: path.len() - key.len(), path, stat }));
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(of_path(&self.route.at.below(&join(&level.path, &key)), errno)),
            }
        }
    }

    /// The folder that holds what was seen last.
    pub(super) fn folder(&self) -> Option<BorrowedFd<'_>> {
        self.levels.last()?.folder.as_ref().map(AsFd::as_fd)
    }

    /// Opens the deepest folder again if it is not open; false if it is no longer there.
    fn reopen(&mut self) -> Result<bool, ExchangeFailed> {
        let Some((level, above)) = self.levels.split_last_mut() else { return Ok(true) };
        if level.folder.is_some() {
            return Ok(true);
        }
        let Some(root) = above.first().and_then(|first| first.folder.as_ref()) else { return Ok(false) };
        let mut folder = None;
        // One by one: all of them together may be longer than the kernel takes.
        for name in level.path.split(|byte| *byte == b'/') {
            match open_folder(folder.as_ref().unwrap_or(root).as_fd(), name) {
                Ok(Some(next)) => folder = Some(next),
                Ok(None) => return Ok(false),
                Err(errno) => return Err(of_path(&self.route.at.below(&level.path), errno)),
            }
        }
        level.folder = folder;
        Ok(true)
    }

    fn enter(&mut self, folder: OwnedFd, path: Vec<u8>) -> Result<(), ExchangeFailed> {
        if self.levels.len() > MAX_DEPTH {
            let inside = self.route.at.below(&path);
            let message = format!(
                "`{}` is nested deeper than {MAX_DEPTH} folders; ask for a folder nearer to it, or exclude it",
                shown(&inside)
            );
            return Err(precondition("TOO_DEEP", message));
        }
        let folder = Some(folder);
        let level = Level { folder, path, names: BTreeSet::new(), more: false, last: Vec::new() };
        self.levels.push(level);
        let far = self.levels.len().checked_sub(OPEN_FOLDERS + 1).filter(|far| *far > 0);
        if let Some(level) = far.and_then(|far| self.levels.get_mut(far)) {
            level.folder = None;
        }
        self.fill()
    }

    /// Reads the names after the last one, as far as they fit.
    fn fill(&mut self) -> Result<(), ExchangeFailed> {
        let depth = u32::try_from(self.levels.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let share = self.share.checked_shr(depth).unwrap_or(0).max(SHARE_MIN.min(self.share));
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let result = fill(level, share, &self.route, self.cancel);
        result.map_err(|errno| of_path(&self.route.at.below(&level.path), errno))
    }
}

fn fill(level: &mut Level, share: usize, route: &Route<'_>, cancel: &Cancel) -> Result<(), Errno> {
    let Some(folder) = &level.folder else { return Ok(()) };
    let mut held = 0;
    // The first name that did not fit: none after it is taken, even if it would.
    let mut end: Option<Key> = None;
    for entry in Dir::read_from(folder)? {
        if cancel.is_cancelled() {
            return Ok(());
        }
        let entry = match entry {
            // It was removed.
            Err(Errno::NOENT) => break,
            other => other?,
        };
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let path = join(&level.path, name);
        if route.selection.excludes(&path) {
            continue;
        }
        let mut keys = vec![name.to_vec()];
        if route.recursive && matches!(entry.file_type(), RawType::Directory | RawType::Unknown) {
            keys.push([name, b"/"].concat());
        }
        keys.retain(|key| *key > level.last && is_due(&level.path, key, route.after));
        for key in keys.into_iter().filter(|key| end.as_ref().is_none_or(|end| key < end)) {
            let cost = key.len() + NAME_COST;
            held += if level.names.insert(key) { cost } else { 0 };
        }
        while held > share && level.names.len() > 1 {
            end = level.names.pop_last();
            held -= end.as_ref().map_or(0, |key| key.len() + NAME_COST);
        }
    }
    level.more = end.is_some();
    Ok(())
}

/// Whether this, or something below it, comes after `after`.
fn is_due(folder: &[u8], key: &[u8], after: &[u8]) -> bool {
    let path = join(folder, key);
    path.as_slice() > after || (key.ends_with(b"/") && after.starts_with(&path))
}

#[cfg(test)]
mod tests;
