//! The folder of profiles: what is in it, and whether that is still so. Blocks.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use airlock_config::ConfigError;

use super::{ProfileFile, ProfilesError};

/// Files in the folder.
const FILES: usize = 1000;
/// The coarsest tick of a file system's clock. Until it is over, a file can be written again without a new time.
const TICK: Duration = Duration::from_secs(2);

/// A file as it was read, or its profile's name and why it was not.
pub(super) type FileOrError = Result<ProfileFile, (String, ConfigError)>;

/// Which files there were, and what the system says of each: equal where nothing was written in between.
/// Links are followed, so that a folder that is swapped as a whole is seen to be another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp(Vec<(PathBuf, Option<Facts>)>);

#[derive(Debug, PartialEq, Eq)]
struct Facts {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The stamp of the folder now.
///
/// # Errors
/// The folder cannot be listed, or holds too much.
pub(super) fn stamp(folder: &Path) -> Result<Stamp, ProfilesError> {
    let facts = |path: PathBuf| {
        let facts = std::fs::metadata(&path).ok().map(|found| Facts {
            file: (found.dev(), found.ino()),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        });
        (path, facts)
    };
    Ok(Stamp(paths(folder)?.into_iter().map(facts).collect()))
}

impl Stamp {
    /// Whether a file was changed so shortly ago that it can be written once more with an equal stamp. A time that is to
    /// come is of another host's clock, and is not waited for.
    pub(super) fn is_fresh(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut changed = self.0.iter().filter_map(|(_, facts)| Some(facts.as_ref()?.changed.0));
        // Whole seconds: it lasts up to one longer.
        changed.any(|at| (0..=TICK.as_secs().cast_signed()).contains(&now.saturating_sub(at)))
    }
}

/// What was read, as a number: the same where nothing has changed.
pub(super) fn digest(files: &[FileOrError]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        match file {
            Ok(file) => (&file.path, &file.text).hash(&mut hasher),
            Err((stem, error)) => (stem, error.to_string()).hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// Every profile's file, or why it cannot be read, by name.
///
/// # Errors
/// As [`stamp`].
pub(super) fn read(folder: &Path) -> Result<Vec<FileOrError>, ProfilesError> {
    let file = |path: PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match airlock_config::read(&path) {
            Ok(text) => Ok(ProfileFile { stem, path: path.display().to_string(), text }),
            Err(error) => Err((stem, error)),
        }
    };
    Ok(paths(folder)?.into_iter().map(file).collect())
}

/// The paths of `NAME.toml`, in order.
fn paths(folder: &Path) -> Result<Vec<PathBuf>, ProfilesError> {
    let unreadable = |source| ProfilesError::Folder { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let named = path.file_stem().is_some_and(|stem| stem.to_str().is_some());
        if !named || path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        if paths.len() == FILES {
            let (path, limit) = (folder.to_owned(), FILES as u64);
            return Err(ProfilesError::TooMuch { path, limit, what: "profiles" });
        }
        paths.push(path);
    }
    paths.sort();
    Ok(paths)
}
