//! Work on the files of sessions: upload, download, stat and list in workspace, HOME and `/tmp`; diff of the workspace;
//! quarantine.
//!
//! Hostile commands own these directories and may run at the same time. Files are opened through directory handles,
//! beneath the named directory, and checked after they are open. No link leads out of that directory, and no open waits
//! for a pipe. All work blocks, and runs on separate threads. It ends if no caller waits for it, if its session closes,
//! or if the runner stops.

mod baseline;
mod diff;
mod download;
mod failure;
mod fsuid;
mod list;
mod patch;
mod paths;
mod put;
mod quarantine;
mod record;
mod root;
mod select;
mod transfers;
mod upload;
mod walk;
mod work;

use std::{io, path::Path, sync::Arc, time::Duration};

use airlock_archive::Cancel;
use airlock_domain::{ExchangeFailed, ExchangeFromRunner, ExchangeOrder, SessionId};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{LimitsConfig, TransfersConfig},
    exchange::{Incoming, Outgoing},
    session::OpenSession,
    trust::bound,
};
use failure::{internal, invalid, session_closed, shutting_down};
use transfers::Transfers;
use work::{Shared, Turn, Work};

pub(crate) use baseline::{Baseline, BaselineLimits, Content, Record, RecordKind, Recorder, Stamp};
pub(crate) use failure::shown;
pub(crate) use fsuid::{FsuidError, as_session, as_session_over_limits};
pub(crate) use patch::unified_diff;

/// The directory of transfers, below `state_dir`.
const DIRECTORY: &str = "transfers";
/// The number of expiry checks within `transfers.keep`.
const EXPIRY_PARTS: u32 = 10;
const EXPIRY_PERIOD_MAX: Duration = Duration::from_secs(10);

/// The reason why file work cannot begin.
#[derive(Debug, thiserror::Error)]
#[error("transfers: the directory `transfers` in `state_dir` cannot be used: {0}")]
pub struct FilesError(#[from] io::Error);

/// The entry point of file work.
#[derive(Debug)]
pub(crate) struct Files {
    shared: Arc<Shared>,
}

impl Files {
    /// Loads the uploads of an earlier process, and removes the transfers that cannot be continued.
    /// No command may run in their sessions yet. Blocks.
    ///
    /// # Errors
    /// If the directory cannot be created or read.
    pub(crate) fn open(
        state_dir: &Path,
        transfers: TransfersConfig,
        limits: &LimitsConfig,
        session: impl Fn(&SessionId) -> Option<Arc<OpenSession>>,
    ) -> Result<Self, FilesError> {
        let baseline = BaselineLimits::of(&transfers);
        let directory = state_dir.join(DIRECTORY);
        let is_open = |id: &SessionId| session(id).is_some();
        let transfers = Transfers::open(directory, transfers, limits.disk_reserve_bytes, is_open)?;
        for (id, directory) in transfers.unfinished() {
            if let Some(session) = session(&id) {
                put::sweep(&session, directory);
            }
        }
        Ok(Self { shared: Arc::new(Shared { work: Work::new(), transfers, baseline }) })
    }

    /// Carries out an order and sends its answers. The caller sends a returned error. A disconnected server is not an
    /// error. If the future is dropped, the work ends soon after: the received part of an upload is kept, and a
    /// completely received upload is finished.
    ///
    /// # Errors
    /// The reason why the order was not carried out.
    pub(crate) async fn carry_out(
        &self,
        session: Arc<OpenSession>,
        order: ExchangeOrder,
        incoming: Incoming,
        outgoing: &Outgoing,
    ) -> Result<(), ExchangeFailed> {
        let work = &self.shared.work;
        tokio::select! {
            done = self.answer(&session, order, incoming, outgoing) => done,
            () = session.closing().cancelled() => Err(session_closed()),
            () = work.stop.cancelled() => Err(shutting_down()),
        }
    }

    async fn answer(
        &self,
        session: &Arc<OpenSession>,
        order: ExchangeOrder,
        incoming: Incoming,
        outgoing: &Outgoing,
    ) -> Result<(), ExchangeFailed> {
        let (shared, work) = (&self.shared, &self.shared.work);
        let answer = match order {
            ExchangeOrder::Upload(order) => {
                return Box::pin(upload::receive(shared, session, order, incoming, outgoing)).await;
            }
            ExchangeOrder::Download(order) => {
                return Box::pin(download::send(shared, session, order, outgoing)).await;
            }
            ExchangeOrder::Stat { path, .. } => {
                let file = work.in_turn(Turn::List, session, move |session, _| list::stat(session, &path));
                ExchangeFromRunner::File(file.await?)
            }
            ExchangeOrder::List(order) => {
                let page = work
                    .in_turn(Turn::List, session, move |session, cancel| list::list(session, &order, cancel));
                let (files, more) = page.await?;
                ExchangeFromRunner::Files { files, more }
            }
            ExchangeOrder::Diff(order) => {
                let file_bytes = shared.baseline.file_bytes;
                let page = work.in_turn(Turn::Diff, session, move |session, cancel| {
                    diff::diff(session, &order, file_bytes, cancel)
                });
                let (changes, more) = page.await?;
                ExchangeFromRunner::Changes { changes, more }
            }
            ExchangeOrder::Quarantine(order) => {
                let page =
                    work.in_turn(Turn::List, session, move |session, _| quarantine::list(session, &order));
                let (files, more) = page.await?;
                ExchangeFromRunner::Quarantine { files, more }
            }
            ExchangeOrder::Restore { quarantine_id, .. } => {
                let restored = work.in_turn(Turn::List, session, move |session, _| {
                    quarantine::restore(session, &quarantine_id)
                });
                let (path, replaced_id) = restored.await?;
                ExchangeFromRunner::Restored { path, replaced_id }
            }
            ExchangeOrder::Digests { paths, .. } => {
                let found = work.in_turn(Turn::Diff, session, move |session, cancel| {
                    Ok(bound::look(paths, session.directories(), session.owner(), &|| cancel.is_cancelled()))
                });
                ExchangeFromRunner::Digests(found.await?)
            }
            ExchangeOrder::Preview(_) | ExchangeOrder::Stdin { .. } | ExchangeOrder::Forward { .. } => {
                return Err(invalid("NOT_A_FILE_ORDER", "the order is not about files"));
            }
        };
        // A disconnected server is not an error.
        let _ = outgoing.send(answer).await;
        Ok(())
    }

    /// Runs other work on the files of a session when it is its turn. If the future is dropped, the session closes or the
    /// runner stops, the handle for cancellation is set, and the work must end soon after.
    ///
    /// # Errors
    /// The error of the work, or the reason why it was ended.
    pub(crate) async fn work_on<T: Send + 'static>(
        &self,
        session: &Arc<OpenSession>,
        work: impl FnOnce(&OpenSession, &Cancel) -> Result<T, ExchangeFailed> + Send + 'static,
    ) -> Result<T, ExchangeFailed> {
        self.shared.work.in_turn(Turn::Diff, session, work).await
    }

    /// Ends all file work in a session that is being closed, and removes its transfers.
    pub(crate) async fn end_session(&self, session: &OpenSession) {
        session.end_file_work().await;
        let (shared, id) = (Arc::clone(&self.shared), session.id);
        if let Err(error) = spawn_blocking(move || shared.transfers.remove_session(id)).await {
            internal("remove a session's transfers", &error);
        }
    }

    /// Removes, periodically, transfers that were not continued for `transfers.keep`.
    pub(crate) async fn expire(&self, cancel: CancellationToken) {
        let period = (self.shared.transfers.config.keep / EXPIRY_PARTS).min(EXPIRY_PERIOD_MAX);
        while cancel.run_until_cancelled(tokio::time::sleep(period)).await.is_some() {
            let shared = Arc::clone(&self.shared);
            if let Err(error) = spawn_blocking(move || shared.transfers.expire()).await {
                internal("expire transfers", &error);
            }
        }
    }

    /// Ends all work, refuses further work, and waits until all has ended. Received parts of uploads stay for the next
    /// process.
    pub(crate) async fn shut_down(&self) {
        self.shared.work.stop.cancel();
        self.shared.work.tasks.close();
        self.shared.work.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests;
