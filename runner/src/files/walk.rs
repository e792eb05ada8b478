//! Walks a directory tree that hostile commands may be changing, ordered by the bytes of the paths.
//!
//! Follows no link. Holds a bounded number of names: a directory with more names is read several times, each time
//! from the current position. Holds a bounded number of open directories: parents are opened again on the way back.
//! Files that disappear meanwhile are skipped.

use std::{
    collections::BTreeSet,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_archive::{Cancel, join};
use airlock_domain::ExchangeFailed;
use rustix::{
    fs::{AtFlags, Dir, FileType as RawType, Stat, statat},
    io::Errno,
};

use super::{
    failure::{of_path, precondition, shown, unavailable},
    paths::Inside,
    root::open_directory,
    select::Selection,
};

/// The bytes of names held at once, for all open directories.
const NAMES_BYTES: usize = 4 << 20;
/// The minimum share of each directory.
const SHARE_MIN: usize = 16 << 10;
/// The memory of a held name in addition to its bytes.
const NAME_COST: usize = 64;
/// The maximum nesting of directories.
pub(super) const MAX_DEPTH: usize = 200;
/// The number of directories open at once, in addition to the start directory.
const OPEN_DIRECTORIES: usize = 16;

/// The sort key of an entry: its name, or (with a slash at the end) the entries below it.
type Key = Vec<u8>;

#[derive(Debug)]
struct Level {
    /// `None` if it must be opened again when the walk returns to it. The first level stays open.
    directory: Option<OwnedFd>,
    /// The path relative to the start of the walk.
    path: Vec<u8>,
    names: BTreeSet<Key>,
    /// Whether more names exist than fit.
    more: bool,
    last: Key,
}

/// The start and the options of a walk.
#[derive(Debug)]
pub(super) struct Route<'a> {
    /// The directory. Messages use it, and the walk's paths are relative to it.
    pub(super) at: &'a Inside,
    /// Whether subdirectories are entered.
    pub(super) recursive: bool,
    /// The position after which the walk starts, relative to `at`.
    pub(super) after: &'a [u8],
    pub(super) selection: &'a Selection,
    /// Whether unreadable directories are skipped. Otherwise they are an error.
    pub(super) skip_closed: bool,
}

/// A walk in progress.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    route: Route<'a>,
    levels: Vec<Level>,
    cancel: &'a Cancel,
    share: usize,
}

/// An entry that was found.
#[derive(Debug)]
pub(super) struct WalkEntry {
    /// The path relative to the start of the walk.
    pub(super) path: Vec<u8>,
    pub(super) stat: Stat,
    name_at: usize,
}

impl WalkEntry {
    /// Returns its name in [`Walk::directory`].
    pub(super) fn name(&self) -> &[u8] {
        self.path.get(self.name_at..).unwrap_or_default()
    }
}

impl<'a> Walk<'a> {
    /// Starts a walk.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub(super) fn new(
        directory: OwnedFd,
        route: Route<'a>,
        cancel: &'a Cancel,
    ) -> Result<Self, ExchangeFailed> {
        Self::with_share(directory, route, cancel, NAMES_BYTES / 2)
    }

    fn with_share(
        directory: OwnedFd,
        route: Route<'a>,
        cancel: &'a Cancel,
        share: usize,
    ) -> Result<Self, ExchangeFailed> {
        let mut walk = Self { route, levels: Vec::new(), cancel, share };
        walk.enter(directory, Vec::new())?;
        Ok(walk)
    }

    /// Returns the next entry, or `None` at the end. Blocks.
    ///
    /// # Errors
    /// If a directory cannot be read or is nested too deeply, or if the walk was cancelled.
    pub(super) fn next(&mut self) -> Result<Option<WalkEntry>, ExchangeFailed> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(unavailable("CANCELLED", "it was ended before it was complete; try again"));
            }
            if !self.reopen()? {
                self.levels.pop();
            }
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some(directory) = &level.directory else { continue };
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
                match open_directory(directory.as_fd(), name) {
                    Ok(Some(directory)) => self.enter(directory, path)?,
                    Ok(None) => {}
                    Err(Errno::ACCESS) if self.route.skip_closed => {}
                    Err(errno) => return Err(of_path(&self.route.at.below(&path), errno)),
                }
                continue;
            }
            match statat(directory, &*key, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    let path = join(&level.path, &key);
                    return Ok(Some(WalkEntry { name_at: path.len() - key.len(), path, stat }));
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(of_path(&self.route.at.below(&join(&level.path, &key)), errno)),
            }
        }
    }

    /// Returns the directory of the last entry.
    pub(super) fn directory(&self) -> Option<BorrowedFd<'_>> {
        self.levels.last()?.directory.as_ref().map(AsFd::as_fd)
    }

    /// Opens the deepest directory again if it is not open. Returns false if it no longer exists.
    fn reopen(&mut self) -> Result<bool, ExchangeFailed> {
        let Some((level, above)) = self.levels.split_last_mut() else { return Ok(true) };
        if level.directory.is_some() {
            return Ok(true);
        }
        let Some(root) = above.first().and_then(|first| first.directory.as_ref()) else { return Ok(false) };
        let mut directory = None;
        // One component at a time, because the whole path may exceed the kernel's limit.
        for name in level.path.split(|byte| *byte == b'/') {
            match open_directory(directory.as_ref().unwrap_or(root).as_fd(), name) {
                Ok(Some(next)) => directory = Some(next),
                Ok(None) => return Ok(false),
                Err(errno) => return Err(of_path(&self.route.at.below(&level.path), errno)),
            }
        }
        level.directory = directory;
        Ok(true)
    }

    fn enter(&mut self, directory: OwnedFd, path: Vec<u8>) -> Result<(), ExchangeFailed> {
        if self.levels.len() > MAX_DEPTH {
            let inside = self.route.at.below(&path);
            let message = format!(
                "`{}` is nested deeper than {MAX_DEPTH} directories; name a directory closer to it, or \
                 exclude it",
                shown(&inside)
            );
            return Err(precondition("TOO_DEEP", message));
        }
        let directory = Some(directory);
        let level = Level { directory, path, names: BTreeSet::new(), more: false, last: Vec::new() };
        self.levels.push(level);
        let far = self.levels.len().checked_sub(OPEN_DIRECTORIES + 1).filter(|far| *far > 0);
        if let Some(level) = far.and_then(|far| self.levels.get_mut(far)) {
            level.directory = None;
        }
        self.fill()
    }

    /// Reads the names after the last one, as many as fit.
    fn fill(&mut self) -> Result<(), ExchangeFailed> {
        let depth = u32::try_from(self.levels.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let share = self.share.checked_shr(depth).unwrap_or(0).max(SHARE_MIN.min(self.share));
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let result = fill(level, share, &self.route, self.cancel);
        result.map_err(|errno| of_path(&self.route.at.below(&level.path), errno))
    }
}

fn fill(level: &mut Level, share: usize, route: &Route<'_>, cancel: &Cancel) -> Result<(), Errno> {
    let Some(directory) = &level.directory else { return Ok(()) };
    let mut held = 0;
    // The first name that did not fit. Later names are skipped, even if they would fit.
    let mut end: Option<Key> = None;
    for entry in Dir::read_from(directory)? {
        if cancel.is_cancelled() {
            return Ok(());
        }
        let entry = match entry {
            // The directory was removed.
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

/// Reports whether this entry, or an entry below it, comes after `after`.
fn is_due(directory: &[u8], key: &[u8], after: &[u8]) -> bool {
    let path = join(directory, key);
    path.as_slice() > after || (key.ends_with(b"/") && after.starts_with(&path))
}

#[cfg(test)]
mod tests;
