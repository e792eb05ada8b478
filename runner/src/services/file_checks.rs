//! Reads the bound files of offers before the offers are answered. The files are read on a separate task, never on the
//! task of the control stream. Ending such an offer cancels the read, and the offer is still answered.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::{BoundFile, Cause, ExecutionId, Grant};
use airlock_runner_lifecycle::jobs::OfferKey;
use tokio::{sync::Semaphore, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::{session::OpenSession, trust::bound};

/// The maximum number of reads at once, over all sessions. Each reads and hashes files up to the limit for bound files.
const CHECKS_AT_ONCE: usize = 2;

/// The offers whose files are being read or wait to be read.
#[derive(Debug)]
pub(super) struct FileChecks {
    turns: Semaphore,
    begun: Mutex<HashMap<OfferKey, Begun>>,
}

#[derive(Debug, Default)]
struct Begun {
    stop: CancellationToken,
    ended: Option<Cause>,
}

/// The result of adding an offer.
pub(super) enum Begin {
    New(CancellationToken),
    Known,
    Full,
}

impl Default for FileChecks {
    fn default() -> Self {
        Self { turns: Semaphore::new(CHECKS_AT_ONCE), begun: Mutex::default() }
    }
}

impl FileChecks {
    /// Adds an offer, unless it is present already or there are `most` offers.
    pub(super) fn begin(&self, key: OfferKey, most: usize) -> Begin {
        let mut begun = self.begun();
        if begun.contains_key(&key) {
            return Begin::Known;
        }
        if begun.len() >= most {
            return Begin::Full;
        }
        let stop = CancellationToken::new();
        begun.insert(key, Begun { stop: stop.clone(), ended: None });
        Begin::New(stop)
    }

    /// Removes an answered offer. Returns the cause if it was ended meanwhile.
    pub(super) fn end(&self, key: OfferKey) -> Option<Cause> {
        self.begun().remove(&key).and_then(|begun| begun.ended)
    }

    /// Cancels the reads for an execution. The first cause wins.
    pub(super) fn stop(&self, id: &ExecutionId, cause: &Cause) {
        for (_, begun) in self.begun().iter_mut().filter(|(offer, _)| offer.id == *id) {
            begun.ended.get_or_insert_with(|| cause.clone());
            begun.stop.cancel();
        }
    }

    /// Cancels all reads.
    pub(super) fn stop_all(&self) {
        self.begun().values().for_each(|begun| begun.stop.cancel());
    }

    /// Reads the files that the grant is bound to. Returns `None` if the session is closed or the offer was ended
    /// before.
    pub(super) async fn read(
        &self,
        grant: &Grant,
        session: &Arc<OpenSession>,
        stop: &CancellationToken,
    ) -> Option<Vec<BoundFile>> {
        let _turn = tokio::select! {
            turn = self.turns.acquire() => turn.ok()?,
            () = stop.cancelled() => return None,
            () = session.closing().cancelled() => return None,
        };
        let registered = session.file_work()?;
        let paths = grant.decided.files.iter().map(|file| file.path.clone()).collect();
        let (reads, stops) = (Arc::clone(session), stop.clone());
        let found = spawn_blocking(move || {
            let is_over = || stops.is_cancelled() || reads.closing().is_cancelled();
            let found = bound::look(paths, reads.directories(), reads.owner(), &is_over);
            drop(registered);
            found
        });
        let found = found.await.ok()?;
        let is_over = stop.is_cancelled() || session.closing().is_cancelled();
        (!is_over).then_some(found)
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<OfferKey, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
