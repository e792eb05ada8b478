//! Scans a workspace for protected names and for directories that look like repositories, without any filter.
//!
//! Makes no changes. Depth, entries and found names are bounded. An exceeded bound is an error, never an incomplete
//! result.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use rustix::fs::{Dir, FileType};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::directory::{Directory, Need, identity, kind, look};
use super::error::{ProtectError, shown};
use super::mark::{Kind, Mark};
use super::names::{Names, is_git, join};
use super::scrub::Shape;

/// The maximum nesting of directories.
pub(super) const DEPTH: usize = 200;
/// The maximum number of names in the whole workspace.
const ENTRIES: usize = 8 << 20;
/// The maximum number of protected names, including the contents of protected directories.
const MARKS: usize = 100_000;
/// The maximum number of directories with a name that repositories have.
const SHAPES: usize = 200_000;

/// The result of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// By path relative to the workspace.
    pub(super) marks: BTreeMap<Vec<u8>, Mark>,
    /// Directories with a name that repositories have.
    pub(super) shapes: BTreeMap<Vec<u8>, Shape>,
}

/// The part of a directory that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Protected names.
    Plain,
    /// All contents.
    Protected,
    /// A repository's own directory: the files that name programs.
    Git,
    /// The parent of submodules' directories, at any depth.
    Modules,
    /// The parent of worktrees' directories.
    Worktrees,
    /// `info` of a repository.
    Info,
    /// HOME itself. Subdirectories contain caches, tools and files of packages.
    Home,
    /// `.config` of HOME.
    Config,
    /// `.config/git` of HOME.
    ConfigGit,
    /// `.ssh` of HOME.
    Ssh,
}

/// The kind of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// A workspace, at any depth.
    Workspace,
    /// HOME: its own names, and files below it that programs obey.
    Home,
    /// A repository's own directory.
    Git,
}

struct Level {
    directory: Directory,
    entries: Dir,
    identity: u64,
    path: Vec<u8>,
    context: Context,
    shape: Shape,
}

struct Scan<'a> {
    names: &'a Names,
    record: Record,
    levels: Vec<Level>,
    entries: usize,
}

/// Scans a session's directory. Blocks until done.
pub(super) fn scan(directory: impl AsFd, scope: Scope, names: &Names) -> Result<Record, ProtectError> {
    let root = Directory::of(directory, Need::Look).map_err(ProtectError::path("open", b"."))?;
    let context = match scope {
        Scope::Workspace => Context::Plain,
        Scope::Home => Context::Home,
        Scope::Git => Context::Git,
    };
    let mut scan = Scan { names, record: Record::default(), levels: Vec::new(), entries: 0 };
    scan.enter(root, Vec::new(), context)?;
    while let Some(level) = scan.levels.last_mut() {
        match level.entries.next() {
            // The directory was removed during the scan.
            None | Some(Err(Errno::NOENT)) => scan.leave()?,
            Some(Err(errno)) => return Err(ProtectError::path("read", &level.path)(errno)),
            Some(Ok(entry)) => {
                let name = entry.file_name().to_bytes();
                if !matches!(name, b"." | b"..") {
                    scan.entry(name, entry.file_type())?;
                }
            }
        }
    }
    Ok(scan.record)
}

impl Scan<'_> {
    fn enter(&mut self, directory: Directory, path: Vec<u8>, context: Context) -> Result<(), ProtectError> {
        if self.levels.len() > DEPTH {
            return Err(ProtectError::TooDeep { path: shown(&path), limit: DEPTH });
        }
        // A directory below `modules` with a `HEAD` is a submodule itself.
        let is_module = context == Context::Modules && matches!(look(&directory, b"HEAD"), Ok(Some(_)));
        let context = if is_module { Context::Git } else { context };
        let entries = Dir::read_from(&directory).map_err(ProtectError::path("read", &path))?;
        let identity = identity(&directory, b"").map_err(ProtectError::path("look at", &path))?;
        self.levels.push(Level { directory, entries, identity, path, context, shape: Shape::default() });
        Ok(())
    }

    fn leave(&mut self) -> Result<(), ProtectError> {
        let Some(level) = self.levels.pop() else { return Ok(()) };
        if level.shape != Shape::default() {
            if self.record.shapes.len() >= SHAPES {
                return Err(ProtectError::TooMany {
                    what: "directories with names of repositories",
                    limit: SHAPES,
                });
            }
            self.record.shapes.insert(level.path, level.shape);
        }
        Ok(())
    }

    fn entry(&mut self, name: &[u8], said: FileType) -> Result<(), ProtectError> {
        self.entries += 1;
        if self.entries > ENTRIES {
            return Err(ProtectError::TooMany { what: "files", limit: ENTRIES });
        }
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let outside_of_git = matches!(level.context, Context::Plain | Context::Protected);
        if outside_of_git {
            level.shape.add(name);
        }
        let (mut watched, below) = watch(level.context, name, self.names);
        if !watched {
            if below.is_none() {
                return Ok(());
            }
            let is_directory = is_directory(level, name, said)?;
            // A link in place of a directory leads to other files that programs obey.
            watched = !is_directory && matches!(level.context, Context::Home | Context::Config);
            if !is_directory && !watched {
                return Ok(());
            }
        }
        let path = join(&level.path, name);
        if watched && !self.mark(name, &path)? {
            return Ok(());
        }
        let Some((below, level)) = below.zip(self.levels.last()) else { return Ok(()) };
        let opened =
            Directory::open(&level.directory, name, Need::Look).map_err(ProtectError::path("open", &path))?;
        match opened {
            Some(directory) => self.enter(directory, path, below),
            None => Ok(()),
        }
    }

    /// Records an entry. Returns true if it has entries below it.
    fn mark(&mut self, name: &[u8], path: &[u8]) -> Result<bool, ProtectError> {
        let Some(level) = self.levels.last() else { return Ok(false) };
        let is_config = match level.context {
            Context::Git => matches!(name, b"config" | b"config.worktree"),
            // Names and addresses are set there routinely.
            Context::Home => name == b".gitconfig",
            Context::ConfigGit => name == b"config",
            _ => false,
        };
        let mark = Mark::of(&level.directory, name, level.identity, is_config)
            .map_err(ProtectError::path("look at", path))?;
        let Some(mark) = mark else { return Ok(false) };
        if self.record.marks.len() >= MARKS {
            return Err(ProtectError::TooMany { what: "protected names", limit: MARKS });
        }
        let is_directory = mark.kind == Kind::Directory;
        self.record.marks.insert(path.to_vec(), mark);
        Ok(is_directory)
    }
}

/// Returns whether a name is watched, and the context for its contents if it is a scanned directory.
fn watch(context: Context, name: &[u8], names: &Names) -> (bool, Option<Context>) {
    match context {
        Context::Plain | Context::Protected | Context::Home if is_git(name) => (true, Some(Context::Git)),
        Context::Plain | Context::Home if names.contains(name) => (true, Some(Context::Protected)),
        Context::Plain => (false, Some(Context::Plain)),
        Context::Home => match name {
            b".config" => (false, Some(Context::Config)),
            b".ssh" => (false, Some(Context::Ssh)),
            name => (Names::is_of_home(name), None),
        },
        Context::Config => (false, (name == b"git").then_some(Context::ConfigGit)),
        Context::ConfigGit => (matches!(name, b"config" | b"attributes"), None),
        // ssh records visited hosts there routinely.
        Context::Ssh if matches!(name, b"known_hosts" | b"known_hosts.old") => (false, None),
        Context::Ssh => (true, Some(Context::Protected)),
        Context::Protected => (true, Some(Context::Protected)),
        Context::Git => match name {
            b"hooks" => (true, Some(Context::Protected)),
            b"config" | b"config.worktree" | b"commondir" | b"gitdir" => (true, None),
            b"info" => (false, Some(Context::Info)),
            b"modules" => (false, Some(Context::Modules)),
            b"worktrees" => (false, Some(Context::Worktrees)),
            _ => (false, None),
        },
        Context::Modules => (false, Some(Context::Modules)),
        Context::Worktrees => (false, Some(Context::Git)),
        Context::Info => (name == b"attributes", None),
    }
}

/// Reports whether a scan of HOME can record this path or one of its parents.
pub(super) fn is_of_home(path: &[u8], names: &Names) -> bool {
    let mut context = Context::Home;
    for name in path.split(|byte| *byte == b'/') {
        match watch(context, name, names) {
            (true, _) => return true,
            (false, Some(below)) => context = below,
            (false, None) => return false,
        }
    }
    // A scanned directory: a link in its place is watched.
    true
}

fn is_directory(level: &Level, name: &[u8], said: FileType) -> Result<bool, ProtectError> {
    match said {
        // Some file systems do not report the type.
        FileType::Unknown => {
            let stat = look(&level.directory, name).map_err(ProtectError::path("look at", &level.path))?;
            Ok(stat.is_some_and(|stat| kind(&stat) == FileType::Directory))
        }
        said => Ok(said == FileType::Directory),
    }
}
