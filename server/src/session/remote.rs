//! What is said to runners of sessions, and what they report.

use std::sync::Arc;

use airlock_proto::domain::{Cause, ExecutionResult, SessionPhase, SessionReport, ToRunner};

use crate::{
    engine::Core,
    links::Link,
    model::{SessionRecord, SessionState},
    store::{PageQuery, SessionChange, StoreError},
};

impl Core {
    /// Asks a runner to make a session, once on each link.
    pub(crate) async fn ask_open(&self, link: &Link, session: &SessionRecord) {
        if link.set_opening(session.id) {
            let message = ToRunner::OpenSession { session_id: session.id, base: session.base.clone() };
            // If it does not arrive the link has ended, and the runner is asked on its next one.
            let _ = link.send(message, self.parts.limits.send_wait).await;
        }
    }

    /// Asks its runner to remove a session, if it has a link.
    pub(crate) async fn ask_close(&self, session: &SessionRecord) {
        if let Some(link) = self.parts.links.get(&session.runner_id) {
            let message = ToRunner::CloseSession { session_id: session.id };
            let _ = link.send(message, self.parts.limits.send_wait).await;
        }
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
                let _ =
                    link.send(ToRunner::CloseSession { session_id: id }, self.parts.limits.send_wait).await;
            }
            return Ok(());
        };
        match report.phase {
            SessionPhase::Open { directory } => self.session_opened(&session, directory).await,
            SessionPhase::Failed { reason, message } => {
                link.clear_opening(id);
                self.session_failed(&session, reason, message).await
            }
            SessionPhase::Closed => {
                link.clear_opening(id);
                self.session_closed(&session).await
            }
        }
    }

    async fn session_opened(&self, session: &SessionRecord, directory: Vec<u8>) -> Result<(), StoreError> {
        let now = self
            .change_session(session.id, |session| {
                (session.state == SessionState::Opening).then(|| SessionChange {
                    state: Some((SessionState::Open, String::new())),
                    directory: Some(directory.clone()),
                    ..SessionChange::default()
                })
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

    async fn session_failed(
        &self,
        session: &SessionRecord,
        reason: String,
        message: String,
    ) -> Result<(), StoreError> {
        if session.state != SessionState::Opening {
            return Ok(());
        }
        // First what waits for it, so that each says why; then the session.
        let state_message = format!("{reason}: {message}");
        let result = ExecutionResult::not_started(Cause::Refused { reason, message });
        let page = PageQuery { size: 1000, token: None };
        for record in self.live_of_session(session.id, &page).await?.items {
            self.finish(record.id, result.clone()).await?;
        }
        self.change_session(session.id, |session| {
            (session.state == SessionState::Opening).then(|| SessionChange {
                state: Some((SessionState::Closed, state_message.clone())),
                ..SessionChange::default()
            })
        })
        .await
        .map(drop)
    }

    async fn session_closed(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.change_session(session.id, |session| {
            let (state, message) = match session.state {
                SessionState::Closing | SessionState::Lost => {
                    (SessionState::Closed, session.state_message.clone())
                }
                SessionState::Open | SessionState::Opening => {
                    (SessionState::Lost, "its runner has removed it".to_owned())
                }
                SessionState::Closed => return None,
            };
            Some(SessionChange { state: Some((state, message)), ..SessionChange::default() })
        })
        .await
        .map(drop)
    }
}
