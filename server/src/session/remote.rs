//! What is said to runners of sessions, and what they report.

use std::sync::Arc;

use airlock_proto::domain::{
    Cause, ExecutionResult, SessionId, SessionPhase, SessionReport, SessionSnapshot, ToRunner,
};

use super::close::to_state;
use crate::{
    engine::Core,
    links::Link,
    model::{SessionRecord, SessionState},
    store::{SessionChange, StoreError},
};

impl Core {
    /// Asks a runner to make a session, once on each link, if it is still to be made.
    pub(crate) async fn ask_open(&self, link: &Link, id: SessionId) -> Result<(), StoreError> {
        // Read now: a runner must not be asked again for what it has just said it cannot make.
        let session = self.store().session(id).await?;
        let session = session.filter(|session| session.state == SessionState::Opening);
        if let Some(session) = session
            && link.set_opening(id)
        {
            let profile = self.parts.profiles.get(&session.profile);
            let profile = profile.filter(|profile| !profile.sandbox.shell_init.is_empty());
            let message = ToRunner::OpenSession {
                session_id: session.id,
                base: session.base.clone(),
                profile: profile.map(|profile| Box::new(profile.sandbox.clone())),
            };
            // If it does not arrive the link has ended, and the runner is asked on its next one.
            let _ = link.send(message, self.parts.limits.send_wait).await;
        }
        Ok(())
    }

    /// Asks its runner to remove a session, if it has a link.
    pub(crate) async fn ask_close(&self, session: &SessionRecord) {
        let message = ToRunner::CloseSession { session_id: session.id };
        // It is asked again until it has said that it did.
        let _ = self.parts.fleet.tell(&session.runner_id, message).await;
    }

    /// Takes in a report. Returns when the store has it.
    pub(crate) async fn session_reported(
        &self,
        link: &Arc<Link>,
        report: SessionReport,
    ) -> Result<(), StoreError> {
        let id = report.session_id;
        let session = self.store().session(id).await?;
        let Some(session) = session.filter(|session| session.runner_id == link.hello.runner_id) else {
            if matches!(report.phase, SessionPhase::Open { .. }) {
                let message = ToRunner::CloseSession { session_id: id };
                let _ = link.send(message, self.parts.limits.send_wait).await;
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
                link.clear_opening(id);
            }
            SessionPhase::Closed => {
                link.clear_opening(id);
                self.session_closed(&session).await?;
            }
        }
        // The change may be another server's, which wakes nobody here.
        self.session_waits.notify(id);
        Ok(())
    }

    /// It is there, in this directory: also said on every new link, and when a session's directory has vanished and it
    /// was set back, which [`Core::set_back`] takes in. Otherwise nothing has moved it: what results said is known here
    /// already, and the runner may have followed a command that was sent to the background just before it ended. What
    /// its snapshot is, is said once: later it can only be lost.
    async fn session_opened(
        &self,
        session: &SessionRecord,
        directory: Vec<u8>,
        snapshot: SessionSnapshot,
    ) -> Result<(), StoreError> {
        let now = self
            .change_session(session.id, |session| match session.state {
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
                // It was closed, or given up for lost, while it was made or away.
                self.ask_close(&now).await;
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A session is where its runner has set it back, which it said just before it refused an offer for that. Only with
    /// that refusal, as long as it is news, does it count: another server may have heard of it long ago.
    pub(crate) async fn set_back(&self, link: &Link, id: SessionId) -> Result<(), StoreError> {
        let Some(directory) = link.take_set_back(id) else { return Ok(()) };
        self.change_session(id, |session| {
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
            // It was there, and its runner could not find it again.
            let why = format!("{reason}: {message}");
            let gone = self.change_session(session.id, |session| {
                (session.state == SessionState::Open).then(|| to_state(SessionState::Lost, &why))
            });
            gone.await?;
            self.ask_close(session).await;
            return Ok(());
        }
        if session.state == SessionState::Lost {
            // Its runner speaks of it until it is asked to remove what is left.
            self.ask_close(session).await;
            return Ok(());
        }
        if session.state != SessionState::Opening {
            return Ok(());
        }
        // First what waits for it, so that each says why; then the session.
        let why = format!("{reason}: {message}");
        let result = ExecutionResult::not_started(Cause::refused(&reason, message));
        for record in self.live_of_session(session.id).await? {
            self.finish(record.id, result.clone()).await?;
        }
        self.change_session(session.id, |session| {
            (session.state == SessionState::Opening).then(|| to_state(SessionState::Closed, &why))
        })
        .await
        .map(drop)
    }

    async fn session_closed(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.change_session(session.id, |session| match session.state {
            SessionState::Closing => Some(to_state(SessionState::Closed, &session.state_message)),
            SessionState::Open | SessionState::Opening => {
                Some(to_state(SessionState::Lost, "its runner has removed it"))
            }
            // What was lost stays so, also when what is left of it was removed.
            SessionState::Closed | SessionState::Lost => None,
        })
        .await
        .map(drop)
    }
}
