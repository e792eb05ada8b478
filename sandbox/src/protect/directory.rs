//! An open directory of the workspace, whatever its mode.
//!
//! Hostile commands can change the surrounding directories in the meantime. Names are therefore resolved one by one,
//! through handles, and no link or mount is followed. If the owner lacks permissions on the directory, they are added,
//! and the original mode is restored on drop.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags, chmod, fchmod, fstat, openat,
    openat2, statat, statx,
};
use rustix::io::Errno;

/// The number of attempts for a resolution that a rename disturbs.
const TRIES: usize = 64;
const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The permissions of the owner that a use of a directory needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// To read the directory and its entries.
    Look,
    /// To move an entry out of it or into it, or to move the directory itself.
    Change,
}

impl Need {
    fn bits(self) -> u32 {
        match self {
            Self::Look => 0o500,
            Self::Change => 0o700,
        }
    }
}

/// The open directory.
#[derive(Debug)]
pub(super) struct Directory {
    handle: OwnedFd,
    /// The original mode and the current one, if they differ.
    mode: Option<(u32, u32)>,
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Some((before, now)) = self.mode
            && fstat(&self.handle).is_ok_and(|stat| permissions(&stat) == now)
        {
            // If it was removed, or its owner changed the mode, nothing needs to be restored.
            let _ = fchmod(&self.handle, Mode::from_raw_mode(before));
        }
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Directory {
    /// Opens the directory `name` in another one. `None` if it is not a directory or does not exist.
    pub(super) fn open(parent: impl AsFd, name: &[u8], need: Need) -> Result<Option<Self>, Errno> {
        let gone = |errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Ok(None),
            errno => Err(errno),
        };
        if need == Need::Look {
            // Most directories are readable already.
            match resolve(&parent, name, OPEN | OFlags::NOFOLLOW) {
                Ok(handle) if permissions(&fstat(&handle)?) & need.bits() == need.bits() => {
                    return Ok(Some(Self { handle, mode: None }));
                }
                Ok(_) | Err(Errno::ACCESS) => {}
                Err(errno) => return gone(errno),
            }
        }
        let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match resolve(parent, name, path) {
            Ok(seen) => Self::of(&seen, need).map(Some),
            Err(errno) => gone(errno),
        }
    }

    /// Opens a directory from a handle that cannot be read.
    pub(super) fn of(seen: impl AsFd, need: Need) -> Result<Self, Errno> {
        // Through the handle, not by name, so that it is the directory that was checked.
        let name = format!("/proc/self/fd/{}", seen.as_fd().as_raw_fd());
        let before = permissions(&fstat(&seen)?);
        let now = before | need.bits();
        if before != now {
            chmod(&name, Mode::from_raw_mode(now))?;
        }
        let opened = openat(CWD, &name, OPEN, Mode::empty());
        match opened {
            Ok(handle) => Ok(Self { handle, mode: (before != now).then_some((before, now)) }),
            Err(errno) => {
                if before != now {
                    let _ = chmod(&name, Mode::from_raw_mode(before));
                }
                Err(errno)
            }
        }
    }
}

/// Opens a path of directories below a root. All stay open, so that each keeps the permissions that the next one needs.
/// `None` if one is not a directory or does not exist.
pub(super) fn descend(root: impl AsFd, path: &[u8], need: Need) -> Result<Option<Vec<Directory>>, Errno> {
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    let mut open = Vec::with_capacity(names.len() + 1);
    open.push(Directory::of(root, if names.is_empty() { need } else { Need::Look })?);
    for (at, name) in names.iter().enumerate() {
        let Some(parent) = open.last() else { return Ok(None) };
        let need = if at + 1 == names.len() { need } else { Need::Look };
        match Directory::open(parent, name, need)? {
            Some(next) => open.push(next),
            None => return Ok(None),
        }
    }
    Ok(Some(open))
}

/// Opens a name in a directory in one step that leaves neither the directory nor the file system.
pub(super) fn resolve(parent: impl AsFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let how = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV
        | if flags.contains(OFlags::NOFOLLOW) { ResolveFlags::empty() } else { ResolveFlags::NO_SYMLINKS };
    for _ in 0..TRIES {
        match openat2(parent.as_fd(), name, flags, Mode::empty(), how) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Returns the attributes of an entry, or `None` if it does not exist.
pub(super) fn look(directory: impl AsFd, name: &[u8]) -> Result<Option<Stat>, Errno> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns a value that distinguishes a file from all others, including former ones. A free inode number can be
/// reused, so the time of birth is included. If the file system does not report it, the value is the inode number
/// alone.
pub(super) fn identity(at: impl AsFd, name: &[u8]) -> Result<u64, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let seen = statx(at, name, flags, StatxFlags::INO | StatxFlags::BTIME)?;
    let born = if seen.stx_mask & StatxFlags::BTIME.bits() == 0 {
        0
    } else {
        seen.stx_btime.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000) + u64::from(seen.stx_btime.tv_nsec)
    };
    Ok(seen.stx_ino.rotate_left(32) ^ born)
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(super) fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}
