//! A temporary directory that is left where it is while something is mounted in it. Must not panic.

use std::{
    io,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

use crate::{RemoveError, remove_tree};

/// A temporary directory in which something may be mounted. Its removal stops at a mount point; one that is dropped
/// stays if it cannot be removed.
#[derive(Debug)]
pub struct TemporaryDir {
    /// None once somebody else is responsible for it.
    inner: Option<TempDir>,
    path: PathBuf,
}

impl TemporaryDir {
    /// Makes a directory whose name begins with `prefix`, where the system has temporary files. Mode 0700.
    ///
    /// # Errors
    ///
    /// The system's answer.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Ok(Self::around(Builder::new().prefix(prefix).tempdir()?))
    }

    /// As [`TemporaryDir::new`], in `parent`.
    ///
    /// # Errors
    ///
    /// The system's answer.
    pub fn new_in(prefix: &str, parent: &Path) -> io::Result<Self> {
        Ok(Self::around(Builder::new().prefix(prefix).tempdir_in(parent)?))
    }

    fn around(inner: TempDir) -> Self {
        Self { path: inner.path().to_owned(), inner: Some(inner) }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it to the caller.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.give_up();
        self.path.clone()
    }

    /// Removes it.
    ///
    /// # Errors
    ///
    /// As [`remove_tree`].
    pub fn close(mut self) -> Result<(), RemoveError> {
        self.remove()
    }

    pub(crate) fn remove(&mut self) -> Result<(), RemoveError> {
        if self.give_up() { remove_tree(&self.path) } else { Ok(()) }
    }

    /// The inner one would remove it across mount points.
    pub(crate) fn give_up(&mut self) -> bool {
        self.inner.take().map(TempDir::keep).is_some()
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}
