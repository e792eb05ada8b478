//! A fixture: a directory to unpack into, with a canary next to it, and functions to list both. It
//! must not follow a link.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use airlock_archive::{ArchiveError, Cancel, Counts, Format, Limits, Unpack, unpack};
use cap_std::{ambient_authority, fs::Dir};

/// Limits that are small enough to detect every bomb early.
pub(crate) const LIMITS: Limits = Limits { entries: 2_000, bytes: 64 << 20, path_bytes: 4096, depth: 255 };

/// The visible attributes of a file: mode, owner, times, content or target.
pub(crate) type Seen = (u32, u32, i64, i64, Vec<u8>);

/// A temporary directory with an empty `target/`, and `canary/file` next to it.
pub(crate) struct Fixture(tempfile::TempDir);

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::filled(tempfile::tempdir().unwrap())
    }

    /// Creates the fixture in memory if possible, so that a racing program gets more attempts.
    pub(crate) fn fast() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::filled(tempfile::tempdir_in(memory).unwrap()) } else { Self::new() }
    }

    fn filled(directory: tempfile::TempDir) -> Self {
        let place = Self(directory);
        fs::create_dir(place.target()).unwrap();
        fs::create_dir(place.0.path().join("canary")).unwrap();
        fs::write(place.canary(), "alive").unwrap();
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.0.path().join("target")
    }

    pub(crate) fn canary(&self) -> PathBuf {
        self.0.path().join("canary/file")
    }

    pub(crate) fn dir(&self) -> Dir {
        Dir::open_ambient_dir(self.target(), ambient_authority()).unwrap()
    }

    /// Returns everything outside the target, including the directory that contains it.
    pub(crate) fn outside(&self) -> BTreeMap<PathBuf, Seen> {
        seen(self.root(), Some(Path::new("target")))
    }

    pub(crate) fn inside(&self) -> BTreeMap<PathBuf, Seen> {
        all(&self.target())
    }

    pub(crate) fn unpack(&self, archive: impl Read, format: Format) -> Result<Counts, ArchiveError> {
        let cancel = Cancel::new();
        let options = Unpack { limits: &LIMITS, umask: 0, cancel: &cancel };
        unpack(archive, format, &self.dir(), &options, |_| {})
    }
}

/// Returns everything below a directory, with an empty path for the directory itself.
pub(crate) fn all(root: &Path) -> BTreeMap<PathBuf, Seen> {
    seen(root, None)
}

fn seen(root: &Path, without: Option<&Path>) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(path) = open.pop() {
        if without == Some(path.as_path()) {
            continue;
        }
        let full = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(&path) };
        let meta = fs::symlink_metadata(&full).unwrap();
        let content = if meta.is_symlink() {
            fs::read_link(&full).unwrap().as_os_str().as_bytes().to_vec()
        } else if meta.is_file() {
            fs::read(&full).unwrap_or_default()
        } else {
            if meta.is_dir() {
                open.extend(fs::read_dir(&full).unwrap().map(|entry| path.join(entry.unwrap().file_name())));
            }
            Vec::new()
        };
        seen.insert(path, (meta.mode(), meta.uid(), meta.mtime(), meta.mtime_nsec(), content));
    }
    seen
}

/// Returns the content of a file by its path.
pub(crate) fn content<'s>(seen: &'s BTreeMap<PathBuf, Seen>, path: &[u8]) -> &'s [u8] {
    &seen.get(Path::new(OsStr::from_bytes(path))).unwrap_or_else(|| panic!("no {}", path.escape_ascii())).4
}
