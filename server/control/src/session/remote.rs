//! The messages to runners about sessions, and the runners' reports.

use std::sync::Arc;

use airlock_domain::{Cause, SessionId, SessionPhase, SessionReport, SessionSnapshot, ToRunner};
use airlock_lifecycle::Event;
use airlock_store::{
    SessionChange, StoreError,
    record::{SessionRecord, SessionState},
};

use super::{Sessions, to_state};
use crate::links::Link;

impl Sessions {
    /// Asks a runner to create a session, once on each link, if the session is still opening.
    pub(crate) async fn ask_open(&self, link: &Link, id: SessionId) -> Result<(), StoreError> {
        // Read again, because the runner may have just reported that it cannot create the session.
        let session = self.store.session(id).await?;
        let session = session.filter(|session| session.state == SessionState::Opening);
        if let Some(session) = session
            && link.set_opening(id)
        {
            let profile = self.profiles.get(&session.profile);
            let profile = profile.filter(|profile| !profile.sandbox.shell_init.is_empty());
            let message = ToRunner::OpenSession {
                session_id: session.id,
                base: session.base.clone(),
                profile: profile.map(|profile| Box::new(profile.sandbox.clone())),
            };
            // If sending fails, the link has ended, and the runner is asked on its next one.
            let _ = link.send(message, self.limits.send_wait).await;
        }
        Ok(())
    }

    /// Asks the session's runner to remove it, if the runner can be reached.
    pub(crate) async fn ask_close(&self, session: &SessionRecord) {
        let message = ToRunner::CloseSession { session_id: session.id };
        // The request is repeated until the runner confirms the removal.
        let _ = self.fleet.tell(&session.runner_id, message).await;
    }

    /// Processes a report. Returns after it is stored.
    pub(crate) async fn reported(&self, link: &Arc<Link>, report: SessionReport) -> Result<(), StoreError> {
        let id = report.session_id;
        let session = self.store.session(id).await?;
        let Some(session) = session.filter(|session| session.runner_id == link.hello.runner_id) else {
            if matches!(report.phase, SessionPhase::Open { .. }) {
                let message = ToRunner::CloseSession { session_id: id };
                let _ = link.send(message, self.limits.send_wait).await;
            }
            return Ok(());
        };
        match report.phase {
            SessionPhase::Open { directory, snapshot } => {
                link.set_has_session(id);
                link.set_back(id, directory.clone());
                self.session_opened(&session, directory, snapshot).await?;
            }
            SessionPhase::Failed { reason, message } => {
                self.session_failed(&session, reason, message).await?;
                link.set_has_no_session(id);
            }
            SessionPhase::Closed => {
                link.set_has_no_session(id);
                self.session_closed(&session).await?;
            }
        }
        // The change may have been made by another server, which does not notify tasks here.
        self.waits.notify(id);
        Ok(())
    }

    /// Processes a report of an open session. The runner sends it on every new link, and after it replaced a directory
    /// that no longer exists, which [`Sessions::set_back`] handles. In all other cases the reported directory is
    /// ignored, because results have already updated it. The runner's value can come from a command that moved to the
    /// background just before its end. The snapshot is stored only once; later it can only be lost.
    async fn session_opened(
        &self,
        session: &SessionRecord,
        directory: Vec<u8>,
        snapshot: SessionSnapshot,
    ) -> Result<(), StoreError> {
        let now = self
            .change(session.id, |session| match session.state {
                SessionState::Opening => Some(SessionChange {
                    state: Some((SessionState::Open, String::new())),
                    directory: Some(directory.clone()),
                    snapshot: Some(snapshot.clone()),
                    ..SessionChange::default()
                }),
                SessionState::Open => {
                    let lost = !session.snapshot.text.is_empty() && snapshot.text.is_empty();
                    lost.then(|| SessionChange {
                        snapshot: Some(snapshot.clone()),
                        ..SessionChange::default()
                    })
                }
                SessionState::Closing | SessionState::Closed | SessionState::Lost => None,
            })
            .await?;
        match now {
            Some(now) if now.state != SessionState::Open => {
                // It was closed or marked as lost in the meantime.
                self.ask_close(&now).await;
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Applies the new directory of a session that the runner reported just before it refused an offer. It
    /// applies only together with a refusal that is news, because another server may have processed it long
    /// ago.
    pub(crate) async fn set_back(&self, link: &Link, id: SessionId) -> Result<(), StoreError> {
        let Some(directory) = link.take_set_back(id) else { return Ok(()) };
        self.change(id, |session| {
            let moves = session.state == SessionState::Open && session.directory != directory;
            moves.then(|| SessionChange { directory: Some(directory.clone()), ..SessionChange::default() })
        })
        .await
        .map(drop)
    }

    async fn session_failed(
        &self,
        session: &SessionRecord,
        reason: String,
        message: String,
    ) -> Result<(), StoreError> {
        if session.state == SessionState::Open {
            // The session existed, and its runner could not restore it.
            let why = format!("{reason}: {message}");
            let gone = self.change(session.id, |session| {
                (session.state == SessionState::Open).then(|| to_state(SessionState::Lost, &why))
            });
            gone.await?;
            self.ask_close(session).await;
            return Ok(());
        }
        if session.state == SessionState::Lost {
            // The runner reports it until it is asked to remove the remains.
            self.ask_close(session).await;
            return Ok(());
        }
        if session.state != SessionState::Opening {
            return Ok(());
        }
        // The waiting executions end first, so that each contains the reason. Then the session is closed.
        let why = format!("{reason}: {message}");
        let failed = Event::SessionFailed { cause: Cause::refused(&reason, message) };
        for record in self.transitions.live_of_session(session.id).await? {
            self.transitions.advance(record.id, &failed).await?;
        }
        self.change(session.id, |session| {
            (session.state == SessionState::Opening).then(|| to_state(SessionState::Closed, &why))
        })
        .await
        .map(drop)
    }

    async fn session_closed(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.change(session.id, |session| match session.state {
            SessionState::Closing => Some(to_state(SessionState::Closed, &session.state_message)),
            SessionState::Open | SessionState::Opening => {
                Some(to_state(SessionState::Lost, "its runner removed it"))
            }
            // A lost session remains in this state after its remains are removed.
            SessionState::Closed | SessionState::Lost => None,
        })
        .await
        .map(drop)
    }
}
