//! The spool: the output of commands, stored under a cap per stream. It is readable while it grows and after this
//! process has died.
//!
//! A stream is a sequence of segment files. Its first and last bytes are kept, and segments are deleted from the
//! middle. The length and the gap of a stream follow from the files alone. A reader never delays the writer, and
//! never receives bytes that were not written.

mod drain;
mod stream;

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use airlock_domain::{ExecutionId, InlineOutput, OutputStream, limits::INLINE_DEFAULT};
use airlock_mounts::remove_tree;
use airlock_proto::convert::Stored as _;
use airlock_runner_lifecycle::output::Layout;
use tokio_util::sync::CancellationToken;

use serde::{Deserialize, Serialize};
use stream::SharedBudget;

pub(crate) use airlock_runner_lifecycle::output::{Piece, StreamState};
pub(crate) use drain::{Drain, Stop};
pub use stream::SpoolError;
pub(crate) use stream::{StreamSpool, StreamWriter};

/// The file next to the segments that holds the inline output of the job's result.
const INLINE: &str = "inline";
/// The extension of the directory of a spool that is being deleted.
const DELETED: &str = "deleted";

/// The spools of all jobs.
#[derive(Debug)]
pub(crate) struct Spools {
    directory: PathBuf,
    budget: Arc<SharedBudget>,
    open: Mutex<HashMap<ExecutionId, Arc<JobSpool>>>,
}

/// The spool of one job.
#[derive(Debug)]
pub(crate) struct JobSpool {
    directory: PathBuf,
    /// The maximum bytes of each stream that the result contains in full.
    pub(crate) inline_limit: u32,
    pub(crate) stdout: Arc<StreamSpool>,
    pub(crate) stderr: Option<Arc<StreamSpool>>,
    /// Cancelled when the spool is deleted.
    pub(crate) removed: CancellationToken,
}

impl JobSpool {
    fn new(
        directory: PathBuf,
        meta: &Meta,
        stdout: Arc<StreamSpool>,
        stderr: Option<Arc<StreamSpool>>,
    ) -> Self {
        let removed = CancellationToken::new();
        Self { directory, inline_limit: meta.inline_limit, stdout, stderr, removed }
    }

    /// Stores the inline output of the result. Blocks.
    pub(crate) fn keep_inline(&self, inline: &InlineOutput) -> Result<(), SpoolError> {
        let new = self.directory.join("inline.new");
        let written = fs::write(&new, inline.encode());
        written
            .and_then(|()| fs::rename(&new, self.directory.join(INLINE)))
            .map_err(SpoolError::io("write the description of an output"))
    }

    /// Returns the stored inline output. Blocks.
    pub(crate) fn inline(&self) -> Option<InlineOutput> {
        InlineOutput::decode(&fs::read(self.directory.join(INLINE)).ok()?).ok()
    }

    /// Returns the stream, if it is kept separately.
    pub(crate) fn stream(&self, stream: OutputStream) -> Option<&Arc<StreamSpool>> {
        match stream {
            OutputStream::Stdout => Some(&self.stdout),
            OutputStream::Stderr => self.stderr.as_ref(),
        }
    }
}

/// The writing ends of a new spool.
#[derive(Debug)]
pub(crate) struct Writers {
    pub(crate) stdout: StreamWriter,
    pub(crate) stderr: Option<StreamWriter>,
}

impl Spools {
    /// Opens the directory `spool` in `state_dir`, including the spools of earlier processes.
    pub(crate) fn open(state_dir: &Path, total_bytes: u64) -> Result<Self, SpoolError> {
        let directory = state_dir.join("spool");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(SpoolError::io("create the directory of kept output"))?;
        let budget = Arc::new(SharedBudget::new(total_bytes));
        let spools = Self { directory, budget, open: Mutex::default() };
        spools.finish_deletions()?;
        for id in spools.stored()? {
            spools.find(&id);
        }
        Ok(spools)
    }

    /// Deletes the directories that an earlier process had not deleted completely.
    fn finish_deletions(&self) -> Result<(), SpoolError> {
        let failed = || SpoolError::io("read the directory of kept output");
        for entry in fs::read_dir(&self.directory).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            if path.extension().is_some_and(|extension| extension == DELETED)
                && let Err(error) = remove_tree(&path)
            {
                tracing::warn!(path = %path.display(), %error, "cannot delete kept output; the next start deletes it");
            }
        }
        Ok(())
    }

    /// Returns the bytes that all spools occupy.
    pub(crate) fn used(&self) -> u64 {
        self.budget.used()
    }

    /// Returns the executions that have a spool.
    pub(crate) fn stored(&self) -> Result<Vec<ExecutionId>, SpoolError> {
        let failed = || SpoolError::io("read the directory of kept output");
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name();
            ids.extend(name.to_str().and_then(|name| name.parse::<ExecutionId>().ok()));
        }
        Ok(ids)
    }

    /// Creates a spool that keeps `cap` bytes of each stream.
    pub(crate) fn create(
        &self,
        id: ExecutionId,
        cap: u64,
        separate_stderr: bool,
        inline_limit: u32,
    ) -> Result<(Arc<JobSpool>, Writers), SpoolError> {
        let directory = self.directory.join(id.to_string());
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(SpoolError::io("create a directory for output"))?;
        let layout = Layout::for_cap(cap);
        let meta = Meta::new(layout, separate_stderr, inline_limit);
        meta.write(&directory).map_err(SpoolError::io("write the description of a spool"))?;
        let make = |name| StreamSpool::create(&directory, name, layout, Arc::clone(&self.budget));
        let (out_spool, out_writer) = make("stdout");
        let err = separate_stderr.then(|| make("stderr"));
        let (err_spool, err_writer) = err.unzip();
        let spool = Arc::new(JobSpool::new(directory, &meta, out_spool, err_spool));
        self.lock().insert(id, Arc::clone(&spool));
        Ok((spool, Writers { stdout: out_writer, stderr: err_writer }))
    }

    /// Returns the spool of a job, if there is one.
    pub(crate) fn find(&self, id: &ExecutionId) -> Option<Arc<JobSpool>> {
        let mut open = self.lock();
        if let Some(spool) = open.get(id) {
            return Some(Arc::clone(spool));
        }
        let directory = self.directory.join(id.to_string());
        let meta = Meta::read(&directory)?;
        let layout = meta.layout();
        let load = |name| StreamSpool::load(&directory, name, layout, Arc::clone(&self.budget));
        let stdout = load("stdout")?;
        let stderr = if meta.separate_stderr { Some(load("stderr")?) } else { None };
        let spool = Arc::new(JobSpool::new(directory, &meta, stdout, stderr));
        open.insert(*id, Arc::clone(&spool));
        Some(spool)
    }

    /// Deletes the spool of a job. Its readers learn that by `removed`, before its first file is missing.
    pub(crate) fn remove(&self, id: &ExecutionId) -> Result<(), SpoolError> {
        let failed = || SpoolError::io("delete kept output");
        let directory = self.directory.join(id.to_string());
        let deleted = directory.with_extension(DELETED);
        let mut open = self.lock();
        if let Some(spool) = open.remove(id) {
            spool.removed.cancel();
            spool.stdout.release();
            spool.stderr.iter().for_each(|stderr| stderr.release());
        }
        // Renamed under the lock, so that `find` never opens a directory that has lost some of its files.
        match fs::rename(&directory, &deleted) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed.map_err(failed())?,
        }
        drop(open);
        remove_tree(deleted).map_err(|error| failed()(error.into()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ExecutionId, Arc<JobSpool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NAME: &str = "spool.json";

#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    head: u64,
    tail: u64,
    segment: u64,
    separate_stderr: bool,
    #[serde(default = "inline_limit")]
    inline_limit: u32,
}

fn inline_limit() -> u32 {
    INLINE_DEFAULT
}

impl Meta {
    fn new(layout: Layout, separate_stderr: bool, inline_limit: u32) -> Self {
        let Layout { head, tail, segment } = layout;
        Self { head, tail, segment, separate_stderr, inline_limit }
    }

    fn layout(&self) -> Layout {
        Layout { head: self.head, tail: self.tail, segment: self.segment.max(1) }
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(NAME))?;
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// Reads the description. `None` if it was never written completely. The spool then contains no output.
    fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(NAME)).ok()?).ok()
    }
}

#[cfg(test)]
mod tests;
