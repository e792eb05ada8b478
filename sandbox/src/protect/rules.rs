//! The rules for protected names, a command to which they apply, and the existing names that are read-only in one
//! launch.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::fs::{Dir, OFlags};
use rustix::io::Errno;

use super::directory::{Directory, Need, look, resolve};
use super::error::ProtectError;
use super::git_use::GitUses;
use super::mark::Kind;
use super::names::{Names, is_git, is_within};
use crate::mask::{Mask, MaskKind, SessionDirectory};

/// The consequence if a command creates or changes a protected name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Action {
    /// The change is reported.
    Report,
    /// The change is reported and moved into quarantine.
    #[default]
    Quarantine,
    /// As `Quarantine`, and the command fails.
    Fail,
}

/// A profile's rules for protected names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The consequence of a violation.
    pub action: Action,
    /// Whether `.git` at the workspace's root can be written.
    pub git_writes: bool,
    /// Whether hooks, attributes and settings of an existing repository can be changed.
    pub git_config: bool,
    /// The protected names.
    pub names: Names,
}

impl Default for Rules {
    fn default() -> Self {
        Self { action: Action::default(), git_writes: true, git_config: false, names: Names::default() }
    }
}

/// A command that is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writer {
    /// Its execution ID, for the quarantine.
    pub execution: String,
    /// Whether it can write to the workspace.
    pub writes: bool,
    /// Whether it runs outside the sandbox, where its processes may survive.
    pub outside: bool,
    /// The rules of its profile.
    pub rules: Rules,
    /// Its uses of git, from the decision.
    pub git: GitUses,
    /// The paths that it changes, from the decision, relative to the workspace.
    pub paths: Vec<Vec<u8>>,
    /// Its start directory, relative to the workspace.
    pub directory: Vec<u8>,
}

/// The parts of a repository's own directory that name programs, except its configuration, which git writes.
const OF_GIT: [&str; 2] = ["hooks", "info/attributes"];

/// Returns the masks for a command that could write, in order. Paths that its decision permits to change get no mask.
/// Links get no mask, because their targets are other names. Blocks briefly.
///
/// # Errors
/// If the workspace's root cannot be read.
pub fn masks(workspace: BorrowedFd<'_>, writer: &Writer) -> Result<Vec<Mask>, ProtectError> {
    let Writer { rules, paths, .. } = writer;
    let decided = |name: &[u8]| paths.iter().any(|path| is_within(path, name));
    let failed = || ProtectError::path("read", b".");
    let root = Directory::of(workspace, Need::Look).map_err(failed())?;
    let mut names = at_root(&root, &rules.names).map_err(failed())?;
    names.sort();
    let mut masks = Vec::new();
    for name in names {
        if !is_git(&name) {
            masks.extend((!decided(&name)).then(|| mask(&name)));
        } else if !rules.git_writes {
            masks.push(mask(&name));
        } else if !rules.git_config {
            let of_git = OF_GIT.iter().map(|part| [&name, part.as_bytes()].join(&b'/'));
            let masked = of_git.filter(|path| !decided(path) && is_there(&root, path));
            masks.extend(masked.map(|path| mask(&path)));
        }
    }
    Ok(masks)
}

fn at_root(root: &Directory, names: &Names) -> Result<Vec<Vec<u8>>, Errno> {
    let mut found = Vec::new();
    for entry in Dir::read_from(root)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        // git itself updates this file. A change is detected after the command.
        if !names.contains(name) || name.eq_ignore_ascii_case(b".gitmodules") {
            continue;
        }
        let kind = look(root, name)?.map(|stat| Kind::of(&stat));
        if matches!(kind, Some(Kind::File | Kind::Directory)) {
            found.push(name.to_vec());
        }
    }
    Ok(found)
}

/// Reports whether the path exists and contains no links.
fn is_there(root: &Directory, path: &[u8]) -> bool {
    resolve(root, path, OFlags::PATH | OFlags::CLOEXEC).is_ok()
}

fn mask(path: &[u8]) -> Mask {
    use std::os::unix::ffi::OsStringExt;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
    Mask { directory: SessionDirectory::Workspace, path, kind: MaskKind::ReadOnly }
}
