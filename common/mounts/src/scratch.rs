//! Temporary directories in which file systems may be mounted.

#![expect(clippy::expect_used, clippy::panic, reason = "support for tests: a failure here fails the test")]

use std::{
    io,
    path::{Path, PathBuf},
    thread,
};

use tempfile::{Builder, TempDir};

use crate::{RemoveError, remove_tree};

/// Like `tempfile::TempDir`, for a test that mounts in the directory, or passes it to a launcher, a runner or a
/// container engine. If a mount remains below it on drop, nothing is removed, and the test fails with the mount's
/// path.
#[derive(Debug)]
pub struct ScratchDir(TemporaryDir);

impl ScratchDir {
    /// Creates a directory.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        Self::with_prefix("airlock-test-")
    }

    /// Creates a directory with this prefix in its name.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    pub fn with_prefix(prefix: &str) -> Self {
        Self(TemporaryDir::new(prefix).expect("a temporary directory"))
    }

    /// Like [`ScratchDir::with_prefix`], in `parent`.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[must_use]
    pub fn with_prefix_in(prefix: &str, parent: &Path) -> Self {
        Self(TemporaryDir::new_in(prefix, parent).expect("a temporary directory"))
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Keeps the directory, for an examination after a failure.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.0.give_up();
        self.path().to_owned()
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        match self.0.remove() {
            Ok(()) => {}
            Err(error @ RemoveError::Mounted(_)) if !thread::panicking() => {
                panic!("{error}; nothing in `{}` was removed", self.path().display())
            }
            Err(error) => eprintln!("a directory of a test stays: {error}"),
        }
    }
}

/// A temporary directory in which file systems may be mounted. Its removal stops at a mount point. On drop the
/// directory remains if it cannot be removed.
#[derive(Debug)]
pub struct TemporaryDir {
    /// `None` once the directory is removed or kept.
    inner: Option<TempDir>,
    path: PathBuf,
}

impl TemporaryDir {
    /// Creates a directory with this prefix in the system's directory for temporary files. Mode 0700.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Ok(Self::around(Builder::new().prefix(prefix).tempdir()?))
    }

    /// Like [`TemporaryDir::new`], in `parent`.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new_in(prefix: &str, parent: &Path) -> io::Result<Self> {
        Ok(Self::around(Builder::new().prefix(prefix).tempdir_in(parent)?))
    }

    fn around(inner: TempDir) -> Self {
        Self { path: inner.path().to_owned(), inner: Some(inner) }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory and returns its path.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.give_up();
        self.path.clone()
    }

    /// Removes the directory.
    ///
    /// # Errors
    ///
    /// As for [`remove_tree`].
    pub fn close(mut self) -> Result<(), RemoveError> {
        self.remove()
    }

    pub(crate) fn remove(&mut self) -> Result<(), RemoveError> {
        if self.give_up() { remove_tree(&self.path) } else { Ok(()) }
    }

    /// Takes the inner directory, which would be removed across mount points.
    fn give_up(&mut self) -> bool {
        self.inner.take().map(TempDir::keep).is_some()
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}
