//! Accepts the records of a new layer in any order, and sorts them with bounded memory. Records that do not fit are
//! written to disk as a run. Runs are merged.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::time::{ClockId, clock_gettime};

use super::{
    layer::{LayerWriter, Merged, kept, rewrite},
    record::{Content, Record, RecordKind, is_text},
};
use crate::{config::TransfersConfig, files::fsuid};

/// The maximum bytes of records and contents in memory.
const HELD_BYTES: usize = 8 << 20;
/// The memory that a record uses in addition to its paths and content.
const RECORD_COST: usize = 256;
/// The number of runs that causes a merge.
const RUNS: usize = 16;
/// The prefix of the files of layers.
pub(super) const LAYER_PREFIX: &str = "layer-";
/// The number of layers that causes a merge.
pub(super) const LAYERS: usize = 8;
/// The prefix of the files of runs.
pub(super) const RUN_PREFIX: &str = "run-";

/// The counter for the names of runs, which are unique within a process.
static NAMES: AtomicU64 = AtomicU64::new(0);

/// The limits of stored contents, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BaselineLimits {
    /// For one session.
    pub(crate) bytes: u64,
    /// For one file.
    pub(crate) file_bytes: u64,
}

impl BaselineLimits {
    /// Takes the limits from the configuration.
    pub(crate) fn of(config: &TransfersConfig) -> Self {
        Self { bytes: config.baseline_bytes, file_bytes: config.baseline_file_bytes }
    }
}

/// The recorder of one layer. If it is dropped unfinished, it leaves no files.
#[derive(Debug)]
pub(crate) struct Recorder {
    directory: PathBuf,
    limits: BaselineLimits,
    held: Vec<(Record, Vec<u8>)>,
    held_bytes: usize,
    /// The bytes of all contents.
    kept: u64,
    /// The newest last.
    runs: Vec<PathBuf>,
    any: bool,
}

impl Recorder {
    pub(super) fn new(directory: &Path, limits: BaselineLimits) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            limits,
            held: Vec::new(),
            held_bytes: 0,
            kept: 0,
            runs: Vec::new(),
            any: false,
        })
    }

    /// Reports whether the content of a file of this size may be stored.
    pub(crate) fn may_keep(&self, size: u64) -> bool {
        size <= self.limits.file_bytes && self.kept.saturating_add(size) <= self.limits.bytes
    }

    /// Adds a record, with the file's content if it was read. Sets the record's content state.
    ///
    /// # Errors
    /// If a run cannot be written.
    pub(crate) fn put(&mut self, mut record: Record, read: Option<Vec<u8>>) -> io::Result<()> {
        self.any = true;
        let may_keep = read.as_ref().is_some_and(|bytes| self.may_keep(bytes.len() as u64));
        let mut kept = Vec::new();
        if let RecordKind::File { size, content, .. } = &mut record.kind {
            *content = match read {
                Some(bytes) if !is_text(&bytes) => Content::Binary,
                Some(bytes) if may_keep => {
                    kept = bytes;
                    Content::Kept
                }
                _ if *size > self.limits.file_bytes => Content::TooLarge,
                _ => Content::NotKept,
            };
        }
        self.kept += kept.len() as u64;
        self.held_bytes += RECORD_COST + record.path.len() + kept.len();
        self.held.push((record, kept));
        if self.held_bytes > HELD_BYTES {
            // The layers belong to the runner, and the thread currently has the session's rights.
            fsuid::as_runner(|| self.spill()).map_err(io::Error::other)??;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let path = self.name();
        self.runs.push(path.clone());
        let mut held = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        held.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
        let mut writer = LayerWriter::create(&path)?;
        let mut rest = held.iter().peekable();
        while let Some((record, content)) = rest.next() {
            // The last of several records for a path counts.
            if rest.peek().is_none_or(|(next, _)| next.path != record.path) {
                writer.put(record, content)?;
            }
        }
        writer.finish()?;
        if self.runs.len() >= RUNS {
            let target = self.name();
            let sources = self.newest_first();
            let all = Merged::open(&sources)?;
            self.runs.push(target.clone());
            rewrite(all, &target, sources.len(), 0, (i64::MAX, 0))?;
            self.runs.retain(|run| *run == target);
            sources.iter().for_each(|run| drop(fs::remove_file(run)));
        }
        Ok(())
    }

    fn newest_first(&self) -> Vec<PathBuf> {
        self.runs.iter().rev().cloned().collect()
    }

    fn name(&self) -> PathBuf {
        self.directory.join(format!("{RUN_PREFIX}{:016x}", NAMES.fetch_add(1, Ordering::Relaxed)))
    }

    /// Writes the layer. Merges all layers if there are too many, or if their contents exceed the limit.
    pub(super) fn finish(mut self, layers: &[PathBuf]) -> io::Result<()> {
        if !self.any {
            return Ok(());
        }
        // A later change has this time or a later one.
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let closed = (now.tv_sec, u64::try_from(now.tv_nsec).unwrap_or(0));
        self.spill()?;
        let number = layers.first().map_or(Ok(0), |newest| number(newest))? + 1;
        let name = self.directory.join(format!("{LAYER_PREFIX}{number:016x}"));
        let mut older = 0;
        for layer in layers {
            older += kept(layer)?;
        }
        let all = layers.len() + 1 >= LAYERS || self.kept + older > self.limits.bytes;
        let mut sources = self.newest_first();
        let new = sources.len();
        if all {
            sources.extend(layers.iter().cloned());
        }
        let next = self.name();
        self.runs.push(next.clone());
        let room = self.limits.bytes.saturating_sub(self.kept);
        // File systems do not flush a file before it gets a new name.
        rewrite(Merged::open(&sources)?, &next, new, room, closed)?.sync_data()?;
        fs::rename(&next, &name)?;
        if all {
            layers.iter().for_each(|layer| drop(fs::remove_file(layer)));
        }
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        for run in &self.runs {
            // The file may not exist. A remaining file is deleted with the session.
            let _ = fs::remove_file(run);
        }
    }
}

fn number(layer: &Path) -> io::Result<u64> {
    let name = layer.file_name().unwrap_or_default().to_string_lossy();
    let digits = name.strip_prefix(LAYER_PREFIX).unwrap_or_default();
    u64::from_str_radix(digits, 16).map_err(io::Error::other)
}
