//! Operations on runners, and decisions without an execution.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{RunnerId, SessionSnapshot, ToRunner};

use super::{Core, RunnerState, RunnerView};
use crate::{
    api::{ApiError, CheckCommand},
    decision::{WORKSPACE, ask_policy, parsed},
    execution::violation,
    model::{Principal, RunnerRecord},
    session::check_not_over,
    store::{Page, PageQuery},
};

/// The interval of checks for a confirmation that the runner sent to another server.
const LOOK: Duration = Duration::from_millis(200);

impl Core {
    pub(super) async fn list_runners(
        &self,
        states: &[RunnerState],
        page: &PageQuery,
    ) -> Result<Page<RunnerView>, ApiError> {
        let found = self.store().runners(page).await?;
        let wanted = |state: RunnerState| {
            if states.is_empty() { state != RunnerState::Lost } else { states.contains(&state) }
        };
        let items = found
            .items
            .into_iter()
            .map(|record| self.runner_view(record))
            .filter(|view| wanted(view.state))
            .collect();
        Ok(Page { items, next: found.next })
    }

    /// Tells a runner to drain or to resume, and waits for its confirmation.
    pub(super) async fn drain_runner(&self, id: &RunnerId, undo: bool) -> Result<RunnerView, ApiError> {
        self.runner(id).await?;
        let Some(link) = self.parts.links.get(id) else { return self.drain_far_runner(id, undo).await };
        let mut words = link.drain_words();
        let limits = &self.parts.limits;
        link.send(ToRunner::Drain { undo }, limits.send_wait).await.map_err(|_| runner_unreachable(id))?;
        tokio::select! {
            // The link holds the sender, so this cannot fail.
            _ = words.changed() => {}
            _ = link.ended() => return Err(runner_unreachable(id)),
            () = tokio::time::sleep(limits.drain_wait) => return Err(runner_unreachable(id)),
            () = self.stop.cancelled() => return Err(ApiError::shutting_down()),
        }
        self.runner(id).await
    }

    /// Does the same through another server. The confirmation is then read from the store.
    async fn drain_far_runner(&self, id: &RunnerId, undo: bool) -> Result<RunnerView, ApiError> {
        let told = self.parts.fleet.tell(id, ToRunner::Drain { undo }).await;
        told.map_err(|_| runner_unreachable(id))?;
        let deadline = tokio::time::Instant::now() + self.parts.limits.drain_wait;
        loop {
            let view = self.runner(id).await?;
            if view.record.draining != undo {
                self.learn_runner(view.record.clone());
                return Ok(view);
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(runner_unreachable(id));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.stop.cancelled() => return Err(ApiError::shutting_down()),
            }
        }
    }

    /// Returns a runner in any state.
    pub(super) async fn runner(&self, id: &RunnerId) -> Result<RunnerView, ApiError> {
        let missing = || ApiError::NotFound { what: "runner", id: id.to_string() };
        Ok(self.runner_view(self.store().runner(id).await?.ok_or_else(missing)?))
    }

    fn runner_view(&self, record: RunnerRecord) -> RunnerView {
        let (state, running) = (self.runner_state(&record), self.seats.taken(&record.id));
        RunnerView { record, state, running }
    }

    fn runner_state(&self, record: &RunnerRecord) -> RunnerState {
        match self.parts.links.get(&record.id) {
            Some(link) if link.is_draining() => RunnerState::Draining,
            Some(_) => RunnerState::Connected,
            None if !self.parts.fleet.linked(&record.id).is_empty() => match record.draining {
                true => RunnerState::Draining,
                false => RunnerState::Connected,
            },
            None if self.is_lost(&record.id)
                || self.since(record.last_seen) > self.parts.limits.lost_after =>
            {
                RunnerState::Lost
            }
            None => RunnerState::Unreachable,
        }
    }

    /// Returns the policy's decision and the name of the profile.
    #[tracing::instrument(name = "check", skip_all)]
    pub(super) async fn check(
        &self,
        who: &Principal,
        request: CheckCommand,
    ) -> Result<(airlock_policy::Decision, String), ApiError> {
        let session = match request.session_id {
            Some(_) if request.profile.is_some() => {
                let description = "is only valid without a session; remove one of the two".to_owned();
                return Err(ApiError::Invalid(vec![violation("profile", description)]));
            }
            Some(id) => {
                let session = self.session(who, id).await?;
                check_not_over(&session)?;
                Some(session)
            }
            None => None,
        };
        let profile = match &session {
            Some(session) => self.profile_to_use(who, session)?,
            None => self.profile_for(who, request.profile.as_deref())?,
        };
        let profile = match &session {
            Some(session) => self.with_remembered(profile, &session.tenant, session.id).await?,
            None => profile,
        };
        let loosest = session.as_ref().map_or(profile.default_mode(), |session| session.mode);
        let mode = request.mode.unwrap_or(loosest);
        if (session.is_some() && mode < loosest) || !profile.permits(mode) {
            let description = format!("mode `{}` is not permitted here", mode.name());
            return Err(ApiError::Invalid(vec![violation("mode", description)]));
        }
        let shell = request.shell.or_else(|| session.as_ref().map(|session| session.shell));
        let (directory, snapshot, env) = match session {
            Some(session) => (request.directory.or(Some(session.directory)), session.snapshot, session.env),
            None => (request.directory, SessionSnapshot::default(), BTreeMap::new()),
        };
        let directory = directory.unwrap_or_else(|| WORKSPACE.as_bytes().to_vec());
        let shell = shell.unwrap_or(profile.shell);
        let (name, command) = (profile.name().to_owned(), request.command);
        let ask = move || {
            let snapshot = parsed(&snapshot);
            let place = (directory.as_slice(), snapshot.as_ref());
            ask_policy(&profile, (&command, &env), (shell, false), (mode, None), place)
        };
        Ok((self.judge(&who.tenant, ask).await?, name))
    }
}

/// Returns the error for a runner that has no link now or does not answer.
pub(crate) fn runner_unreachable(runner: &RunnerId) -> ApiError {
    ApiError::Unavailable {
        reason: "RUNNER_UNREACHABLE",
        message: format!("runner `{runner}` is unreachable; try again"),
        retry_after: Duration::from_secs(1),
    }
}
