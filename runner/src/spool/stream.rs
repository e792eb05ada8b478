//! One stream: its writer, and reads at any offset while it grows. All streams share the limit on the bytes of all
//! spools.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use airlock_faults::{Point, hit};
use airlock_runner_lifecycle::output::{Budget, Layout, Look, NoSegment, Piece, Segments, StreamState};
use tokio::sync::watch;

/// One stream, for its readers.
#[derive(Debug)]
pub(crate) struct StreamSpool {
    base: PathBuf,
    layout: Layout,
    state: watch::Sender<StreamState>,
    budget: Arc<SharedBudget>,
    segments: Mutex<Segments>,
    /// The number of line ends written. `None` for a stream of an earlier process.
    line_ends: Option<AtomicU64>,
}

impl StreamSpool {
    pub(super) fn create(
        directory: &Path,
        name: &str,
        layout: Layout,
        budget: Arc<SharedBudget>,
    ) -> (Arc<Self>, StreamWriter) {
        let segments = Segments::new(layout);
        let spool = Self::new(directory.join(name), layout, budget, segments, StreamState::default());
        let spool = Arc::new(Self { line_ends: Some(AtomicU64::new(0)), ..spool });
        let writer = StreamWriter { spool: Arc::clone(&spool), total: 0, current: None };
        (spool, writer)
    }

    /// Loads a stream of an earlier process. `None` if its directory cannot be read.
    pub(super) fn load(
        directory: &Path,
        name: &str,
        layout: Layout,
        budget: Arc<SharedBudget>,
    ) -> Option<Arc<Self>> {
        let prefix = format!("{name}.");
        let mut last = None;
        let mut count = 0;
        for entry in fs::read_dir(directory).ok()? {
            let entry = entry.ok()?;
            let file_name = entry.file_name();
            let index = file_name.to_str().and_then(|text| text.strip_prefix(&prefix)?.parse::<u64>().ok());
            if let Some(index) = index {
                count += 1;
                let len = entry.metadata().ok()?.len().min(layout.segment);
                last = last.max(Some((index, len)));
            }
        }
        let total = last.map_or(0, |(index, len)| index.saturating_mul(layout.segment).saturating_add(len));
        let segments = Segments::found(layout, count, &mut budget.lock());
        let state = StreamState { total, complete: true };
        Some(Arc::new(Self::new(directory.join(name), layout, budget, segments, state)))
    }

    fn new(
        base: PathBuf,
        layout: Layout,
        budget: Arc<SharedBudget>,
        segments: Segments,
        state: StreamState,
    ) -> Self {
        let (state, segments) = (watch::Sender::new(state), Mutex::new(segments));
        Self { base, layout, state, budget, segments, line_ends: None }
    }

    pub(crate) fn state(&self) -> StreamState {
        *self.state.borrow()
    }

    /// Subscribes to changes of the state.
    pub(crate) fn watch(&self) -> watch::Receiver<StreamState> {
        self.state.subscribe()
    }

    /// Returns the number of bytes that are currently cut from the stream.
    pub(crate) fn cut_bytes(&self) -> u64 {
        self.layout.cut(self.state().total).map_or(0, |cut| cut.end - cut.start)
    }

    /// Returns the number of line ends in everything that was written, if it was counted.
    pub(crate) fn line_ends(&self) -> Option<u64> {
        self.line_ends.as_ref().map(|ends| ends.load(Ordering::Acquire))
    }

    /// Reads at `offset`, at most `max` bytes. Blocks for a disk read.
    pub(crate) fn read(&self, offset: u64, max: usize) -> Result<Piece, SpoolError> {
        let state = self.state();
        let want = match self.layout.look(state, offset, max) {
            Look::End => return Ok(Piece::End(state)),
            Look::Gap { to } => return Ok(Piece::Gap { to }),
            Look::Bytes(want) => want,
        };
        let data = self.read_segment(offset, want)?;
        if !data.is_empty() {
            return Ok(Piece::Data(data));
        }
        Ok(Piece::Gap { to: self.layout.end_of_missing(self.state().total, offset) })
    }

    /// Returns bytes at `offset` that are still on the disk, cut or not, at most `max`. Empty if they were deleted.
    /// Blocks for a disk read.
    pub(crate) fn still_there(&self, offset: u64, max: usize) -> Result<Vec<u8>, SpoolError> {
        match self.layout.rest_of_segment(self.state().total, offset, max) {
            0 => Ok(Vec::new()),
            want => self.read_segment(offset, want),
        }
    }

    fn read_segment(&self, offset: u64, want: usize) -> Result<Vec<u8>, SpoolError> {
        let index = self.layout.segment_of(offset);
        let file = match File::open(self.segment_path(index)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SpoolError::io("open kept output")(error)),
        };
        let mut data = vec![0; want];
        let mut used = 0;
        while let Some(free) = data.get_mut(used..).filter(|free| !free.is_empty()) {
            let at = offset % self.layout.segment + used as u64;
            match file.read_at(free, at) {
                Ok(0) => break,
                Ok(got) => used += got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(SpoolError::io("read kept output")(error)),
            }
        }
        data.truncate(used);
        Ok(data)
    }

    fn segment_path(&self, index: u64) -> PathBuf {
        self.base.with_extension(format!("{index:010}"))
    }

    /// Returns its bytes to the budget. The caller deletes the files.
    pub(super) fn release(&self) {
        self.segments().release(&mut self.budget.lock());
    }

    fn take_segment(&self) -> Result<(), SpoolError> {
        let taken = self.segments().take(&mut self.budget.lock());
        taken.map_err(|no_segment| match no_segment {
            NoSegment::Full(full) => SpoolError::Full { limit: full.limit },
            NoSegment::Removed => {
                let gone = io::Error::from(ErrorKind::NotFound);
                SpoolError::Io { action: "write to a deleted spool", source: gone }
            }
        })
    }

    fn delete(&self, segments: Range<u64>) {
        for index in segments {
            // A segment that stays by mistake only costs disk space: it is in the cut range.
            let _ = fs::remove_file(self.segment_path(index));
            self.segments().deleted(&mut self.budget.lock());
        }
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing end of a stream. Dropping it marks the stream as complete.
#[derive(Debug)]
pub(crate) struct StreamWriter {
    spool: Arc<StreamSpool>,
    total: u64,
    current: Option<(u64, File)>,
}

impl StreamWriter {
    /// Appends all bytes. Blocks for a disk write. After an error, the bytes written before it are kept and counted.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), SpoolError> {
        while !bytes.is_empty() {
            let index = self.spool.layout.segment_of(self.total);
            let room = self.spool.layout.segment_end(index) - self.total;
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            hit(Point::BeforeSpoolWrite, &"segment");
            let written = self.segment(index)?.write(now).map_err(SpoolError::io("write output"))?;
            hit(Point::AfterSpoolWrite, &"segment");
            self.total += written as u64;
            if let Some(ends) = &self.spool.line_ends {
                let new = memchr::memchr_iter(b'\n', now.get(..written).unwrap_or_default()).count();
                ends.fetch_add(new as u64, Ordering::AcqRel);
            }
            let total = self.total;
            self.spool.state.send_modify(|state| state.total = total);
            self.cut();
            bytes = if written == now.len() { later } else { bytes.get(written..).unwrap_or_default() };
        }
        Ok(())
    }

    fn segment(&mut self, index: u64) -> Result<&mut File, SpoolError> {
        let file = match self.current.take().filter(|(current, _)| *current == index) {
            Some((_, file)) => file,
            None => {
                self.spool.take_segment()?;
                OpenOptions::new()
                    .append(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(self.spool.segment_path(index))
                    .map_err(SpoolError::io("create a file for output"))?
            }
        };
        Ok(&mut self.current.insert((index, file)).1)
    }

    fn cut(&mut self) {
        let dead = self.spool.segments().to_delete(self.total);
        self.spool.delete(dead);
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        self.spool.state.send_modify(|state| state.complete = true);
    }
}

#[derive(Debug)]
pub(super) struct SharedBudget(Mutex<Budget>);

impl SharedBudget {
    pub(super) fn new(limit: u64) -> Self {
        Self(Mutex::new(Budget::new(limit)))
    }

    /// Locks the budget. A stream locks its segments before.
    pub(super) fn lock(&self) -> MutexGuard<'_, Budget> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn used(&self) -> u64 {
        self.lock().used()
    }
}

/// A failed step of storing or reading output.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// `limits.spool_total_bytes` is reached.
    #[error("kept output has reached `limits.spool_total_bytes` of {limit}")]
    Full {
        /// The limit in bytes.
        limit: u64,
    },
    /// The disk is full.
    #[error("the disk of kept output is full")]
    NoSpace,
    /// The operating system reported an error.
    #[error("cannot {action}: {source}")]
    Io {
        /// The step that failed.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SpoolError {
    /// Returns the conversion of an error of the operating system at this step.
    pub(super) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Io { action, source },
        }
    }
}
