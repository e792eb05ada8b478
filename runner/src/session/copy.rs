//! Copies a base directory into a new workspace, through directory handles only.
//!
//! Copies directories, regular files and links (as links), with their times and with their modes except setuid, setgid
//! and sticky. Other file types are skipped. The number of bytes, entries and levels is bounded. The session's user
//! becomes the owner of copied files, and they are recorded before a command can access them.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_archive::join;
use rustix::{
    fs::{
        AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chownat, copy_file_range,
        fchmod, fchown, fstat, futimens, ioctl_ficlone, mkdirat, openat, readlinkat, statat, symlinkat,
    },
    io::Errno,
};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::files::{BaselineLimits, Content, Record, RecordKind, Recorder, Stamp};

/// The maximum nesting of directories.
const MAX_DEPTH: usize = 200;
/// The number of bytes copied at once, so that a cancellation takes effect soon.
const STEP: usize = 8 << 20;
/// The size above which the kernel copies a file and only its stamp is recorded.
const HASHED_BYTES: u64 = 4 << 20;
/// The buffer size for a file that is hashed.
const BUFFER: usize = 128 << 10;

/// The limits of one copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyLimits {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    /// The limits of recorded contents.
    pub(crate) baseline: BaselineLimits,
}

/// The reason why a base was not copied. The files copied until then remain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("it has more than {0} bytes; raise the runner's `limits.base_bytes`, or use a smaller directory")]
    Bytes(u64),
    #[error(
        "it has more than {0} files and directories; raise the runner's `limits.base_entries`, or use a \
         smaller directory"
    )]
    Entries(u64),
    #[error("it is nested deeper than {MAX_DEPTH} directories; use a flatter one")]
    Depth,
    #[error("the copy was cancelled")]
    Cancelled,
    #[error("cannot {action}: {source}")]
    Io { action: &'static str, source: io::Error },
}

fn failed(action: &'static str) -> impl FnOnce(Errno) -> CopyError {
    move |errno| CopyError::Io { action, source: errno.into() }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

struct Level {
    source: Dir,
    target: OwnedFd,
    /// The path relative to the workspace's root.
    path: Vec<u8>,
    /// The attributes that the target gets after its contents are complete.
    stat: Stat,
}

struct Copier<'a> {
    limits: CopyLimits,
    left: CopyLimits,
    owner: Option<(Uid, Gid)>,
    records: &'a mut Recorder,
    cancelled: &'a CancellationToken,
    buffer: Vec<u8>,
}

/// Copies the contents of `source` into `target`, and gives them to `owner`. Blocks. Checks `cancelled` often.
pub(crate) fn copy_tree(
    source: BorrowedFd<'_>,
    target: OwnedFd,
    owner: Option<(u32, u32)>,
    limits: CopyLimits,
    records: &mut Recorder,
    cancelled: &CancellationToken,
) -> Result<(), CopyError> {
    let owner = owner.map(|(uid, gid)| (Uid::from_raw(uid), Gid::from_raw(gid)));
    let buffer = vec![0; BUFFER];
    let mut copier = Copier { limits, left: limits, owner, records, cancelled, buffer };
    let stat = fstat(&target).map_err(failed("inspect the workspace"))?;
    let source = Dir::read_from(source).map_err(failed("read the base"))?;
    let mut levels = vec![Level { source, target, path: Vec::new(), stat }];
    while let Some(level) = levels.last_mut() {
        let Some(entry) = level.source.next() else {
            if let Some(done) = levels.pop().filter(|_| !levels.is_empty()) {
                copier.dress(done.target.as_fd(), &done.stat)?;
                copier.record(done.path, RecordKind::Directory, &done.stat, None)?;
            }
            continue;
        };
        let entry = entry.map_err(failed("read the base"))?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let below = copier.entry(level, entry.file_name())?;
        if levels.len() >= MAX_DEPTH && below.is_some() {
            return Err(CopyError::Depth);
        }
        levels.extend(below);
    }
    Ok(())
}

impl Copier<'_> {
    fn entry(&mut self, level: &Level, name: &CStr) -> Result<Option<Level>, CopyError> {
        if self.cancelled.is_cancelled() {
            return Err(CopyError::Cancelled);
        }
        self.left.entries =
            self.left.entries.checked_sub(1).ok_or(CopyError::Entries(self.limits.entries))?;
        let from = level.source.fd().map_err(failed("read the base"))?;
        let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed("inspect a base's file"))?;
        let path = join(&level.path, name.to_bytes());
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                mkdirat(&level.target, name, Mode::RWXU).map_err(failed("create a directory"))?;
                let target = openat(&level.target, name, DIRECTORY, Mode::empty())
                    .map_err(failed("open a new directory"))?;
                let source = openat(from, name, DIRECTORY, Mode::empty())
                    .map_err(failed("open a base's directory"))?;
                let source = Dir::new(source).map_err(failed("read the base"))?;
                return Ok(Some(Level { source, target, path, stat }));
            }
            FileType::Symlink => {
                let text = readlinkat(from, name, Vec::new()).map_err(failed("read a link"))?;
                symlinkat(text.as_c_str(), &level.target, name).map_err(failed("create a link"))?;
                if let Some((uid, gid)) = self.owner {
                    let how = AtFlags::SYMLINK_NOFOLLOW;
                    chownat(&level.target, name, Some(uid), Some(gid), how)
                        .map_err(failed("change the owner of a link"))?;
                }
                self.record(path, RecordKind::Link(text.into_bytes()), &stat, None)?;
            }
            FileType::RegularFile => self.file(from, level.target.as_fd(), name, path)?,
            _ => {}
        }
        Ok(None)
    }

    fn file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &CStr,
        path: Vec<u8>,
    ) -> Result<(), CopyError> {
        let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source = openat(from, name, read, Mode::empty()).map_err(failed("open a base's file"))?;
        let stat = fstat(&source).map_err(failed("inspect a base's file"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let over = || CopyError::Bytes(self.limits.bytes);
        self.left.bytes = self.left.bytes.checked_sub(size).ok_or_else(over)?;
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = openat(to, name, create, Mode::RUSR | Mode::WUSR).map_err(failed("create a file"))?;
        let (sha256, kept) = if size <= HASHED_BYTES {
            let (sha256, kept) = self.hashed_copy(&source, &target, size)?;
            (Some(sha256), kept)
        } else {
            self.kernel_copy(&source, &target, size)?;
            (None, None)
        };
        self.dress(target.as_fd(), &stat)?;
        let made = fstat(&target).map_err(failed("inspect a new file"))?;
        let size = u64::try_from(made.st_size).unwrap_or(0);
        let stamp = Some(Stamp::of(&made));
        let kind = RecordKind::File { size, sha256, stamp, content: Content::NotKept };
        self.record(path, kind, &made, kept)
    }

    /// Copies at most `size` bytes, even if the file grows meanwhile. Records the contents if they can be kept.
    fn hashed_copy(
        &mut self,
        source: &OwnedFd,
        target: &OwnedFd,
        size: u64,
    ) -> Result<([u8; 32], Option<Vec<u8>>), CopyError> {
        let mut hash = Sha256::new();
        let mut kept = self.records.may_keep(size).then(Vec::new);
        let mut left = size;
        while left > 0 {
            if self.cancelled.is_cancelled() {
                return Err(CopyError::Cancelled);
            }
            let most = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
            let buffer = self.buffer.get_mut(..most).unwrap_or_default();
            let got = match rustix::io::read(source, buffer) {
                Err(Errno::INTR) => continue,
                other => other.map_err(failed("read a base's file"))?,
            };
            if got == 0 {
                break;
            }
            let bytes = self.buffer.get(..got).unwrap_or_default();
            write_all(target, bytes)?;
            hash.update(bytes);
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(bytes);
            }
            left = left.saturating_sub(got as u64);
        }
        Ok((hash.finalize().into(), kept))
    }

    /// Copies at most `size` bytes, even if the file grows meanwhile.
    fn kernel_copy(&mut self, source: &OwnedFd, target: &OwnedFd, size: u64) -> Result<(), CopyError> {
        if ioctl_ficlone(target, source).is_ok() {
            return Ok(());
        }
        let mut left = size;
        while left > 0 {
            if self.cancelled.is_cancelled() {
                return Err(CopyError::Cancelled);
            }
            let step = usize::try_from(left).unwrap_or(STEP).min(STEP);
            let copied = match copy_file_range(source, None, target, None, step) {
                Ok(copied) => copied,
                Err(Errno::INTR) => continue,
                Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    let buffer = self.buffer.get_mut(..step.min(BUFFER)).unwrap_or_default();
                    let got = rustix::io::read(source, &mut *buffer).map_err(failed("read a base's file"))?;
                    write_all(target, buffer.get(..got).unwrap_or_default())?;
                    got
                }
                Err(errno) => return Err(failed("copy a file")(errno)),
            };
            if copied == 0 {
                break;
            }
            left = left.saturating_sub(copied as u64);
        }
        Ok(())
    }

    /// Sets the session's owner, and the mode and times of the base.
    fn dress(&self, target: BorrowedFd<'_>, stat: &Stat) -> Result<(), CopyError> {
        if let Some((uid, gid)) = self.owner {
            fchown(target, Some(uid), Some(gid)).map_err(failed("change the owner of a file"))?;
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
        fchmod(target, mode).map_err(failed("set a mode"))?;
        let time = |seconds: i64, nanos: i64| Timespec { tv_sec: seconds, tv_nsec: nanos };
        let nanos = |nanos: u64| i64::try_from(nanos).unwrap_or(0);
        let times = Timestamps {
            last_access: time(stat.st_atime, nanos(stat.st_atime_nsec)),
            last_modification: time(stat.st_mtime, nanos(stat.st_mtime_nsec)),
        };
        futimens(target, &times).map_err(failed("set a file's times"))
    }

    fn record(
        &mut self,
        path: Vec<u8>,
        kind: RecordKind,
        stat: &Stat,
        kept: Option<Vec<u8>>,
    ) -> Result<(), CopyError> {
        let record = Record::new(path, kind, stat);
        let failed = |source| CopyError::Io { action: "record the copied files", source };
        self.records.put(record, kept).map_err(failed)
    }
}

fn write_all(target: &OwnedFd, mut rest: &[u8]) -> Result<(), CopyError> {
    while !rest.is_empty() {
        let written = rustix::io::write(target, rest).map_err(failed("write a file"))?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}
