//! Offers that are answered only after their bound files have been read. The files are read on a separate task, never
//! on the task of the control stream. Ending such an offer cancels the read, and the offer is still answered.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::{BoundFile, Cause, ExecutionId, Grant, StartJob};
use tokio::{sync::Semaphore, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::{floor::Refusal, session::OpenSession, trust::bound};

/// The maximum number of reads at once, over all sessions. Each reads and hashes files up to the limit for bound files.
const LOOKS_AT_ONCE: usize = 2;

/// The key of an offer: the execution and the attempt.
type Key = (ExecutionId, u32);

/// The offers that are being checked or wait for a check.
#[derive(Debug)]
pub(super) struct Looks {
    turns: Semaphore,
    begun: Mutex<HashMap<Key, Begun>>,
}

#[derive(Debug, Default)]
struct Begun {
    stop: CancellationToken,
    ended: Option<Cause>,
}

/// The result of adding an offer.
enum Begin {
    New(CancellationToken),
    Known,
    Full,
}

impl Default for Looks {
    fn default() -> Self {
        Self { turns: Semaphore::new(LOOKS_AT_ONCE), begun: Mutex::default() }
    }
}

impl Looks {
    /// Adds an offer, unless it is present already or there are `most` offers.
    fn begin(&self, key: Key, most: usize) -> Begin {
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
    fn end(&self, key: &Key) -> Option<Cause> {
        self.begun().remove(key).and_then(|begun| begun.ended)
    }

    /// Cancels the reads for an execution. The first cause wins.
    pub(super) fn stop(&self, id: &ExecutionId, cause: &Cause) {
        for (_, begun) in self.begun().iter_mut().filter(|((of, _), _)| of == id) {
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
    async fn found(
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
            let found = bound::look(paths, reads.folders(), reads.owner(), &is_over);
            drop(registered);
            found
        });
        let found = found.await.ok()?;
        let is_over = stop.is_cancelled() || session.closing().is_cancelled();
        (!is_over).then_some(found)
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<Key, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// Reads the files of an offer and then answers it. An offer that is already being read is answered once.
    pub(super) fn look_and_answer(self: &Arc<Self>, offer: StartJob, session: Arc<OpenSession>) {
        let key = (offer.execution_id, offer.attempt);
        let most = usize::try_from(self.config.slots).unwrap_or(usize::MAX);
        let stop = match self.looks.begin(key, most) {
            Begin::New(stop) => stop,
            Begin::Known => return,
            Begin::Full => {
                let refusal =
                    Refusal::new("no_slots", "this runner already checks as many offers as it has slots");
                return self.answer(key.0, key.1, |_| Err(refusal.into()));
            }
        };
        let core = Arc::clone(self);
        self.tasks.spawn(async move {
            let found = core.looks.found(&offer.grant, &session, &stop).await;
            core.answer(key.0, key.1, |journal| match &found {
                Some(found) => core.admit(&offer, found, journal),
                None => {
                    Err(Refusal::new("ended", "the execution was ended before its files were checked").into())
                }
            });
            // The offer was ended between the read and the answer.
            if let Some(cause) = core.looks.end(&key) {
                core.end_live(&key.0, cause);
            }
        });
    }
}
