//! The directory of profiles: reads it and detects changes. Blocks.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use airlock_config::ConfigError;

/// The maximum number of files in the directory.
const FILES: usize = 1000;
/// The coarsest resolution of a file system's timestamps. Within it, a second write may not change the
/// timestamp.
const TICK: Duration = Duration::from_secs(2);

/// A profile file: its name without `.toml`, its path for messages, and its text.
pub(super) struct ProfileFile {
    pub(super) stem: String,
    pub(super) path: String,
    pub(super) text: String,
}

/// A file, or the profile's name and the reason why it could not be read.
pub(super) type FileOrError = Result<ProfileFile, (String, ConfigError)>;

/// The files and their metadata. Two stamps are equal if no file was written in between. Links are followed,
/// so that the replacement of a whole directory is detected.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp(Vec<(PathBuf, Option<Facts>)>);

#[derive(Debug, PartialEq, Eq)]
struct Facts {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Returns the current stamp of the directory.
///
/// # Errors
/// Returns an error if the directory cannot be listed or has too many files.
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
    /// Reports whether a file was changed so recently that another write may leave the stamp unchanged. A
    /// time in the future comes from another host's clock and is ignored.
    pub(super) fn is_fresh(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut changed = self.0.iter().filter_map(|(_, facts)| Some(facts.as_ref()?.changed.0));
        // Timestamps are rounded to seconds, so this lasts up to a second longer.
        changed.any(|at| (0..=TICK.as_secs().cast_signed()).contains(&now.saturating_sub(at)))
    }
}

/// Returns a digest of the files. Unchanged files have the same digest.
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

/// Reads every profile file, ordered by name.
///
/// # Errors
/// See [`stamp`].
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

/// Returns the paths of `NAME.toml` files in order.
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

/// The reason why profiles could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ProfilesError {
    /// The directory cannot be listed.
    #[error("the profile directory `{}` cannot be read: {source}", path.display())]
    Folder {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// There are too many files.
    #[error("`{}` has more than {limit} {what}", path.display())]
    TooMuch {
        /// The directory.
        path: PathBuf,
        /// The limit.
        limit: u64,
        /// The counted objects.
        what: &'static str,
    },
    /// Files cannot be read or are invalid. Contains all problems of each file.
    #[error("{}", lines(.0))]
    Refused(Vec<ConfigError>),
}

fn lines(errors: &[ConfigError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
