//! The parts of the host that the launch step makes reachable for one launch, and the profile adapted to them.
//!
//! Reads modes of directories and types of files, and opens no file. Must not widen a profile: it changes the sources
//! of mounts, not the visible paths.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use airlock_init::wire::{INSIDE, Point, PointKind, STAGE, STAGED_ROOT, Shared, SharedKind, StagedRoot};

use crate::error::LaunchError;
use crate::layout::{HOME, OWN_DIRECTORIES, OWN_FILES, WORKSPACE, staged_socket};
use crate::profile::{Bind, Profile, Root, RootCover, joined};

/// The maximum number of host sockets that one profile shows.
pub const MAX_SOCKETS: usize = 64;

/// The execute bit for others. A session's user is neither the owner nor in the group of a directory without this
/// bit, so it cannot enter the directory.
const PASSABLE: u32 = 0o001;

/// The result: the adapted profile and the mounts of the launch step.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The profile with sources that bubblewrap can reach.
    pub(crate) profile: Profile,
    pub(crate) shared: Vec<Shared>,
    pub(crate) root: Option<StagedRoot>,
}

impl Reach {
    /// Computes the result. `other_user` states whether bubblewrap runs as another user than this process.
    pub(crate) fn of(profile: &Profile, other_user: bool, read_only: bool) -> Result<Self, LaunchError> {
        let sockets = &profile.sockets.allowed_unix;
        if sockets.len() > MAX_SOCKETS {
            let cause = format!("the profile lists {} sockets, the limit is {MAX_SOCKETS}", sockets.len());
            return Err(LaunchError::Invalid { cause });
        }
        if let Some(socket) = sockets.iter().find(|socket| !can_be_shown(socket)) {
            let cause = format!(
                "the socket `{}` cannot be mounted: its path belongs to the session or to Airlock",
                socket.display()
            );
            return Err(LaunchError::Invalid { cause });
        }
        let mut reach = Self { profile: profile.clone(), shared: Vec::new(), root: None };
        if other_user {
            reach.binds();
        }
        for (number, socket) in sockets.iter().enumerate() {
            reach.share(socket, staged_socket(number), SharedKind::Socket);
        }
        if let Root::Directory(directory) = &profile.root {
            reach.root = Some(StagedRoot {
                source: directory.as_os_str().as_bytes().to_vec(),
                points: points(profile, read_only),
            });
            reach.again(Path::new("/"), &Path::new(STAGE).join(STAGED_ROOT));
        }
        Ok(reach)
    }

    /// Lets the launch step mount binds below directories that not every user can enter.
    fn binds(&mut self) {
        let mut passable = BTreeSet::new();
        for number in 0..self.profile.binds.len() {
            let Some(bind) = self.profile.binds.get(number).cloned() else { continue };
            if is_reached(&bind.source, &mut passable) {
                continue;
            }
            let name = format!("bind-{number}");
            let staged = Path::new(STAGE).join(&name);
            self.share(&bind.source, name, SharedKind::Bind);
            self.again(&bind.target, &staged);
            if let Some(known) = self.profile.binds.get_mut(number) {
                known.source = staged;
            }
        }
    }

    /// Adapts the sources of paths that path rules show again below `target`.
    fn again(&mut self, target: &Path, staged: &Path) {
        let binds = self.profile.binds.clone();
        for cover in &mut self.profile.covers {
            let RootCover::Again(again) = cover else { continue };
            if innermost(&binds, &again.target) != Some(target).filter(|path| path.parent().is_some()) {
                continue;
            }
            if let Ok(below) = again.target.strip_prefix(target) {
                again.source = joined(staged, below);
            }
        }
    }

    fn share(&mut self, source: &Path, name: String, kind: SharedKind) {
        self.shared.push(Shared { source: source.as_os_str().as_bytes().to_vec(), name, kind });
    }
}

/// Reports whether a host socket can be shown at its own path: the path must not be one that every sandbox uses.
#[must_use]
pub fn can_be_shown(socket: &Path) -> bool {
    let own = ["/proc", "/dev", "/sys", INSIDE, WORKSPACE, HOME, "/tmp", "/var/tmp"];
    let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    socket.is_absolute()
        && socket.parent().is_some()
        && socket.components().all(plain)
        && !own.iter().any(|own| socket.starts_with(own))
}

/// Returns the target of the bind that shows a path in the sandbox.
fn innermost<'a>(binds: &'a [Bind], path: &Path) -> Option<&'a Path> {
    let around = binds.iter().filter(|bind| path.starts_with(&bind.target));
    around.map(|bind| bind.target.as_path()).max_by_key(|target| target.as_os_str().len())
}

fn is_reached(source: &Path, passable: &mut BTreeSet<PathBuf>) -> bool {
    source.ancestors().skip(1).all(|directory| {
        // bubblewrap reports a missing directory.
        let open =
            || fs::metadata(directory).map_or(true, |found| found.permissions().mode() & PASSABLE != 0);
        passable.contains(directory) || open() && passable.insert(directory.to_owned())
    })
}

/// Returns the mount points inside a root file system: all paths that are mounted over it.
fn points(profile: &Profile, read_only: bool) -> Vec<Point> {
    let point = |path: &Path, kind| {
        let path = path.strip_prefix("/").unwrap_or(path);
        Point { path: path.as_os_str().as_bytes().to_vec(), kind }
    };
    let mut points: Vec<_> =
        OWN_DIRECTORIES.iter().map(|path| point(Path::new(path), PointKind::Directory)).collect();
    points.extend(OWN_FILES.iter().map(|path| point(Path::new(path), PointKind::File)));
    let var_tmp = if read_only { PointKind::Directory } else { PointKind::Link(b"../tmp".to_vec()) };
    points.push(point(Path::new("/var/tmp"), var_tmp));
    for bind in &profile.binds {
        let is_file = fs::metadata(&bind.source).is_ok_and(|found| !found.is_dir());
        points.push(point(&bind.target, if is_file { PointKind::File } else { PointKind::Directory }));
    }
    points.extend(profile.sockets.allowed_unix.iter().map(|socket| point(socket, PointKind::File)));
    let link = |target: &OsStr| PointKind::Link(target.as_bytes().to_vec());
    points.extend(profile.symlinks.iter().map(|made| point(&made.link, link(made.target.as_os_str()))));
    points
}
