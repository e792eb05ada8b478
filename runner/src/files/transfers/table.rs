//! The table of transfers, and the limits that they share.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use airlock_domain::{ExchangeFailed, SessionId};
use airlock_mounts::remove_tree;
use airlock_sandbox::SessionDirectory;
use rustix::{
    fs::{StatVfs, statvfs},
    io::Errno,
};
use tokio::sync::Semaphore;

#[cfg(test)]
use super::transfer::Progress;
use super::{
    saved::{self, Kept},
    transfer::{Attached, Phase, Slot, Transfer, TransferKey},
};
use crate::{
    config::TransfersConfig,
    files::failure::{exhausted, of_own, precondition},
};

/// The directory of removed bytes before their deletion.
const TRASH: &str = "trash";

/// The table of transfers.
#[derive(Debug)]
pub(in crate::files) struct Transfers {
    pub(super) directory: PathBuf,
    pub(in crate::files) config: TransfersConfig,
    /// The bytes that must stay free on every file system that is written to.
    reserve: u64,
    slots: Arc<Semaphore>,
    kept: Mutex<Kept>,
    /// The bytes of all transfers on disk.
    bytes: AtomicU64,
    names: AtomicU64,
}

impl Transfers {
    /// Loads the uploads of an earlier process that can be resumed. Blocks.
    ///
    /// # Errors
    /// If the directory cannot be created or read.
    pub(in crate::files) fn open(
        directory: PathBuf,
        config: TransfersConfig,
        reserve: u64,
        is_open: impl Fn(&SessionId) -> bool,
    ) -> io::Result<Self> {
        let trash = directory.join(TRASH);
        remove_tree(&trash)?;
        saved::make_directory(&trash)?;
        let slots = Arc::new(Semaphore::new(usize::try_from(config.at_once).unwrap_or(usize::MAX)));
        let kept = saved::found(&directory, TRASH, config.keep, is_open)?;
        let bytes = kept.values().flat_map(HashMap::values).map(|transfer| transfer.staged()).sum();
        let (bytes, names) = (AtomicU64::new(bytes), AtomicU64::new(0));
        Ok(Self { directory, config, reserve, slots, kept: Mutex::new(kept), bytes, names })
    }

    /// Returns the sessions with uploads that were not put into place completely, and the target directories.
    pub(in crate::files) fn unfinished(&self) -> HashSet<(SessionId, SessionDirectory)> {
        let kept = self.lock();
        let all = kept.iter().flat_map(|(session, of)| of.values().map(|transfer| (*session, transfer)));
        let open = all.filter(|(_, transfer)| transfer.progress.borrow().phase == Phase::Open);
        open.filter_map(|(session, transfer)| Some((session, transfer.what.target()?))).collect()
    }

    /// Finds a transfer, or creates it if `may_begin`. The flag is true if it is new. Blocks briefly.
    ///
    /// # Errors
    /// If another order uses the ID, if the transfer does not exist, or if a limit is reached.
    pub(in crate::files) fn attach(
        &self,
        session: SessionId,
        id: &str,
        what: TransferKey,
        may_begin: bool,
    ) -> Result<(Attached, bool), ExchangeFailed> {
        let key = what.key(id);
        let mut gone = None;
        let mut kept = self.lock();
        let of_session = kept.entry(session).or_default();
        if let Some(transfer) = of_session.get(&key) {
            if transfer.what != what {
                return Err(precondition(
                    "TRANSFER_MISMATCH",
                    "another order uses this transfer_id; repeat that order unchanged, or use a new \
                     transfer_id",
                ));
            }
            let slot = match transfer.slot() {
                Some(slot) => slot,
                None => self.take_slot(of_session)?,
            };
            return Ok((Attached::new(transfer, slot), false));
        }
        if !may_begin {
            return Err(precondition(
                "TRANSFER_GONE",
                "this transfer is no longer kept; start a new one, without a transfer_id and an offset",
            ));
        }
        let slot = self.take_slot(of_session)?;
        if of_session.len() >= usize::try_from(self.config.per_session).unwrap_or(usize::MAX) {
            let Some(oldest) = oldest_settled(of_session) else {
                let value = u64::from(self.config.per_session);
                return Err(exhausted("transfers.per_session", value, "the session has too many transfers"));
            };
            gone = of_session.remove(&oldest).map(|transfer| self.move_to_trash(&transfer));
        }
        let files = self.directory.join(session.to_string());
        let transfer = Arc::new(Transfer::new(&files, key, what));
        of_session.insert(key, Arc::clone(&transfer));
        let attached = Attached::new(&transfer, slot);
        drop(kept);
        delete(gone);
        Ok((attached, true))
    }

    /// Takes a slot. A session may use half of the slots, so that one session cannot block all others.
    fn take_slot(&self, of_session: &HashMap<[u8; 32], Arc<Transfer>>) -> Result<Slot, ExchangeFailed> {
        let (all, held) = (self.config.at_once, of_session.values().filter(|it| it.slot().is_some()));
        if held.count() >= usize::try_from(all.div_ceil(2)).unwrap_or(usize::MAX) {
            let what =
                "the session has half of the transfers that the runner allows at once; wait for one to end";
            return Err(exhausted("transfers.at_once", u64::from(all), what));
        }
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        slot.map(Arc::new).map_err(|_| {
            let value = u64::from(self.config.at_once);
            exhausted("transfers.at_once", value, "the runner has too many active transfers; try again")
        })
    }

    /// Removes a transfer from the table, with its bytes. Blocks briefly.
    pub(in crate::files) fn remove(&self, session: SessionId, transfer: &Arc<Transfer>) {
        let mut kept = self.lock();
        let Some(of_session) = kept.get_mut(&session) else { return };
        if of_session.get(&transfer.key).is_some_and(|found| Arc::ptr_eq(found, transfer)) {
            of_session.remove(&transfer.key);
            let gone = self.move_to_trash(transfer);
            drop(kept);
            delete(Some(gone));
        }
    }

    /// Ends and removes transfers that were not used for `transfers.keep`. Blocks.
    pub(in crate::files) fn expire(&self) {
        let mut gone = Vec::new();
        self.lock().retain(|_, of_session| {
            of_session.retain(|_, transfer| {
                if transfer.idle().is_none_or(|idle| idle < self.config.keep) {
                    return true;
                }
                transfer.cancel();
                // Active work drops its reference soon.
                let over = Arc::strong_count(transfer) == 1;
                if over {
                    gone.push(self.move_to_trash(transfer));
                }
                !over
            });
            !of_session.is_empty()
        });
        gone.into_iter().for_each(|path| delete(Some(path)));
    }

    /// Removes all transfers of a session without active transfers. Blocks.
    pub(in crate::files) fn remove_session(&self, session: SessionId) {
        let removed = self.lock().remove(&session).unwrap_or_default();
        for transfer in removed.values() {
            delete(Some(self.move_to_trash(transfer)));
        }
        let directory = self.directory.join(session.to_string());
        if let Err(error) = remove_tree(directory) {
            tracing::error!(%session, %error, "cannot delete the transfers of a closed session");
        }
    }

    /// Returns the number of transfers.
    #[cfg(test)]
    pub(in crate::files) fn count(&self) -> usize {
        self.lock().values().map(HashMap::len).sum()
    }

    /// Returns the progress of a session's transfers.
    #[cfg(test)]
    pub(in crate::files) fn progress_of(&self, session: SessionId) -> Vec<Progress> {
        let kept = self.lock();
        let of_session = kept.get(&session).into_iter().flat_map(HashMap::values);
        of_session.map(|transfer| transfer.progress.borrow().clone()).collect()
    }

    /// Returns the counted bytes of all transfers on disk.
    #[cfg(test)]
    pub(in crate::files) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Counts bytes before they are written. Removes completely received downloads if necessary.
    pub(super) fn reserve(&self, more: u64) -> Result<(), ExchangeFailed> {
        loop {
            let limit = self.config.total_bytes;
            let add = |used: u64| used.checked_add(more).filter(|sum| *sum <= limit);
            if self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).is_ok() {
                return Ok(());
            }
            if !self.evict() {
                return Err(exhausted(
                    "transfers.total_bytes",
                    limit,
                    "the runner keeps too many bytes of transfers",
                ));
            }
        }
    }

    /// Removes bytes from the count.
    pub(super) fn give_back(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    fn evict(&self) -> bool {
        let mut kept = self.lock();
        let settled =
            kept.iter().flat_map(|(session, of)| of.values().map(move |transfer| (*session, transfer)));
        let settled = settled.filter(|(_, transfer)| transfer.is_settled() && transfer.staged() > 0);
        let Some((session, transfer)) = settled.max_by_key(|(_, transfer)| transfer.idle()) else {
            return false;
        };
        let key = transfer.key;
        let removed = kept.get_mut(&session).and_then(|of_session| of_session.remove(&key));
        let gone = removed.map(|transfer| self.move_to_trash(&transfer));
        drop(kept);
        delete(gone);
        true
    }

    /// Renames the bytes of a transfer, so that a new transfer can use the name. The caller deletes them.
    fn move_to_trash(&self, transfer: &Transfer) -> PathBuf {
        let name = self.names.fetch_add(1, Ordering::Relaxed);
        let trash = self.directory.join(TRASH).join(name.to_string());
        let moved = fs::rename(transfer.bytes_path(), &trash);
        let forgotten = fs::remove_file(transfer.order_path());
        for result in [moved, forgotten] {
            if let Err(error) = result.or_else(if_there) {
                tracing::warn!(%error, "cannot delete a transfer's files; the next start deletes them");
            }
        }
        transfer.set_removed();
        self.give_back(transfer.staged());
        trash
    }

    /// Returns the statistics of the file system of staged transfers, which is also that of sessions.
    pub(in crate::files) fn disk(&self) -> Result<StatVfs, Errno> {
        statvfs(&self.directory)
    }

    /// Checks that `more` bytes can be written to a file system without using the reserve.
    ///
    /// # Errors
    /// If not. The message names the file system.
    pub(in crate::files) fn check_free_space(
        &self,
        disk: Result<StatVfs, Errno>,
        more: u64,
        of: &str,
    ) -> Result<(), ExchangeFailed> {
        let disk = disk.map_err(|errno| of_own("inspect a file system", errno))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free >= self.reserve.saturating_add(more) {
            return Ok(());
        }
        let what = format!("the file system of the runner's {of} has too little free space");
        Err(exhausted("limits.disk_reserve_bytes", self.reserve, &what))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn oldest_settled(of_session: &HashMap<[u8; 32], Arc<Transfer>>) -> Option<[u8; 32]> {
    let settled = of_session.values().filter(|transfer| transfer.is_settled());
    settled.max_by_key(|transfer| transfer.idle()).map(|transfer| transfer.key)
}

/// Ignores the error of a file that does not exist.
pub(super) fn if_there(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn delete(path: Option<PathBuf>) {
    let Some(path) = path else { return };
    if let Err(error) = fs::remove_file(path).or_else(if_there) {
        tracing::warn!(%error, "cannot delete a transfer's bytes; the next start deletes them");
    }
}
