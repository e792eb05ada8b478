//! The bytes of a transfer on disk. They are appended within every limit, and counted. Appended bytes survive the
//! process.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    sync::Arc,
};

use airlock_domain::{DownloadStarted, ExchangeFailed, Uploaded};
use rustix::fs::statvfs;
use sha2::{Digest, Sha256};

use super::{
    saved::{Saved, make_directory},
    table::{Transfers, if_there},
    transfer::{StageFile, Transfer, TransferKey},
};
use crate::files::{
    failure::{exhausted, internal, of_own_io, unavailable},
    fsuid,
};

/// Saves the order and opens the file. Blocks briefly.
///
/// # Errors
/// If the runner's own directory cannot be used.
fn open(stage: &mut StageFile, transfer: &Transfer) -> Result<(), ExchangeFailed> {
    if stage.file.is_some() {
        return Ok(());
    }
    if transfer.is_removed() {
        return Err(unavailable("TRANSFER_REMOVED", "the transfer was removed; start a new one"));
    }
    let failed = |error: io::Error| of_own_io("keep a transfer", &error);
    let path = transfer.bytes_path();
    make_directory(path.parent().unwrap_or(&path)).map_err(failed)?;
    if let TransferKey::Upload(order) = &transfer.what
        && !transfer.order_path().exists()
    {
        let saved = Saved::new(order.clone(), None).map_err(failed)?;
        saved.write(&transfer.order_path()).map_err(failed)?;
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(failed)?;
    // An interrupted write may have written more bytes than were counted.
    file.set_len(transfer.progress.borrow().staged).map_err(failed)?;
    stage.file = Some(file);
    Ok(())
}

/// Appends all bytes or changes nothing. Blocks briefly.
///
/// # Errors
/// If a limit is exceeded or the file cannot be written.
pub(in crate::files) fn append_bytes(
    stage: &mut StageFile,
    transfers: &Transfers,
    transfer: &Transfer,
    data: &[u8],
) -> Result<(), ExchangeFailed> {
    open(stage, transfer)?;
    let Some(file) = &stage.file else { return Ok(()) };
    let (staged, more) = (transfer.progress.borrow().staged, data.len() as u64);
    let limit = transfers.config.bytes;
    if staged.saturating_add(more) > limit {
        return Err(exhausted("transfers.bytes", limit, "the transfer has too many bytes"));
    }
    let disk = statvfs(&transfers.directory);
    transfers.check_free_space(disk, more, "`state_dir`")?;
    transfers.reserve(more)?;
    if let Err(error) = file.write_all_at(data, staged) {
        transfers.give_back(more);
        // Bytes after the counted ones are overwritten, or cut when the file is opened again.
        let _ = file.set_len(staged);
        return Err(of_own_io("keep a transfer", &error));
    }
    transfer.progress.send_modify(|progress| progress.staged += more);
    Ok(())
}

/// Opens the bytes for reading, from the start.
///
/// # Errors
/// If the file cannot be opened.
pub(in crate::files) fn open_reader(transfer: &Transfer) -> Result<File, ExchangeFailed> {
    File::open(transfer.bytes_path()).map_err(|error| of_own_io("read a transfer", &error))
}

/// Replaces the bytes by the answer. Blocks briefly.
///
/// # Errors
/// If the answer cannot be stored.
pub(in crate::files) fn store_answer(
    transfers: &Transfers,
    transfer: &Transfer,
    uploaded: Uploaded,
) -> Result<(), ExchangeFailed> {
    let failed = |error: io::Error| of_own_io("keep a transfer's answer", &error);
    if let TransferKey::Upload(order) = &transfer.what {
        let saved = Saved::new(order.clone(), Some(uploaded)).map_err(failed)?;
        saved.write(&transfer.order_path()).map_err(failed)?;
    }
    std::fs::remove_file(transfer.bytes_path()).or_else(if_there).map_err(failed)?;
    transfers.give_back(transfer.staged());
    Ok(())
}

/// A writer of a download's bytes. It hashes them, and keeps the error of an exceeded limit.
#[derive(Debug)]
pub(in crate::files) struct StageWriter<'a> {
    stage: StageFile,
    transfers: &'a Transfers,
    transfer: Arc<Transfer>,
    hash: Sha256,
    stopped: Option<ExchangeFailed>,
}

impl<'a> StageWriter<'a> {
    pub(in crate::files) fn new(transfers: &'a Transfers, transfer: Arc<Transfer>) -> Self {
        Self { stage: StageFile::default(), transfers, transfer, hash: Sha256::new(), stopped: None }
    }

    /// Creates the file, even if it stays empty.
    ///
    /// # Errors
    /// If the runner's own directory cannot be used.
    pub(in crate::files) fn open(&mut self) -> Result<(), ExchangeFailed> {
        open(&mut self.stage, &self.transfer)
    }

    /// Sets the description of the download.
    pub(in crate::files) fn started(&self, started: DownloadStarted) {
        self.transfer.progress.send_modify(|progress| progress.started = Some(started));
    }

    /// Returns the number of bytes written.
    pub(in crate::files) fn written(&self) -> u64 {
        self.transfer.progress.borrow().staged
    }

    /// Takes the error of a failed write.
    pub(in crate::files) fn take_stopped(&mut self) -> Option<ExchangeFailed> {
        self.stopped.take()
    }

    /// Returns the SHA-256 of all written bytes.
    pub(in crate::files) fn finish(self) -> [u8; 32] {
        self.hash.finalize().into()
    }
}

impl Write for StageWriter<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        // The bytes belong to the runner, and the thread currently has the session's rights.
        let append = || append_bytes(&mut self.stage, self.transfers, &self.transfer, data);
        let appended =
            fsuid::as_runner(append).unwrap_or_else(|error| Err(internal("keep a download", &error)));
        if let Err(failed) = appended {
            self.stopped = Some(failed);
            return Err(io::Error::other("it cannot be kept"));
        }
        self.hash.update(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
