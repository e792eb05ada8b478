//! What a workspace was made of: the files of its base and of every upload, as they were put there.
//!
//! Kept in the session's own folder, beside the workspace, where no command can reach it; it goes with the
//! session and outlives the runner's process. Each base copy or upload adds a layer: records in the order
//! of their paths, contents of small texts among them. A newer layer's record hides an older one's; from
//! time to time all layers become one. A layer is there whole or not at all.

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
use recorder::RUN_PREFIX;
pub(crate) use recorder::{BaselineLimits, Recorder};

const FOLDER: &str = "baseline";
const LAYER_PREFIX: &str = "layer-";
/// Layers before they are made one.
const LAYERS: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Baseline {
    folder: PathBuf,
    /// One layer is added at a time.
    adding: Mutex<()>,
}

impl Baseline {
    /// Of the session in `root`. Looks at nothing.
    pub(crate) fn new(root: &Path) -> Self {
        Self { folder: root.join(FOLDER), adding: Mutex::new(()) }
    }

    /// What takes the records of a new layer. Blocks for a moment.
    ///
    /// # Errors
    /// If its folder cannot be made.
    pub(crate) fn recorder(&self, limits: BaselineLimits) -> io::Result<Recorder> {
        Recorder::new(&self.folder, limits)
    }

    /// Adds the layer. Blocks for as long as it takes to write it, or from time to time all of them.
    ///
    /// # Errors
    /// If it cannot be written: then it is not there.
    pub(crate) fn add(&self, recorder: Recorder) -> io::Result<()> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.finish(&self.layers()?)
    }

    /// All records, by path. Blocks for a moment.
    ///
    /// # Errors
    /// If a layer cannot be read.
    pub(super) fn read(&self) -> io::Result<Merged> {
        // A layer that was read by its name may be gone when it is opened: then there is one for all.
        loop {
            let layers = self.layers()?;
            match Merged::open(&layers) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.layers()? != layers => {}
                other => return other,
            }
        }
    }

    /// Removes what a process that died has left of a layer it was making. Blocks for a moment.
    ///
    /// # Errors
    /// If the folder cannot be read or changed.
    pub(crate) fn remove_unfinished(&self) -> io::Result<()> {
        for path in self.named(RUN_PREFIX)? {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// The newest first.
    fn layers(&self) -> io::Result<Vec<PathBuf>> {
        let mut layers = self.named(LAYER_PREFIX)?;
        layers.sort_unstable_by(|one, other| other.cmp(one));
        Ok(layers)
    }

    fn named(&self, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
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
