//! A temporary directory in which file systems may be mounted.

use std::{
    io,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

use crate::{RemoveError, remove_tree};

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
    pub(crate) fn give_up(&mut self) -> bool {
        self.inner.take().map(TempDir::keep).is_some()
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}
