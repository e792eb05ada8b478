//! Opening and closing of sessions. Each is answered by a report.

use std::{path::PathBuf, sync::Arc};

use airlock_domain::{FromRunner, SandboxProfile, SessionId, SessionPhase, SessionReport, SessionSnapshot};
use airlock_faults::{Point, hit};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::{Core, answer::NO_ROOM};
use crate::{
    job::{Surroundings, make_snapshot},
    session::{Closing, OpenSession, Opening, Reserved, SessionError},
};

impl Core {
    /// Creates a session. `profile` is set if the session gets a shell snapshot.
    pub(super) fn open_session(
        self: &Arc<Self>,
        id: SessionId,
        base: &str,
        profile: Option<Box<SandboxProfile>>,
    ) {
        let base = match base {
            "" => None,
            name => match self.bases.get(name) {
                Some(path) => Some(path.clone()),
                None => {
                    let message = format!("this runner has no base `{name}`");
                    return self.tell_failed(id, "no_such_base", message);
                }
            },
        };
        if self.draining.is_on() && self.sessions.get(&id).is_none() {
            return self.tell_failed(id, "draining", "this runner takes no new work".to_owned());
        }
        if let Some(below) = self.below_floor().filter(|_| self.sessions.get(&id).is_none()) {
            return self.tell_failed(id, "floor", below.to_owned());
        }
        if self.tools.room.is_short() && self.sessions.get(&id).is_none() {
            return self.tell_failed(id, "disk", NO_ROOM.to_owned());
        }
        match self.sessions.reserve(id) {
            Opening::Open(session) => self.tell_open(&session),
            Opening::Underway => {}
            Opening::Refused(reason, message) => self.tell_failed(id, reason, message),
            Opening::Reserved(reserved) => {
                self.tasks.spawn(Arc::clone(self).make_session(reserved, base, profile));
            }
        }
    }

    async fn make_session(
        self: Arc<Self>,
        reserved: Reserved,
        base: Option<PathBuf>,
        profile: Option<Box<SandboxProfile>>,
    ) {
        let (id, core) = (reserved.id, Arc::clone(&self));
        let prepare = move |session: &OpenSession, cancel: &CancellationToken| {
            let Some(profile) = profile else { return };
            session
                .keep_snapshot(SessionSnapshot::missing("the runner stopped while it created the session"));
            let runner = Surroundings { tools: &core.tools, root: &core.root, config: &core.config };
            let made = make_snapshot(runner, session, &profile, cancel);
            if !made.problem.is_empty() {
                tracing::warn!(session = %session.id, problem = made.problem, "cannot create the session's \
                                                                               shell snapshot");
            }
            session.keep_snapshot(made);
        };
        let sessions = Arc::clone(&self.sessions);
        // The semaphore is never closed. If it were, the work would run without the limit.
        let _place = self.disk_work.acquire().await;
        hit(Point::BeforeSession, &"session");
        match spawn_blocking(move || sessions.make(&reserved, base.as_ref(), prepare)).await {
            Ok(Ok(session)) => {
                hit(Point::AfterSession, &"session");
                self.tell_open(&session);
            }
            Ok(Err(SessionError::Cancelled)) => self.tell(id, SessionPhase::Closed),
            Ok(Err(error)) => {
                tracing::warn!(session = %id, %error, "cannot create a session");
                self.tell_failed(id, error.reason(), error.to_string());
            }
            Err(panicked) => {
                tracing::error!(session = %id, %panicked, "the task that creates a session failed");
                self.tell_failed(id, "internal", "internal error of the runner; see its log".to_owned());
            }
        }
    }

    pub(super) fn close_session(self: &Arc<Self>, id: SessionId) {
        match self.sessions.begin_close(&id) {
            Closing::Gone => self.tell(id, SessionPhase::Closed),
            Closing::Underway => {}
            Closing::Begun(session) => {
                self.tasks.spawn(Arc::clone(self).remove_session(session));
            }
        }
    }

    async fn remove_session(self: Arc<Self>, session: Arc<OpenSession>) {
        let id = session.id;
        self.end_session_jobs(id).await;
        self.files.end_session(&session).await;
        let _place = self.disk_work.acquire().await;
        let sessions = Arc::clone(&self.sessions);
        hit(Point::BeforeSessionRemove, &"session");
        match spawn_blocking(move || sessions.remove(&session)).await {
            Ok(Ok(())) => hit(Point::AfterSessionRemove, &"session"),
            // The session is out of use, and the next start deletes it.
            Ok(Err(error)) => tracing::error!(session = %id, %error, "cannot delete a closed session"),
            Err(panicked) => tracing::error!(session = %id, %panicked, "cannot delete a closed session"),
        }
        self.tell(id, SessionPhase::Closed);
    }

    /// Returns an open session.
    pub(crate) fn session(&self, id: &SessionId) -> Option<Arc<OpenSession>> {
        self.sessions.get(id)
    }

    pub(super) fn tell_open(&self, session: &OpenSession) {
        self.tell(session.id, open_phase(session));
    }

    fn tell_failed(&self, id: SessionId, reason: &str, message: String) {
        self.tell(id, SessionPhase::Failed { reason: reason.to_owned(), message });
    }

    fn tell(&self, session_id: SessionId, phase: SessionPhase) {
        self.reports.send(&FromRunner::Session(SessionReport { session_id, phase }));
    }
}

/// Builds the report of an open session.
pub(super) fn open_phase(session: &OpenSession) -> SessionPhase {
    SessionPhase::Open { directory: session.directory(), snapshot: session.snapshot() }
}
