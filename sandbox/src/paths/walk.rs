//! Scans all paths that a rule may match, and collects masks.
//!
//! Commands of the session can rename files meanwhile. Entries that disappear or change their type are skipped. The
//! parents of a denied path cannot be renamed, so that the rule continues to match the path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::error::{MAX_RULE_DEPTH, MAX_RULE_ENTRIES, PathRuleError};
use super::pattern::Patterns;
use super::places::{Kind, MountedPath, Spot, look, resolve};
use crate::mask::{MAX_MASKS, Mask, MaskKind};
use crate::profile::{Bind, RootCover, joined};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// The result of path rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    /// For [`crate::LaunchSpec::masks`].
    pub masks: Vec<Mask>,
    /// For [`crate::Profile::covers`].
    pub covers: Vec<RootCover>,
}

/// The effect of the rules so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct State {
    hidden: bool,
    read_only: bool,
    /// Whether a deny rule matched. Nothing below can then become writable.
    denied: bool,
}

/// A file that was found.
#[derive(Debug, Clone)]
struct Entry {
    place: usize,
    /// The path relative to its place.
    relative: PathBuf,
    /// The path for the rules: with the links that lead there.
    seen: PathBuf,
    is_directory: bool,
    /// Whether a link leads there. Only deny rules then apply.
    linked: bool,
    depth: usize,
}

pub(super) struct Walk<'a> {
    patterns: &'a Patterns,
    places: &'a [MountedPath],
    links: &'a [(PathBuf, PathBuf)],
    entries: usize,
    masks: Vec<Mask>,
    known: BTreeSet<Mask>,
    covers: BTreeMap<PathBuf, RootCover>,
    /// The targets of links. They are denied last, so that no rule shows them again.
    denied: Vec<(Entry, MaskKind)>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        patterns: &'a Patterns,
        places: &'a [MountedPath],
        links: &'a [(PathBuf, PathBuf)],
    ) -> Self {
        Self {
            patterns,
            places,
            links,
            entries: 0,
            masks: Vec::new(),
            known: BTreeSet::new(),
            covers: BTreeMap::new(),
            denied: Vec::new(),
        }
    }

    pub(super) fn run(&mut self) -> Result<(), PathRuleError> {
        let places = self.places;
        for (number, place) in places.iter().enumerate() {
            self.place(number, place)?;
        }
        for (link, _) in self.links {
            self.link(link, 0)?;
        }
        for (entry, kind) in std::mem::take(&mut self.denied) {
            self.mask(&entry, kind)?;
        }
        Ok(())
    }

    pub(super) fn resolved(self) -> Resolved {
        let mut covers: Vec<_> = self.covers.into_values().collect();
        let again: Vec<_> =
            covers.iter().filter(|cover| matches!(cover, RootCover::Again(_))).cloned().collect();
        for cover in &mut covers {
            if let RootCover::Directory { path, around } = cover {
                *around = again.iter().any(|inner| inner.path().starts_with(&*path));
            }
        }
        Resolved { masks: self.masks, covers }
    }

    fn place(&mut self, number: usize, place: &MountedPath) -> Result<(), PathRuleError> {
        let is_root = matches!(place.kind, Kind::Root(_));
        let mut state = State { read_only: is_root, denied: is_root, hidden: false };
        let entry = Entry {
            place: number,
            relative: PathBuf::new(),
            seen: place.target.clone(),
            is_directory: place.is_directory,
            linked: false,
            depth: 0,
        };
        if is_root {
            // Its parents inside are not separate places.
            for above in place.target.ancestors().skip(1).filter(|above| above.parent().is_some()) {
                if self.patterns.deny_read.names(above) {
                    self.cover(RootCover::Directory { path: above.to_owned(), around: false })?;
                    state.hidden = true;
                }
            }
        } else if self.patterns.allow_write.is_some() {
            state.read_only = true;
            self.mask(&entry, MaskKind::ReadOnly)?;
        }
        let state = self.visit(&entry, state)?;
        if place.is_directory && self.looks_below(&entry.seen, state) {
            let directory = openat(&place.handle, ".", DIRECTORY, Mode::empty());
            self.directory(&entry, state, directory)?;
        }
        Ok(())
    }

    /// Adds the masks that the rules require for this path itself.
    fn visit(&mut self, entry: &Entry, state: State) -> Result<State, PathRuleError> {
        let (patterns, path) = (self.patterns, entry.seen.as_path());
        let mut next = state;
        if !entry.linked && patterns.allow_read.names(path) {
            next.hidden = false;
        } else if patterns.deny_read.names(path) {
            next.hidden = true;
        }
        if patterns.deny_write.names(path) {
            (next.read_only, next.denied) = (true, true);
        } else if !entry.linked && !state.denied {
            next.read_only &= !patterns.allow_write.as_ref().is_some_and(|list| list.names(path));
        }
        if next.hidden != state.hidden {
            self.mask(entry, if next.hidden { MaskKind::Hidden } else { MaskKind::Shown })?;
        }
        if next.read_only != state.read_only {
            self.mask(entry, if next.read_only { MaskKind::ReadOnly } else { MaskKind::Writable })?;
        }
        Ok(next)
    }

    fn looks_below(&self, path: &Path, state: State) -> bool {
        let Patterns { deny_read, allow_read, allow_write, deny_write } = self.patterns;
        if state.hidden {
            return allow_read.may_name_below(path);
        }
        let writes = || {
            deny_write.may_name_below(path)
                || allow_write.as_ref().is_some_and(|list| list.may_name_below(path))
        };
        deny_read.may_name_below(path) || !state.denied && writes()
    }

    fn directory(
        &mut self,
        entry: &Entry,
        state: State,
        directory: Result<OwnedFd, Errno>,
    ) -> Result<(), PathRuleError> {
        if entry.depth > MAX_RULE_DEPTH {
            return Err(PathRuleError::Depth { path: entry.seen.clone() });
        }
        match directory.and_then(|directory| Dir::read_from(&directory).map(|names| (directory, names))) {
            Ok((directory, names)) => self.names(entry, state, directory.as_fd(), names),
            // It was removed or replaced meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => self.closed(entry, state),
            Err(errno) => Err(look(&entry.seen)(errno)),
        }
    }

    /// Handles an unreadable directory. A command could make it readable, so it is denied if a rule may match below it.
    fn closed(&mut self, entry: &Entry, state: State) -> Result<(), PathRuleError> {
        if state.hidden {
            Ok(())
        } else if self.patterns.deny_read.may_name_below(&entry.seen) {
            self.mask(entry, MaskKind::Hidden)
        } else {
            self.mask(entry, MaskKind::ReadOnly)
        }
    }

    fn names(
        &mut self,
        entry: &Entry,
        state: State,
        directory: BorrowedFd<'_>,
        names: Dir,
    ) -> Result<(), PathRuleError> {
        for found in names {
            let found = match found {
                Ok(found) => found,
                Err(Errno::NOENT) => break,
                Err(errno) => return Err(look(&entry.seen)(errno)),
            };
            let name = OsStr::from_bytes(found.file_name().to_bytes());
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_RULE_ENTRIES {
                return Err(PathRuleError::Entries);
            }
            let kind = match found.file_type() {
                // Some file systems do not report the type.
                FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                known => known,
            };
            self.entry(entry, state, directory, name, kind)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        above: &Entry,
        state: State,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        kind: FileType,
    ) -> Result<(), PathRuleError> {
        let seen = above.seen.join(name);
        if kind == FileType::Symlink {
            return self.link(&seen, above.depth);
        }
        let entry = Entry {
            place: above.place,
            relative: above.relative.join(name),
            seen,
            is_directory: kind == FileType::Directory,
            linked: above.linked,
            depth: above.depth + 1,
        };
        let place = self.places.get(entry.place);
        if place.is_some_and(|place| place.holes.contains(&entry.relative)) {
            return Ok(());
        }
        let state = self.visit(&entry, state)?;
        if entry.is_directory && self.looks_below(&entry.seen, state) {
            self.directory(&entry, state, openat(directory, name, DIRECTORY, Mode::empty()))?;
        }
        Ok(())
    }

    /// Handles a link: a deny rule that matches the link, or leads through it, also applies to the target.
    fn link(&mut self, seen: &Path, depth: usize) -> Result<(), PathRuleError> {
        let Patterns { deny_read, deny_write, .. } = self.patterns;
        let (read, write) = (deny_read.names(seen), deny_write.names(seen));
        let through = deny_read.leads_through(seen) || deny_write.leads_through(seen);
        if !(read || write || through) {
            return Ok(());
        }
        let Some(spot) = resolve(self.places, self.links, seen)? else { return Ok(()) };
        let Spot { place, relative, handle, is_directory } = spot;
        let depth = depth + 1;
        let entry = Entry { place, relative, seen: seen.to_owned(), is_directory, linked: true, depth };
        if write {
            self.denied.push((entry.clone(), MaskKind::ReadOnly));
        }
        if read {
            self.denied.push((entry, MaskKind::Hidden));
        } else if through && is_directory {
            let state = State { read_only: write, denied: write, hidden: false };
            self.directory(&entry, state, openat(&handle, ".", DIRECTORY, Mode::empty()))?;
        }
        Ok(())
    }

    fn mask(&mut self, entry: &Entry, kind: MaskKind) -> Result<(), PathRuleError> {
        let Some(place) = self.places.get(entry.place) else { return Ok(()) };
        let directory = match &place.kind {
            Kind::Session(directory) => *directory,
            Kind::Root(source) => {
                let path = joined(&place.target, &entry.relative);
                let cover = match kind {
                    MaskKind::Hidden if entry.is_directory => RootCover::Directory { path, around: false },
                    MaskKind::Hidden => RootCover::File { path },
                    MaskKind::Shown => {
                        RootCover::Again(Bind { source: joined(source, &entry.relative), target: path })
                    }
                    // It is read-only already.
                    _ => return Ok(()),
                };
                return self.cover(cover);
            }
        };
        if matches!(kind, MaskKind::Hidden | MaskKind::ReadOnly) {
            let above = entry.relative.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            for above in above {
                self.add(Mask { directory, path: above.to_owned(), kind: MaskKind::Kept })?;
            }
        }
        self.add(Mask { directory, path: entry.relative.clone(), kind })
    }

    fn add(&mut self, mask: Mask) -> Result<(), PathRuleError> {
        if self.known.insert(mask.clone()) {
            self.masks.push(mask);
        }
        if self.masks.len() > MAX_MASKS { Err(PathRuleError::Masks) } else { Ok(()) }
    }

    fn cover(&mut self, cover: RootCover) -> Result<(), PathRuleError> {
        self.covers.insert(cover.path().clone(), cover);
        if self.covers.len() > MAX_MASKS { Err(PathRuleError::Masks) } else { Ok(()) }
    }
}
