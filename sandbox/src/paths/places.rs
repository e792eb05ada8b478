//! Finds the file that a path inside the sandbox refers to: in one of the session's directories, or in a bind of the
//! host. Links are followed as inside the sandbox.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

use super::error::{MAX_LINKS, PathRuleError};
use crate::layout::OWN_FILES;
use crate::mask::SessionDirectory;
use crate::profile::{Profile, Root};
use crate::session::SessionDirectories;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// A directory or file that is mounted in the sandbox.
#[derive(Debug)]
pub(crate) struct MountedPath {
    /// The path inside the sandbox.
    pub(super) target: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) handle: OwnedFd,
    pub(super) is_directory: bool,
    /// The paths below it at which something else is mounted.
    pub(super) holes: Vec<PathBuf>,
}

impl MountedPath {
    fn new(target: &Path, kind: Kind, handle: OwnedFd) -> Result<Self, PathRuleError> {
        let is_directory = is_directory(&handle).map_err(look(target))?;
        Ok(Self { target: target.to_owned(), kind, handle, is_directory, holes: Vec::new() })
    }
}

#[derive(Debug)]
pub(crate) enum Kind {
    Session(SessionDirectory),
    /// A path of the host.
    Root(PathBuf),
}

/// An open file or directory. Its path contains no links.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The index of the mounted path that contains it.
    pub(crate) place: usize,
    /// The path relative to the mounted path.
    pub(crate) relative: PathBuf,
    pub(crate) handle: OwnedFd,
    pub(crate) is_directory: bool,
}

/// Opens all mounted paths. A missing host path is skipped, because bubblewrap reports it.
pub(crate) fn open(
    directories: &SessionDirectories,
    profile: &Profile,
) -> Result<Vec<MountedPath>, PathRuleError> {
    let mut places = Vec::new();
    for directory in SessionDirectory::ALL {
        let (source, target) = (directories.of(directory), Path::new(directory.inside()));
        let handle = openat(CWD, source, HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
            .map_err(look(target))?;
        places.push(MountedPath::new(target, Kind::Session(directory), handle)?);
    }
    let mut of_host = |source: &Path, target: &Path| {
        let Ok(handle) = openat(CWD, source, HANDLE, Mode::empty()) else { return Ok(()) };
        places.push(MountedPath::new(target, Kind::Root(source.to_owned()), handle)?);
        Ok(())
    };
    if let Root::Directory(directory) = &profile.root {
        of_host(directory, Path::new("/"))?;
    }
    for bind in &profile.binds {
        of_host(&bind.source, &bind.target)?;
    }
    for socket in &profile.sockets.allowed_unix {
        of_host(socket, socket)?;
    }
    holes(&mut places);
    Ok(places)
}

/// Returns the links of the root that are in no mounted path.
pub(crate) fn root_links(profile: &Profile) -> Vec<(PathBuf, PathBuf)> {
    let own = profile.symlinks.iter().map(|link| (link.link.clone(), link.target.clone()));
    own.chain([(PathBuf::from("/var/tmp"), PathBuf::from("../tmp"))]).collect()
}

/// Sets, for each mounted path, the paths below it that other mounts hide.
fn holes(places: &mut [MountedPath]) {
    let own = OWN_FILES.iter().chain(&["/proc", "/dev", "/run/airlock", "/var/tmp"]).map(PathBuf::from);
    let mounted: Vec<PathBuf> = places.iter().map(|place| place.target.clone()).chain(own).collect();
    for place in places {
        let below = mounted.iter().filter_map(|path| path.strip_prefix(&place.target).ok());
        place.holes = below.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned).collect();
    }
}

pub(super) fn look(path: &Path) -> impl Fn(Errno) -> PathRuleError {
    move |errno| PathRuleError::Look { path: path.to_owned(), source: errno.into() }
}

fn is_directory(handle: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(fstat(handle)?.st_mode) == FileType::Directory)
}

/// Resolves a path. `None` if it does not exist.
pub(super) fn resolve(
    places: &[MountedPath],
    root_links: &[(PathBuf, PathBuf)],
    path: &Path,
) -> Result<Option<Spot>, PathRuleError> {
    Ok(follow(places, root_links, path)?.spot)
}

/// The target of a path.
#[derive(Debug)]
pub(crate) struct Lead {
    /// The target, if it exists.
    pub(crate) spot: Option<Spot>,
    /// Whether the path leads through a link.
    pub(crate) by_link: bool,
    /// Whether the path leads through a directory of the kernel. Links in it can lead anywhere.
    pub(crate) by_kernel: bool,
}

/// Like [`resolve`], with information about the path.
pub(crate) fn follow(
    places: &[MountedPath],
    root_links: &[(PathBuf, PathBuf)],
    path: &Path,
) -> Result<Lead, PathRuleError> {
    let mut done = PathBuf::from("/");
    let mut spot = None;
    let (mut links, mut by_kernel) = (0, false);
    let mut left: VecDeque<OsString> = path.iter().map(OsString::from).collect();
    while let Some(part) = left.pop_front() {
        let link = match part.as_bytes() {
            b"/" | b"." => continue,
            b".." => {
                done.pop();
                spot = at(places, &done).map_err(look(&done))?.map(|(spot, _)| spot);
                continue;
            }
            _ => {
                let next = done.join(&part);
                by_kernel |= ["/proc", "/dev", "/sys"].iter().any(|own| next == Path::new(own));
                let of_root = root_links.iter().find(|(link, _)| *link == next);
                match (of_root, at(places, &next).map_err(look(&next))?) {
                    (Some((_, target)), _) => Some(target.clone()),
                    (None, Some((_, Some(target)))) => Some(target),
                    (None, found) => {
                        spot = found.map(|(spot, _)| spot);
                        done = next;
                        None
                    }
                }
            }
        };
        let Some(target) = link else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(PathRuleError::Links { path: path.to_owned() });
        }
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        for part in target.iter().rev() {
            left.push_front(part.to_owned());
        }
    }
    Ok(Lead { spot, by_link: links > 0, by_kernel })
}

/// Opens a path that contains no links, and reads its target if it is a link itself.
fn at(places: &[MountedPath], path: &Path) -> Result<Option<(Spot, Option<PathBuf>)>, Errno> {
    let covering = places.iter().enumerate().filter(|(_, place)| path.starts_with(&place.target));
    let Some((number, place)) = covering.max_by_key(|(_, place)| place.target.as_os_str().len()) else {
        return Ok(None);
    };
    let relative = path.strip_prefix(&place.target).unwrap_or(path).to_owned();
    if relative.as_os_str().is_empty() {
        let handle = place.handle.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
        let spot = Spot { place: number, relative, handle, is_directory: place.is_directory };
        return Ok(Some((spot, None)));
    }
    let flags = HANDLE | OFlags::NOFOLLOW;
    let handle = match openat2(&place.handle, &relative, flags, Mode::empty(), BENEATH) {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let kind = FileType::from_raw_mode(fstat(&handle)?.st_mode);
    let target = match kind {
        FileType::Symlink => {
            let target = readlinkat(&handle, "", Vec::new())?;
            Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
        }
        _ => None,
    };
    let is_directory = kind == FileType::Directory;
    Ok(Some((Spot { place: number, relative, handle, is_directory }, target)))
}
