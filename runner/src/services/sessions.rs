//! Opening and closing of sessions. Each is answered by a report.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use airlock_domain::{FromRunner, SandboxProfile, SessionId, SessionPhase, SessionReport, SessionSnapshot};
use airlock_faults::{Point, hit};
use tokio::{sync::Semaphore, task::spawn_blocking};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{draining::Draining, jobs::Jobs};
use crate::{
    files::Files,
    floor::Below,
    job::{DISK_SHORT, DiskSpace, SnapshotMaker},
    reports::Reports,
    session::{Closing, OpenSession, Opening, Reserved, SessionError, SessionTable},
};

/// The number of sessions that are created or removed at once. This is slow disk work, which must not occupy the
/// threads that drain the output of commands.
const DISK_WORK_AT_ONCE: usize = 4;

/// The parts from which [`Sessions`] are built.
#[derive(Debug)]
pub(super) struct SessionParts {
    pub(super) table: Arc<SessionTable>,
    /// Directories that new sessions can copy, by name.
    pub(super) bases: BTreeMap<String, PathBuf>,
    pub(super) snapshots: Arc<SnapshotMaker>,
    pub(super) below: Below,
    pub(super) disk_space: DiskSpace,
    pub(super) draining: Arc<Draining>,
    pub(super) jobs: Arc<Jobs>,
    pub(super) files: Arc<Files>,
    pub(super) reports: Arc<Reports>,
    pub(super) tasks: TaskTracker,
}

/// Opens and closes sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    parts: SessionParts,
    disk_work: Semaphore,
}

impl Sessions {
    pub(super) fn new(parts: SessionParts) -> Self {
        Self { parts, disk_work: Semaphore::new(DISK_WORK_AT_ONCE) }
    }

    /// Creates a session. `profile` is set if the session gets a shell snapshot.
    pub(crate) fn open(self: &Arc<Self>, id: SessionId, base: &str, profile: Option<Box<SandboxProfile>>) {
        let SessionParts { table, bases, draining, below, disk_space, tasks, .. } = &self.parts;
        let base = match base {
            "" => None,
            name => match bases.get(name) {
                Some(path) => Some(path.clone()),
                None => {
                    let message = format!("this runner has no base `{name}`");
                    return self.report_failed(id, "no_such_base", message);
                }
            },
        };
        let is_open = || table.get(&id).is_some();
        if draining.is_on() && !is_open() {
            return self.report_failed(id, "draining", "this runner takes no new work".to_owned());
        }
        if let Some(below) = below.as_text().filter(|_| !is_open()) {
            return self.report_failed(id, "floor", below.to_owned());
        }
        if disk_space.is_short() && !is_open() {
            return self.report_failed(id, "disk", DISK_SHORT.to_owned());
        }
        match table.reserve(id) {
            Opening::Open(session) => self.report(id, session.phase()),
            Opening::Underway => {}
            Opening::Refused(reason, message) => self.report_failed(id, reason, message),
            Opening::Reserved(reserved) => {
                tasks.spawn(Arc::clone(self).make(reserved, base, profile));
            }
        }
    }

    async fn make(
        self: Arc<Self>,
        reserved: Reserved,
        base: Option<PathBuf>,
        profile: Option<Box<SandboxProfile>>,
    ) {
        let id = reserved.id;
        let snapshots = Arc::clone(&self.parts.snapshots);
        let prepare = move |session: &OpenSession, cancel: &CancellationToken| {
            let Some(profile) = profile else { return };
            session
                .keep_snapshot(SessionSnapshot::missing("the runner stopped while it created the session"));
            let made = snapshots.make(session, &profile, cancel);
            if !made.problem.is_empty() {
                tracing::warn!(session = %session.id, problem = made.problem, "cannot create the session's \
                                                                               shell snapshot");
            }
            session.keep_snapshot(made);
        };
        let table = Arc::clone(&self.parts.table);
        // The semaphore is never closed. If it were closed, the work would run without the limit.
        let _permit = self.disk_work.acquire().await;
        hit(Point::BeforeSession, &"session");
        match spawn_blocking(move || table.make(&reserved, base.as_ref(), prepare)).await {
            Ok(Ok(session)) => {
                hit(Point::AfterSession, &"session");
                self.report(id, session.phase());
            }
            Ok(Err(SessionError::Cancelled)) => self.report(id, SessionPhase::Closed),
            Ok(Err(error)) => {
                tracing::warn!(session = %id, %error, "cannot create a session");
                self.report_failed(id, error.reason(), error.to_string());
            }
            Err(panicked) => {
                tracing::error!(session = %id, %panicked, "the task that creates a session failed");
                self.report_failed(id, "internal", "internal error of the runner; see its log".to_owned());
            }
        }
    }

    /// Closes a session: ends its jobs and its file work, and removes its directories.
    pub(crate) fn close(self: &Arc<Self>, id: SessionId) {
        match self.parts.table.begin_close(&id) {
            Closing::Gone => self.report(id, SessionPhase::Closed),
            Closing::Underway => {}
            Closing::Begun(session) => {
                self.parts.tasks.spawn(Arc::clone(self).remove(session));
            }
        }
    }

    async fn remove(self: Arc<Self>, session: Arc<OpenSession>) {
        let id = session.id;
        self.parts.jobs.end_session(id).await;
        self.parts.files.end_session(&session).await;
        let _permit = self.disk_work.acquire().await;
        let table = Arc::clone(&self.parts.table);
        hit(Point::BeforeSessionRemove, &"session");
        match spawn_blocking(move || table.remove(&session)).await {
            Ok(Ok(())) => hit(Point::AfterSessionRemove, &"session"),
            // The session is out of use, and the next start deletes it.
            Ok(Err(error)) => tracing::error!(session = %id, %error, "cannot delete a closed session"),
            Err(panicked) => tracing::error!(session = %id, %panicked, "cannot delete a closed session"),
        }
        self.report(id, SessionPhase::Closed);
    }

    /// Cancels the creation of all sessions.
    pub(crate) fn cancel_openings(&self) {
        self.parts.table.cancel_openings();
    }

    /// Returns the number of open sessions.
    pub(crate) fn count(&self) -> usize {
        self.parts.table.all().len()
    }

    /// Returns the reports of all sessions, including those of earlier processes that are lost.
    pub(crate) fn all_reports(&self) -> Vec<FromRunner> {
        let table = &self.parts.table;
        let open = table.all().into_iter().map(|session| (session.id, session.phase()));
        let lost = table.lost().iter().map(|(id, why)| (*id, failed("disk", why.clone())));
        let all = open.chain(lost);
        all.map(|(session_id, phase)| FromRunner::Session(SessionReport { session_id, phase })).collect()
    }

    fn report_failed(&self, id: SessionId, reason: &str, message: String) {
        self.report(id, failed(reason, message));
    }

    fn report(&self, id: SessionId, phase: SessionPhase) {
        self.parts.reports.session(id, phase);
    }
}

fn failed(reason: &str, message: String) -> SessionPhase {
    SessionPhase::Failed { reason: reason.to_owned(), message }
}
