//! Creates sessions and waits until they are usable.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::{RunnerId, SessionId, SessionSnapshot, limits::IDLE_TIMEOUT_DEFAULT};
use airlock_store::{
    Created, PageQuery, SessionQuery,
    record::{Micros, SessionRecord, SessionState},
};

use super::{Sessions, not_permitted};
use crate::{
    api::{ApiError, CreateSession, StartExecution},
    decision::{WORKSPACE, refused_network, refused_variables},
    model::Principal,
    profiles::ResolvedProfile,
    runners::choose::Wants,
    shared::{exhausted, exhausted_for, no_such_session},
};

/// The interval at which a wait reads the store without a notification.
const POLL: Duration = Duration::from_secs(1);

impl Sessions {
    /// Creates a session and waits until it is usable. If the future is dropped, the creation continues. The
    /// client can repeat the request with its `request_id`; otherwise the session ends by its idle timeout.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the profile, `Exhausted` if a limit is reached, `AlreadyExists`, `Unavailable`
    /// without a runner, `FailedPrecondition` if no runner can ever match.
    pub async fn create(&self, who: &Principal, request: CreateSession) -> Result<SessionRecord, ApiError> {
        self.lifecycle.check_running()?;
        let profile = self.decisions.profile_for(who, request.profile.as_deref())?;
        let mut session = blank(who, &profile)?;
        session.request_hash = request.hash();
        session.mode = request.mode.unwrap_or(session.mode);
        let mut violations = refused_variables("env", &request.env, &profile);
        if !profile.permits(session.mode) {
            violations.push(not_permitted(&profile, session.mode));
        }
        violations.extend(refused_network("network", request.network.as_ref(), &profile, None));
        if !violations.is_empty() {
            return Err(ApiError::Invalid(violations));
        }
        session.shell = request.shell.unwrap_or(session.shell);
        let wants = Wants {
            labels: &request.runner_labels,
            base: request.base.as_deref(),
            shell: session.shell,
            unsandboxed: false,
        };
        session.runner_id = match self.runners.pick_runner(&wants) {
            Ok(runner) => runner,
            // A repeated request returns its session even if no runner is available now.
            Err(error) => {
                return match self.session_by_request(who, request.request_id.as_deref()).await? {
                    Some(existing) => self.repeated_session(existing, session.request_hash).await,
                    None => Err(error),
                };
            }
        };
        session.request_id = request.request_id;
        session.base = request.base.unwrap_or_default();
        session.env = request.env;
        session.labels = request.labels;
        session.network = request.network;
        session.runner_labels = request.runner_labels;
        session.idle_timeout = request.idle_timeout.unwrap_or(IDLE_TIMEOUT_DEFAULT);
        let key = session.request_id.clone().unwrap_or_default();
        let per_tenant = self.limits.room(&who.tenant).sessions_per_tenant;
        match self.store.create_session(session, per_tenant).await? {
            Created::New(session) => {
                match self.links.get(&session.runner_id) {
                    Some(link) => self.ask_open(&link, session.id).await?,
                    None => self.runners.hint_session(&session.runner_id, session.id).await,
                }
                self.wait_open(session).await
            }
            Created::Existing(session) => self.wait_open(session).await,
            Created::Conflict => Err(ApiError::AlreadyExists { request_id: key }),
            Created::Full { limit, value } => Err(exhausted(limit, value)),
            Created::Later { limit, value, wait_micros } => Err(exhausted_for(limit, value, wait_micros)),
        }
    }

    async fn repeated_session(
        &self,
        existing: SessionRecord,
        hash: [u8; 32],
    ) -> Result<SessionRecord, ApiError> {
        if existing.request_hash != hash {
            return Err(ApiError::AlreadyExists { request_id: existing.request_id.unwrap_or_default() });
        }
        self.wait_open(existing).await
    }

    /// Returns the session with this key. Called only if no new session can be created.
    async fn session_by_request(
        &self,
        who: &Principal,
        key: Option<&str>,
    ) -> Result<Option<SessionRecord>, ApiError> {
        let Some(key) = key else { return Ok(None) };
        let query = SessionQuery {
            tenant: Some(who.tenant.clone()),
            principal: Some(who.name.clone()),
            ..SessionQuery::default()
        };
        let mut page = PageQuery { size: 1000, token: None };
        loop {
            let found = self.store.sessions(&query, &page).await?;
            let is_it = |session: &SessionRecord| session.request_id.as_deref() == Some(key);
            if let Some(session) = found.items.into_iter().find(is_it) {
                return Ok(Some(session));
            }
            page.token = found.next;
            if page.token.is_none() {
                return Ok(None);
            }
        }
    }

    /// Waits until a session is open or has failed.
    async fn wait_open(&self, session: SessionRecord) -> Result<SessionRecord, ApiError> {
        let wait = self.limits.open_wait;
        let is_settled = |session: &SessionRecord| session.state != SessionState::Opening;
        let session = self.wait_session(session.id, wait, is_settled).await?;
        match session.state {
            SessionState::Open => Ok(session),
            SessionState::Opening => {
                self.lifecycle.check_running()?;
                self.begin_close(session.id, "its runner did not create it in time").await?;
                Err(ApiError::Unavailable {
                    reason: "SESSION_TIMED_OUT",
                    message: "the runner did not create the session in time".to_owned(),
                    retry_after: Duration::from_secs(1),
                })
            }
            SessionState::Closing | SessionState::Closed | SessionState::Lost => {
                let why = &session.state_message;
                Err(ApiError::FailedPrecondition {
                    reason: "SESSION_NOT_OPEN",
                    message: format!("session `{}` could not be created, or was closed: {why}", session.id),
                })
            }
        }
    }

    /// Waits at most `timeout` until `done`, and returns the current session.
    pub(super) async fn wait_session(
        &self,
        id: SessionId,
        timeout: Duration,
        done: impl Fn(&SessionRecord) -> bool,
    ) -> Result<SessionRecord, ApiError> {
        let deadline = tokio::time::Instant::now() + timeout;
        let wait = self.waits.enter(id);
        loop {
            // Subscribes before it reads, so that no change is missed.
            let changed = wait.notified();
            let session = self.store.session(id).await?.ok_or_else(|| no_such_session(id))?;
            if done(&session) || tokio::time::Instant::now() >= deadline || self.lifecycle.is_stopping() {
                return Ok(session);
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(POLL) => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.lifecycle.stopped() => {}
            }
        }
    }
}

/// A temporary session that was not closed is closed after this time without a live execution.
const THROWAWAY_IDLE: Duration = Duration::from_secs(60);
/// The runner of a session that was never on one.
const NO_RUNNER: &str = "-";

/// Returns a new session of this principal without a runner.
pub(super) fn blank(who: &Principal, profile: &ResolvedProfile) -> Result<SessionRecord, ApiError> {
    let runner_id = NO_RUNNER.parse::<RunnerId>().map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(SessionRecord {
        id: SessionId::new(),
        version: 0,
        tenant: who.tenant.clone(),
        principal: who.name.clone(),
        request_id: None,
        request_hash: [0; 32],
        state: SessionState::Opening,
        state_message: String::new(),
        profile: profile.name().to_owned(),
        mode: profile.default_mode(),
        shell: profile.command.shell,
        directory: WORKSPACE.as_bytes().to_vec(),
        env: BTreeMap::new(),
        runner_id,
        base: String::new(),
        labels: BTreeMap::new(),
        runner_labels: BTreeMap::new(),
        idle_timeout: IDLE_TIMEOUT_DEFAULT,
        throwaway: false,
        snapshot: SessionSnapshot::default(),
        network: None,
        created: Micros(0),
        last_used: Micros(0),
    })
}

/// Returns the temporary session of a request, without a runner.
pub(crate) fn throwaway_session(
    who: &Principal,
    request: &StartExecution,
    profile: &Arc<ResolvedProfile>,
) -> Result<SessionRecord, ApiError> {
    let mut session = blank(who, profile)?;
    session.mode = request.mode.unwrap_or(session.mode);
    session.base = request.base.clone().unwrap_or_default();
    session.runner_labels.clone_from(&request.runner_labels);
    session.idle_timeout = THROWAWAY_IDLE;
    session.throwaway = true;
    Ok(session)
}
