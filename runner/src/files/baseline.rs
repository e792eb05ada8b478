//! The baseline of a workspace: the files of its base and of every upload, in their original state.
//!
//! It is stored in the session's own directory next to the workspace, where no command can access it. It is deleted
//! with the session and survives the runner's process. Each base copy or upload adds a layer: records sorted by path,
//! with the contents of small texts. A record of a newer layer hides that of an older one. When there are many
//! layers, they are merged into one. A layer exists completely or not at all.

mod layer;
mod record;
mod recorder;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

pub(super) use layer::Merged;
pub(crate) use record::{Content, Record, RecordKind, Stamp};
pub(super) use record::{is_text, modified_micros};
pub(crate) use recorder::{BaselineLimits, Recorder};
use recorder::{LAYER_PREFIX, RUN_PREFIX};

const DIRECTORY: &str = "baseline";

/// The baseline of one session.
#[derive(Debug)]
pub(crate) struct Baseline {
    directory: PathBuf,
    /// Held while a layer is added.
    adding: Mutex<()>,
}

impl Baseline {
    /// Creates the baseline of the session in `root`. Reads nothing.
    pub(crate) fn new(root: &Path) -> Self {
        Self { directory: root.join(DIRECTORY), adding: Mutex::new(()) }
    }

    /// Creates the recorder of a new layer. Blocks briefly.
    ///
    /// # Errors
    /// If its directory cannot be created.
    pub(crate) fn recorder(&self, limits: BaselineLimits) -> io::Result<Recorder> {
        Recorder::new(&self.directory, limits)
    }

    /// Adds the layer. Blocks while it is written, and at a merge while all layers are rewritten.
    ///
    /// # Errors
    /// If the layer cannot be written. It is then not added.
    pub(crate) fn add(&self, recorder: Recorder) -> io::Result<()> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.finish(&self.layers()?)
    }

    /// Opens all records, ordered by path. Blocks briefly.
    ///
    /// # Errors
    /// If a layer cannot be read.
    pub(super) fn read(&self) -> io::Result<Merged> {
        // A merge can delete a layer between the listing and the open. Then list again.
        loop {
            let layers = self.layers()?;
            match Merged::open(&layers) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.layers()? != layers => {}
                other => return other,
            }
        }
    }

    /// Removes the unfinished layer of a process that died. Blocks briefly.
    ///
    /// # Errors
    /// If the directory cannot be read or changed.
    pub(crate) fn remove_unfinished(&self) -> io::Result<()> {
        for path in self.named(RUN_PREFIX)? {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Returns the paths of the layers, the newest first.
    fn layers(&self) -> io::Result<Vec<PathBuf>> {
        let mut layers = self.named(LAYER_PREFIX)?;
        layers.sort_unstable_by(|one, other| other.cmp(one));
        Ok(layers)
    }

    fn named(&self, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path());
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
