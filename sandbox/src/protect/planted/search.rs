//! The search through repositories that lead to each other, and its result: the planted files, and the masks that cover
//! them. Each repository is checked once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};

use super::super::directory::kind;
use super::super::error::{ProtectError, shown};
use super::super::mark::{CONTENT_MAX, Mark};
use super::super::names::Names;
use super::super::scan::{Scope, scan};
use super::input::{Grounds, Suspects, Use, repositories};
use crate::layout::{HOME, WORKSPACE};
use crate::mask::{Mask, MaskKind, SessionDirectory};
use crate::paths::places::{self, Kind, Lead, Spot};

/// The maximum number of repositories and included configurations in one search.
pub(super) const REPOSITORIES: usize = 10_000;

/// The state of one search.
pub(super) struct Search<'a> {
    suspects: &'a Suspects,
    command: Use<'a>,
    grounds: &'a Grounds,
    queue: VecDeque<PathBuf>,
    seen: BTreeSet<PathBuf>,
    /// Working trees and directories of repositories, at which a relative hook directory may begin.
    pub(super) bases: BTreeSet<PathBuf>,
    /// Hook directories that trusted configurations name, as written.
    pub(super) hooks: BTreeSet<String>,
    items: BTreeMap<(SessionDirectory, PathBuf), Plant>,
    open: Option<String>,
}

/// A file or directory of the session, by its real place.
pub(super) struct Found {
    pub(super) directory: SessionDirectory,
    pub(super) relative: PathBuf,
    pub(super) handle: OwnedFd,
    pub(super) is_directory: bool,
    pub(super) by_link: bool,
}

/// Reports whether a path can lead to files. Most paths of the kernel, such as `/dev/null`, cannot.
fn may_hold_repositories(named: &Path) -> bool {
    let of_kernel = ["/proc", "/dev", "/sys"].iter().any(|own| named.starts_with(own));
    !of_kernel || named.iter().any(|part| ["cwd", "root", "fd"].iter().any(|link| part == *link))
}

/// Converts bytes to a path.
pub(super) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

impl<'a> Search<'a> {
    pub(super) fn new(grounds: &'a Grounds, suspects: &'a Suspects, command: Use<'a>) -> Self {
        Self {
            suspects,
            command,
            grounds,
            queue: VecDeque::new(),
            seen: BTreeSet::new(),
            bases: BTreeSet::new(),
            hooks: BTreeSet::new(),
            items: BTreeMap::new(),
            open: None,
        }
    }

    /// Queues a path for a check, once.
    pub(super) fn add(&mut self, at: PathBuf) -> Result<(), ProtectError> {
        if self.once(&at)? {
            self.queue.push_back(at);
        }
        Ok(())
    }

    /// Queues the paths that the command names. The workspace was scanned already. HOME and `/tmp` are scanned if the
    /// command uses them.
    pub(super) fn add_named(&mut self) -> Result<(), ProtectError> {
        let mut roots = BTreeSet::new();
        for named in self.command.paths {
            if !may_hold_repositories(named) {
                continue;
            }
            let Some(found) = self.find(named)? else { continue };
            if found.directory != SessionDirectory::Workspace {
                let root = Path::new(found.directory.inside());
                self.add(root.join(".git"))?;
                let first = found.relative.iter().next().unwrap_or_default();
                roots.insert(root.join(first));
            }
            self.add(named.clone())?;
        }
        roots.into_iter().try_for_each(|root| self.add_all_in(&root))?;
        for global in [".gitconfig", ".config/git/config"] {
            self.global_config(&Path::new(HOME).join(global))?;
        }
        Ok(())
    }

    fn add_all_in(&mut self, root: &Path) -> Result<(), ProtectError> {
        let Some(found) = self.find(root)?.filter(|found| found.is_directory) else { return Ok(()) };
        let record = scan(&found.handle, Scope::Workspace, &Names::of_git())?;
        repositories(&record, b"").iter().try_for_each(|inner| self.add(root.join(path(inner))))
    }

    /// Queues the repositories inside a repository's own directory, if it was not scanned before.
    pub(super) fn add_parts(&mut self, at: &Path, handle: &OwnedFd) -> Result<(), ProtectError> {
        let record = scan(handle, Scope::Git, &Names::of_git())?;
        repositories(&record, b".git").iter().try_for_each(|inner| self.add(at.join(path(inner))))
    }

    pub(super) fn run(&mut self) -> Result<(), ProtectError> {
        while let Some(at) = self.queue.pop_front() {
            self.repository(&at)?;
        }
        self.named_hooks()
    }

    pub(super) fn found(self) -> Planted {
        let item = |((directory, path), what)| Item { directory, path, what };
        Planted { items: self.items.into_iter().map(item).collect(), open: self.open }
    }

    pub(super) fn rebases(&self) -> bool {
        self.command.rebases
    }

    /// Resolves a path. `None` if it does not exist, or if no command of the session could write there.
    pub(super) fn find(&mut self, at: &Path) -> Result<Option<Found>, ProtectError> {
        let Lead { spot, by_link, by_kernel } =
            match places::follow(&self.grounds.places, &self.grounds.links, at) {
                Ok(lead) => lead,
                Err(error) => {
                    self.cannot_mask(at, &error.to_string());
                    return Ok(None);
                }
            };
        if by_kernel {
            self.cannot_mask(at, "leads through a directory of the kernel");
            return Ok(None);
        }
        let found = spot.and_then(|spot| self.of_session(spot, by_link));
        let is_there = found.as_ref().is_some_and(|found| found.directory == SessionDirectory::Workspace);
        if self.command.outside && by_link && !is_there {
            self.cannot_mask(at, "leads out of the workspace");
        }
        Ok(found)
    }

    /// Resolves a path that a file of a repository contains, absolute or relative.
    pub(super) fn find_pointed(
        &mut self,
        base: &Path,
        written: &Path,
    ) -> Result<Option<PathBuf>, ProtectError> {
        let at = base.join(written);
        let found = self.find(&at)?;
        let stays = found.as_ref().is_some_and(|found| found.directory == SessionDirectory::Workspace);
        if self.command.outside && !stays {
            self.cannot_mask(&at, "leads out of the workspace");
        }
        Ok(found.map(|_| at))
    }

    fn of_session(&self, spot: Spot, by_link: bool) -> Option<Found> {
        let directory = match self.grounds.places.get(spot.place)?.kind {
            Kind::Session(directory) => directory,
            Kind::Root(_) => return None,
        };
        let Spot { relative, handle, is_directory, .. } = spot;
        Some(Found { directory, relative, handle, is_directory, by_link })
    }

    /// Records that git would use a file that no mask can cover.
    pub(super) fn cannot_mask(&mut self, at: &Path, why: &str) {
        let path = shown(at.as_os_str().as_bytes());
        self.open.get_or_insert_with(|| format!("`{path}` {why}"));
    }

    pub(super) fn plant(&mut self, found: &Found, what: Plant) {
        self.items.insert((found.directory, found.relative.clone()), what);
    }

    /// Returns the recorded mark of a path in the workspace.
    pub(super) fn mark(&self, directory: SessionDirectory, relative: &Path) -> Option<&'a Mark> {
        let relative = relative.as_os_str().as_bytes();
        (directory == SessionDirectory::Workspace).then(|| self.suspects.marks.get(relative)).flatten()
    }

    /// Reports whether a path contains no link, or only a link that no command created.
    pub(super) fn is_straight(&self, at: &Path, found: &Found) -> bool {
        let link =
            || at.strip_prefix(WORKSPACE).ok().and_then(|at| self.mark(SessionDirectory::Workspace, at));
        !found.by_link || link().is_some_and(|link| !link.planted)
    }

    /// Reports whether a path is seen for the first time.
    pub(super) fn once(&mut self, at: &Path) -> Result<bool, ProtectError> {
        if self.seen.len() >= REPOSITORIES {
            return Err(ProtectError::TooMany { what: "repositories", limit: REPOSITORIES });
        }
        Ok(self.seen.insert(at.to_owned()))
    }

    /// Reports whether it was last changed before any command could write.
    pub(super) fn is_old(&self, stat: &Stat) -> bool {
        let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX);
        (stat.st_ctime, nanos) < self.suspects.began
    }

    pub(super) fn is_repository(&self, found: &Found) -> bool {
        let relative = found.relative.as_os_str().as_bytes();
        found.directory == SessionDirectory::Workspace && self.suspects.repositories.contains(relative)
    }
}

/// Returns the contents of a regular file. `None` if it has another type, is too long or cannot be read.
pub(super) fn content(found: &Found) -> Option<Vec<u8>> {
    if kind(&fstat(&found.handle).ok()?) != FileType::RegularFile {
        return None;
    }
    // Through the handle, not by name, so that it is the file that was found.
    let name = format!("/proc/self/fd/{}", found.handle.as_fd().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(CWD, name, flags, Mode::empty()).ok()?;
    let mut content = Vec::new();
    let read = File::from(file).take(CONTENT_MAX + 1).read_to_end(&mut content).ok()?;
    (read as u64 <= CONTENT_MAX).then_some(content)
}

/// A planted file, by its real place and not by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The session's directory that contains it.
    pub directory: SessionDirectory,
    /// The path relative to that.
    pub path: PathBuf,
    /// Its kind.
    pub what: Plant,
}

/// The kind of a planted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plant {
    /// A directory of hooks.
    Hooks,
    /// A configuration, with its contents without programs.
    Config(Arc<[u8]>),
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planted {
    /// The items, sorted by directory and path.
    pub items: Vec<Item>,
    /// A file that git would use and that no mask can cover, with the reason, in one line.
    pub open: Option<String>,
}

impl Planted {
    /// Returns the masks that cover the items for a command.
    #[must_use]
    pub fn masks(&self) -> Vec<Mask> {
        let mask = |item: &Item| Mask {
            directory: item.directory,
            path: item.path.clone(),
            kind: match &item.what {
                Plant::Hooks => MaskKind::Empty,
                Plant::Config(rest) => MaskKind::Content(Arc::clone(rest)),
            },
        };
        self.items.iter().map(mask).collect()
    }
}
