//! One transfer: its order and the parts that identify it, its progress and its users.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use airlock_archive::Cancel;
use airlock_domain::{
    DownloadOrder, DownloadStarted, Downloaded, ExchangeFailed, FileFormat, UploadOrder, Uploaded,
};
use airlock_sandbox::SessionDirectory;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::files::paths::Inside;

/// A permit of `transfers.at_once`. All users of a transfer share it.
pub(in crate::files) type Slot = Arc<OwnedSemaphorePermit>;

/// The progress of a transfer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::files) struct Progress {
    /// The bytes on disk. For a completed upload, the bytes received.
    pub(in crate::files) staged: u64,
    /// The description of a download.
    pub(in crate::files) started: Option<DownloadStarted>,
    pub(in crate::files) phase: Phase,
}

/// The phase of a transfer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::files) enum Phase {
    /// An incomplete upload. No work is active.
    #[default]
    Open,
    /// The transfer is being packed or unpacked.
    Working,
    /// The transfer is done.
    Done(Outcome),
    /// The transfer failed. An upload can be tried again.
    Failed(ExchangeFailed),
}

/// The result of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::files) enum Outcome {
    Uploaded(Uploaded),
    Downloaded(Downloaded),
}

/// The file of a transfer's bytes. It is opened at the first use.
#[derive(Debug, Default)]
pub(in crate::files) struct StageFile {
    pub(super) file: Option<File>,
}

impl StageFile {
    /// Closes the file. Appended bytes are counted already.
    pub(in crate::files) fn close(&mut self) {
        self.file = None;
    }
}

/// The state of one transfer.
#[derive(Debug)]
pub(in crate::files) struct Transfer {
    pub(in crate::files) key: [u8; 32],
    pub(in crate::files) what: TransferKey,
    files: PathBuf,
    pub(in crate::files) progress: watch::Sender<Progress>,
    /// Held by the writer of an upload's bytes.
    pub(in crate::files) stage: Arc<tokio::sync::Mutex<StageFile>>,
    /// Whether the client has received everything.
    settled: AtomicBool,
    /// Whether it was removed from the table.
    removed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    streams: usize,
    last_used: Instant,
    slot: Weak<OwnedSemaphorePermit>,
    cancel: Cancel,
}

impl Transfer {
    /// Creates a transfer with its files in the directory `files`.
    pub(super) fn new(files: &Path, key: [u8; 32], what: TransferKey) -> Self {
        Self {
            key,
            what,
            files: files.to_owned(),
            progress: watch::Sender::default(),
            stage: Arc::default(),
            settled: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            state: Mutex::new(State {
                streams: 0,
                last_used: Instant::now(),
                slot: Weak::new(),
                cancel: Cancel::new(),
            }),
        }
    }

    /// Restores a transfer of an earlier process that was last used `idle` ago.
    pub(super) fn found(
        files: &Path,
        key: [u8; 32],
        what: TransferKey,
        progress: Progress,
        idle: Duration,
    ) -> Self {
        let transfer = Self::new(files, key, what);
        transfer.settled.store(matches!(progress.phase, Phase::Done(_)), Ordering::Release);
        transfer.progress.send_replace(progress);
        transfer.state().last_used = Instant::now().checked_sub(idle).unwrap_or_else(Instant::now);
        transfer
    }

    pub(in crate::files) fn bytes_path(&self) -> PathBuf {
        self.files.join(format!("{}.bytes", hex::encode(self.key)))
    }

    pub(in crate::files) fn order_path(&self) -> PathBuf {
        self.files.join(format!("{}.order", hex::encode(self.key)))
    }

    /// Returns the bytes on disk.
    pub(super) fn staged(&self) -> u64 {
        let progress = self.progress.borrow();
        match progress.phase {
            Phase::Done(Outcome::Uploaded(_)) => 0,
            _ => progress.staged,
        }
    }

    /// Marks it as removed from the table.
    pub(super) fn set_removed(&self) {
        self.removed.store(true, Ordering::Release);
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    /// Returns the time since the last use, or `None` while it is in use.
    pub(super) fn idle(&self) -> Option<Duration> {
        let state = self.state();
        (state.streams == 0).then(|| state.last_used.elapsed())
    }

    /// Reports whether it is done, answered and not in use.
    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire) && self.idle().is_some()
    }

    pub(in crate::files) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    pub(super) fn slot(&self) -> Option<Slot> {
        self.state().slot.upgrade()
    }

    /// Starts work, and returns the token that cancels it.
    pub(in crate::files) fn begin_work(&self) -> Cancel {
        let cancel = Cancel::new();
        self.state().cancel = cancel.clone();
        cancel
    }

    pub(super) fn cancel(&self) {
        self.state().cancel.cancel();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use of a transfer by one stream.
#[derive(Debug)]
pub(in crate::files) struct Attached {
    pub(in crate::files) transfer: Arc<Transfer>,
    slot: Slot,
}

impl Attached {
    pub(super) fn new(transfer: &Arc<Transfer>, slot: Slot) -> Self {
        let mut state = transfer.state();
        state.streams += 1;
        state.slot = Arc::downgrade(&slot);
        drop(state);
        Self { transfer: Arc::clone(transfer), slot }
    }

    /// Returns a permit for work that continues without the stream.
    pub(in crate::files) fn slot(&self) -> Slot {
        Arc::clone(&self.slot)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut state = self.transfer.state();
        state.streams -= 1;
        state.last_used = Instant::now();
    }
}

/// The parts of an order that must be equal to resume it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::files) enum TransferKey {
    Upload(UploadKey),
    Download(DownloadKey),
}

/// The key of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::files) struct UploadKey {
    path: Vec<u8>,
    format: String,
    mode: u32,
    size: Option<u64>,
    sha256: Option<[u8; 32]>,
}

/// The key of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::files) struct DownloadKey {
    path: Vec<u8>,
    format: Option<FileFormat>,
    exclude: Vec<String>,
}

impl UploadKey {
    pub(in crate::files) fn of(order: &UploadOrder) -> Self {
        Self {
            path: order.path.clone(),
            format: format!("{:?}", order.format),
            mode: order.mode,
            size: order.size,
            sha256: order.sha256,
        }
    }
}

impl DownloadKey {
    pub(in crate::files) fn of(order: &DownloadOrder) -> Self {
        Self { path: order.path.clone(), format: order.format, exclude: order.exclude.clone() }
    }
}

impl TransferKey {
    /// Returns the session's directory that an upload writes to.
    pub(super) fn target(&self) -> Option<SessionDirectory> {
        match self {
            Self::Upload(order) => Inside::parse(&order.path).ok().map(|path| path.root()),
            Self::Download(_) => None,
        }
    }

    /// Returns the name of a transfer within its session. An upload and a download with the same ID are different.
    pub(super) fn key(&self, id: &str) -> [u8; 32] {
        let kind: &[u8] = match self {
            Self::Upload(_) => b"upload ",
            Self::Download(_) => b"download ",
        };
        Sha256::new().chain_update(kind).chain_update(id).finalize().into()
    }
}
