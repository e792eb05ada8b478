//! The accesses to paths that masks, mounts and Landlock refuse to a command.
//!
//! The kernel reveals no such refusal. A caller that learns of a failed access from the program itself can ask here
//! whether a layer refuses it. Works on names only: must not access a file, and must not follow links. A path through a
//! link of the command may therefore be unknown.

use std::path::{Component, Path, PathBuf};

use airlock_init::wire::{COMMAND_DIRECTORY, Landlock};

use crate::mask::{Mask, MaskKind, SessionDirectory};
use crate::profile::{Profile, Root, RootCover};
use crate::spec::Shape;

/// Files that every process of the command can read, and that only Landlock protects against writing.
const OWN_PROCESS: [&str; 6] = [
    "/proc/self/comm",
    "/proc/self/coredump_filter",
    "/proc/self/mem",
    "/proc/self/oom_score_adj",
    "/proc/self/sched",
    "/proc/self/timerslack_ns",
];
const KERNEL: [&str; 3] = ["/proc", "/dev", "/sys"];

/// The error of a failed access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// EACCES.
    PermissionDenied,
    /// EROFS.
    ReadOnly,
    /// EBUSY: a mount point was to be renamed or removed.
    Busy,
}

/// The origin of a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskOrigin {
    /// The profile's path rules.
    PathRules,
    /// The protected names.
    ProtectedNames,
    /// Programs that commands planted in repositories.
    Planted,
}

/// A refused access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    /// The absolute path inside the sandbox, without `.` and `..`.
    pub path: PathBuf,
    /// The layer: `masks`, `mounts` or `landlock`.
    pub layer: &'static str,
    /// The rule, as a sentence about the path.
    pub rule: &'static str,
}

/// The layer that refuses an access, and its rule.
#[derive(Debug, Clone, Copy)]
struct Reason {
    layer: &'static str,
    rule: &'static str,
}

/// The refusals of one command.
#[derive(Debug)]
pub struct Refusals {
    shape: Shape,
    /// Whether `/var/tmp` is a link to `/tmp`.
    linked_tmp: bool,
    covers: Vec<RootCover>,
    masks: Vec<(MaskOrigin, Mask)>,
    landlock: bool,
}

/// The effect of masks on a path.
#[derive(Debug, Default)]
struct Effect {
    hidden: Option<MaskOrigin>,
    /// The origin, and whether the mask is on the whole directory.
    read_only: Option<(MaskOrigin, bool)>,
    /// The origin of a mask on the path itself.
    mounted: Option<(MaskOrigin, bool)>,
}

impl Refusals {
    /// Returns the refusals of a command that was started with these masks, and with these Landlock restrictions.
    #[must_use]
    pub fn new(profile: &Profile, shape: Shape, masks: Vec<(MaskOrigin, Mask)>, landlock: Landlock) -> Self {
        let linked_tmp = !shape.read_only && profile.root == Root::Binds;
        let mut masks = masks;
        // A deeper mask takes precedence. Of masks with the same path, the last one does.
        masks.sort_by_key(|(_, mask)| mask.path.components().count());
        Self { shape, linked_tmp, covers: profile.covers.clone(), masks, landlock: landlock.files() }
    }

    /// Returns the layer that refuses an access to a path, relative to `directory`, with this error. `None` if no layer
    /// is known to refuse it.
    #[must_use]
    pub fn find(&self, directory: &Path, path: &Path, error: PathError) -> Option<RefusedPath> {
        let path = plain(&directory.join(path))?;
        let path = match path.strip_prefix("/var/tmp") {
            Ok(below) if self.linked_tmp => Path::new("/tmp").join(below),
            Ok(_) => return None,
            Err(_) => path,
        };
        let session = SessionDirectory::ALL
            .into_iter()
            .find_map(|directory| Some((directory, path.strip_prefix(directory.inside()).ok()?)));
        let Reason { layer, rule } = match session {
            Some((directory, below)) => self.in_session(directory, below, error)?,
            None => self.in_root(&path, error)?,
        };
        Some(RefusedPath { path, layer, rule })
    }

    fn in_session(&self, directory: SessionDirectory, path: &Path, error: PathError) -> Option<Reason> {
        let effect = self.effect(directory, path);
        let hidden = effect.hidden.map(hides);
        match error {
            PathError::PermissionDenied => hidden,
            PathError::ReadOnly if self.shape.read_only => Some(mounts("the command is read-only")),
            PathError::ReadOnly => effect.read_only.map(protects).or(hidden),
            PathError::Busy => effect.mounted.map(|(origin, kept)| match kept {
                true => masks("a path rule names a path below it, so it cannot be renamed or removed"),
                false => protects((origin, false)),
            }),
        }
    }

    fn effect(&self, directory: SessionDirectory, path: &Path) -> Effect {
        let mut effect = Effect::default();
        let above = self.masks.iter().filter(|(_, mask)| mask.directory == directory);
        for (origin, mask) in above.filter(|(_, mask)| path.starts_with(&mask.path)) {
            let whole = mask.path.as_os_str().is_empty();
            match mask.kind {
                MaskKind::Hidden => effect.hidden = Some(*origin),
                MaskKind::Shown => effect.hidden = None,
                MaskKind::ReadOnly | MaskKind::Empty | MaskKind::Content(_) => {
                    effect.read_only = Some((*origin, whole));
                }
                MaskKind::Writable => effect.read_only = None,
                MaskKind::Kept => {}
            }
            if mask.path == path && !whole {
                let kept = mask.kind == MaskKind::Kept && effect.mounted.is_none_or(|(_, kept)| kept);
                effect.mounted = Some((*origin, kept));
            }
        }
        effect
    }

    fn in_root(&self, path: &Path, error: PathError) -> Option<Reason> {
        let covering = self.covers.iter().filter(|cover| path.starts_with(cover.path()));
        let innermost = covering.max_by_key(|cover| cover.path().components().count());
        let hidden = innermost.is_some_and(|cover| !matches!(cover, RootCover::Again(_)));
        // The mount of the command's own files is writable.
        let of_landlock =
            path.starts_with(COMMAND_DIRECTORY) || OWN_PROCESS.iter().any(|own| path == Path::new(own));
        match error {
            PathError::PermissionDenied if hidden => Some(hides(MaskOrigin::PathRules)),
            PathError::PermissionDenied if of_landlock && self.landlock => {
                Some(Reason { layer: "landlock", rule: "Landlock does not permit commands to write it" })
            }
            PathError::ReadOnly if path.starts_with("/dev/shm") => None,
            PathError::ReadOnly if KERNEL.iter().any(|kernel| path.starts_with(kernel)) => {
                Some(mounts("the kernel's files are mounted read-only"))
            }
            PathError::ReadOnly => {
                Some(mounts("it is outside the session's directories, which is mounted read-only"))
            }
            PathError::PermissionDenied | PathError::Busy => None,
        }
    }
}

fn masks(rule: &'static str) -> Reason {
    Reason { layer: "masks", rule }
}

fn mounts(rule: &'static str) -> Reason {
    Reason { layer: "mounts", rule }
}

fn hides(origin: MaskOrigin) -> Reason {
    masks(match origin {
        MaskOrigin::PathRules => "the profile's `deny_read` hides it",
        MaskOrigin::ProtectedNames => "it is a protected name",
        MaskOrigin::Planted => "it can run a program that a command planted in a repository",
    })
}

fn protects((origin, whole): (MaskOrigin, bool)) -> Reason {
    masks(match origin {
        MaskOrigin::PathRules if whole => "the profile's `allow_write` does not contain it",
        MaskOrigin::PathRules => "a path rule of the profile protects it",
        MaskOrigin::ProtectedNames => "it is a protected name",
        MaskOrigin::Planted => "it can run a program that a command planted in a repository",
    })
}

/// Resolves `.` and `..` by name. `None` if the path is not absolute.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => plain.push(part),
        }
    }
    plain.is_absolute().then_some(plain)
}

#[cfg(test)]
mod tests;
