//! The guard's directory next to the workspace, on its file system, where no command has access. It holds the
//! quarantine, the original contents of protected files, and the record.
//!
//! No file of the workspace is ever deleted here. The description of an item is written before the item is moved.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, Timespec, Timestamps, fchmod, fstat, futimens, mkdirat, openat,
    renameat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::directory::{Directory, Need, descend, identity, look, permissions, resolve};
use super::error::{ProtectError, shown};
use super::found::{Held, Reason};
use super::mark::{Kind, Mark, read};
use super::names::{above, is_git, last};
use crate::runtime::random_name;

/// The maximum total bytes of original contents.
const ORIGINALS_BYTES: u64 = 32 << 20;
/// The maximum number of items in quarantine. Beyond it, a file stays in place and causes an error.
const ITEMS: usize = 10_000;
/// The length of an item's ID in hex digits.
const ID_DIGITS: usize = 12;

/// The mode of a file that is created in place of another one.
const FILE_MODE: u32 = 0o644;
const ITEM: &str = "item-";
const INFO: &str = "info-";
const ORIGINAL: &str = "original-";
const NEW: &str = "new-";

/// The open directory and its usage.
#[derive(Debug)]
pub(super) struct GuardStore {
    directory: OwnedFd,
    /// The stored originals. The field below is their total size.
    originals: BTreeSet<[u8; 32]>,
    original_bytes: u64,
    items: usize,
}

impl GuardStore {
    /// Opens the directory, and removes incomplete files of an earlier process.
    pub(super) fn open(directory: OwnedFd) -> Result<Self, ProtectError> {
        let mut store = Self { directory, originals: BTreeSet::new(), original_bytes: 0, items: 0 };
        store.items = store.names(INFO)?.len();
        for name in store.names(NEW)? {
            store.remove(&format!("{NEW}{name}"));
        }
        for name in store.names(ORIGINAL)? {
            let mut hash = [0; 32];
            let stat = look(&store.directory, format!("{ORIGINAL}{name}").as_bytes());
            if let (Ok(()), Ok(Some(stat))) = (hex::decode_to_slice(&name, &mut hash), stat) {
                store.originals.insert(hash);
                store.original_bytes += u64::try_from(stat.st_size).unwrap_or(0);
            }
        }
        Ok(store)
    }

    /// Loads a value that is stored atomically. `None` if it does not exist or cannot be read.
    pub(super) fn load<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut bytes = Vec::new();
        File::from(openat(&self.directory, name, flags, Mode::empty()).ok()?).read_to_end(&mut bytes).ok()?;
        postcard::from_bytes(&bytes).ok()
    }

    pub(super) fn save<T: Serialize>(&self, name: &str, value: &T) -> Result<(), ProtectError> {
        const ACTION: &str = "keep a record";
        let failed =
            |error: postcard::Error| ProtectError::Store { action: ACTION, cause: error.to_string() };
        let bytes = postcard::to_allocvec(value).map_err(failed)?;
        self.replace(name, &bytes, ACTION)
    }

    /// Replaces the contents of a file atomically.
    fn replace(&self, name: &str, bytes: &[u8], action: &'static str) -> Result<(), ProtectError> {
        let (next, mut file) = self.create()?;
        let failed = |error: std::io::Error| ProtectError::Store { action, cause: error.to_string() };
        file.write_all(bytes).map_err(failed)?;
        renameat(&self.directory, &*next, &self.directory, name).map_err(ProtectError::store(action))
    }

    /// Removes a file. A missing file is not an error.
    pub(super) fn remove(&self, name: &str) {
        if unlinkat(&self.directory, name, AtFlags::empty()) == Err(Errno::ISDIR) {
            let _ = unlinkat(&self.directory, name, AtFlags::REMOVEDIR);
        }
    }

    /// Stores the current contents of protected files, as far as they fit, and removes contents that no file has now.
    pub(super) fn keep_originals<'a>(
        &mut self,
        workspace: BorrowedFd<'_>,
        marks: impl Iterator<Item = (&'a [u8], &'a Mark)>,
    ) -> Result<(), ProtectError> {
        let mut wanted = BTreeSet::new();
        for (path, mark) in marks {
            let Some(hash) = mark.hash else { continue };
            wanted.insert(hash);
            if !self.originals.contains(&hash) {
                self.keep_original(workspace, path, hash)?;
            }
        }
        for hash in self.originals.difference(&wanted).copied().collect::<Vec<_>>() {
            let name = original(&hash);
            if let Ok(Some(stat)) = look(&self.directory, name.as_bytes()) {
                self.original_bytes =
                    self.original_bytes.saturating_sub(u64::try_from(stat.st_size).unwrap_or(0));
            }
            self.remove(&name);
            self.originals.remove(&hash);
        }
        Ok(())
    }

    fn keep_original(
        &mut self,
        workspace: BorrowedFd<'_>,
        path: &[u8],
        hash: [u8; 32],
    ) -> Result<(), ProtectError> {
        let failed = || ProtectError::path("keep the files of", path);
        let Some(directories) = descend(workspace, above(path), Need::Look).map_err(failed())? else {
            return Ok(());
        };
        let Some(directory) = directories.last() else { return Ok(()) };
        let Some(content) = read(directory, last(path)).map_err(failed())? else { return Ok(()) };
        let bytes = content.len() as u64;
        // The file changed after the scan, so this is not the recorded content.
        if <[u8; 32]>::from(Sha256::digest(&content)) != hash || self.original_bytes + bytes > ORIGINALS_BYTES
        {
            return Ok(());
        }
        self.replace(&original(&hash), &content, "keep the content of a protected file")?;
        self.originals.insert(hash);
        self.original_bytes += bytes;
        Ok(())
    }

    /// Restores the previous file at its path, which must be free, and returns its new mark. `None` if its contents are
    /// not stored, if the path is occupied, or if its directory no longer exists.
    pub(super) fn put_back(
        &self,
        workspace: BorrowedFd<'_>,
        path: &[u8],
        before: &Mark,
    ) -> Result<Option<Mark>, ProtectError> {
        let failed = || ProtectError::path("restore the files of", path);
        let Some(directories) = descend(workspace, above(path), Need::Change).map_err(failed())? else {
            return Ok(None);
        };
        let Some(directory) = directories.last() else { return Ok(None) };
        let next = match (before.kind, before.hash) {
            (Kind::File, Some(hash)) if self.originals.contains(&hash) => self.copy_of(&hash, before)?,
            (Kind::Link, _) => {
                let next = new_name()?;
                symlinkat(&*before.target, &self.directory, &*next).map_err(failed())?;
                next
            }
            (Kind::Directory, _) if !is_git(last(path)) => {
                let next = new_name()?;
                mkdirat(&self.directory, &*next, Mode::from_raw_mode(before.mode)).map_err(failed())?;
                next
            }
            _ => return Ok(None),
        };
        if let Err(errno) =
            renameat_with(&self.directory, &*next, directory, last(path), RenameFlags::NOREPLACE)
        {
            self.remove(&next);
            return if errno == Errno::EXIST { Ok(None) } else { Err(failed()(errno)) };
        }
        let parent = identity(directory, b"").map_err(failed())?;
        let now = Mark::of(directory, last(path), parent, before.programs.is_some()).map_err(failed())?;
        Ok(now.filter(|now| now.is_same(before)).map(|now| Mark { planted: before.planted, ..now }))
    }

    fn copy_of(&self, hash: &[u8; 32], before: &Mark) -> Result<String, ProtectError> {
        let cause = |error: std::io::Error| ProtectError::Store {
            action: "copy the content of a protected file",
            cause: error.to_string(),
        };
        let step = || ProtectError::store("copy the content of a protected file");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let kept = openat(&self.directory, original(hash), flags, Mode::empty()).map_err(step())?;
        let (next, mut file) = self.create()?;
        std::io::copy(&mut File::from(kept), &mut file).map_err(cause)?;
        let (seconds, nanos) = before.stamp.modified;
        let time = Timespec { tv_sec: seconds, tv_nsec: nanos };
        futimens(&file, &Timestamps { last_access: time, last_modification: time }).map_err(step())?;
        fchmod(&file, Mode::from_raw_mode(before.mode)).map_err(step())?;
        Ok(next)
    }

    /// Moves a file of the workspace into quarantine. `None` if it no longer exists.
    pub(super) fn quarantine(
        &mut self,
        workspace: BorrowedFd<'_>,
        path: &[u8],
        reason: Reason,
        execution: &str,
    ) -> Result<Option<String>, ProtectError> {
        let failed = || ProtectError::path("move to the quarantine", path);
        let Some(directories) = descend(workspace, above(path), Need::Change).map_err(failed())? else {
            return Ok(None);
        };
        let Some(directory) = directories.last() else { return Ok(None) };
        let name = last(path);
        let Some(stat) = look(directory, name).map_err(failed())? else { return Ok(None) };
        if self.items >= ITEMS {
            return Err(ProtectError::TooMany { what: "items in its quarantine", limit: ITEMS });
        }
        let mut id = random()?;
        id.truncate(ID_DIGITS);
        let held = Held {
            id: id.clone(),
            path: path.to_vec(),
            kind: Kind::of(&stat),
            mode: permissions(&stat),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified_micros: stat.st_mtime.saturating_mul(1_000_000),
            reason,
            at_micros: now_micros(),
            execution: execution.to_owned(),
        };
        self.save(&format!("{INFO}{id}"), &held)?;
        match move_whole(directory.as_fd(), name, &self.directory, format!("{ITEM}{id}").as_bytes()) {
            Ok(()) => {
                self.items += 1;
                Ok(Some(id))
            }
            Err(errno) => {
                self.remove(&format!("{INFO}{id}"));
                if errno == Errno::NOENT { Ok(None) } else { Err(failed()(errno)) }
            }
        }
    }

    /// Returns the items in quarantine, the oldest first, with their current sizes.
    pub(super) fn list(&self) -> Result<Vec<Held>, ProtectError> {
        let mut list: Vec<Held> = self.names(INFO)?.iter().filter_map(|id| self.held(id).ok()).collect();
        list.sort_by(|one, two| (one.at_micros, &one.id).cmp(&(two.at_micros, &two.id)));
        Ok(list)
    }

    pub(super) fn held(&self, id: &str) -> Result<Held, ProtectError> {
        let none = || ProtectError::NoSuchItem { id: shown(id.as_bytes()) };
        if id.len() != ID_DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(none());
        }
        let item = look(&self.directory, format!("{ITEM}{id}").as_bytes());
        let stat = item.map_err(ProtectError::store("inspect an item"))?.ok_or_else(none)?;
        let held: Held = self.load(&format!("{INFO}{id}")).ok_or_else(none)?;
        // A process that has the file open may still write to it.
        Ok(Held { mode: permissions(&stat), size: u64::try_from(stat.st_size).unwrap_or(0), ..held })
    }

    /// Moves an item to a name in a directory, which must be free.
    pub(super) fn give_back(&mut self, held: &Held, to: BorrowedFd<'_>) -> Result<(), ProtectError> {
        let item = format!("{ITEM}{}", held.id);
        match move_whole(self.directory.as_fd(), item.as_bytes(), to, last(&held.path)) {
            Ok(()) => {
                self.items = self.items.saturating_sub(1);
                self.remove(&format!("{INFO}{}", held.id));
                Ok(())
            }
            Err(Errno::EXIST) => Err(ProtectError::ChangedMeanwhile { path: shown(&held.path) }),
            Err(errno) => Err(ProtectError::path("restore", &held.path)(errno)),
        }
    }

    /// Returns the current time of the file system's clock.
    pub(super) fn moment(&self) -> Result<(i64, i64), ProtectError> {
        let (name, file) = self.create()?;
        let stat = fstat(&file).map_err(ProtectError::store("inspect a file"))?;
        self.remove(&name);
        Ok((stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)))
    }

    /// Creates a file of the workspace at a path that must be free.
    pub(super) fn put(
        &self,
        workspace: BorrowedFd<'_>,
        path: &[u8],
        content: &[u8],
    ) -> Result<(), ProtectError> {
        let failed = || ProtectError::path("write", path);
        let directories = descend(workspace, above(path), Need::Change).map_err(failed())?;
        let Some(directory) = directories.as_ref().and_then(|directories| directories.last()) else {
            return Err(failed()(Errno::NOENT));
        };
        let (next, mut file) = self.create()?;
        file.write_all(content)
            .and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(FILE_MODE))?))
            .map_err(|error| ProtectError::Store { action: "write a file", cause: error.to_string() })?;
        let moved = renameat_with(&self.directory, &*next, directory, last(path), RenameFlags::NOREPLACE);
        moved.map_err(|errno| {
            self.remove(&next);
            failed()(errno)
        })
    }

    fn names(&self, prefix: &str) -> Result<Vec<String>, ProtectError> {
        let step = || ProtectError::store("read the directory");
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.directory).map_err(step())? {
            let entry = entry.map_err(step())?;
            let name = entry.file_name().to_str().ok();
            names.extend(name.and_then(|name| name.strip_prefix(prefix)).map(str::to_owned));
        }
        Ok(names)
    }

    fn create(&self) -> Result<(String, File), ProtectError> {
        let name = new_name()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.directory, &*name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(ProtectError::store("create a file"))?;
        Ok((name, File::from(file)))
    }
}

/// Moves a file. A directory can be moved only by a process that may write to it.
fn move_whole(from: BorrowedFd<'_>, name: &[u8], to: impl AsFd, as_name: &[u8]) -> Result<(), Errno> {
    let seen = resolve(from, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?;
    let _opened = match Kind::of(&fstat(&seen)?) {
        Kind::Directory => Some(Directory::of(&seen, Need::Change)?),
        _ => None,
    };
    renameat_with(from, name, to, as_name, RenameFlags::NOREPLACE)
}

fn original(hash: &[u8; 32]) -> String {
    format!("{ORIGINAL}{}", hex::encode(hash))
}

fn new_name() -> Result<String, ProtectError> {
    Ok(format!("{NEW}{}", random()?))
}

fn random() -> Result<String, ProtectError> {
    random_name().map_err(|error| ProtectError::Store { action: "create a name", cause: error.to_string() })
}

fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
