//! Sessions: making them on a runner, reading them, closing them.
//!
//! A session is written down before any runner hears of it, so that whatever dies on the way, somebody
//! finds the row and finishes or removes what it stands for.

mod remote;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_proto::{
    domain::{CancelledBy, RunnerId, SessionId, Shell},
    limits::IDLE_TIMEOUT_DEFAULT,
};

use crate::{
    api::{ApiError, CreateSession, StartExecution},
    decision::{WORKSPACE, session_hash},
    engine::Core,
    execution::violation,
    model::{Micros, Principal, SessionRecord, SessionState},
    profiles::ResolvedProfile,
    store::{Cas, Created, ExecutionQuery, Page, PageQuery, SessionChange, SessionQuery, StoreError},
};

/// How often a wait looks at the store by itself.
const POLL: Duration = Duration::from_secs(1);
/// After so long without a live execution a throw-away session that was not closed is.
const THROWAWAY_IDLE: Duration = Duration::from_secs(60);
/// The runner of a session that was never on one.
const NO_RUNNER: &str = "-";
/// Tries of one change, each lost to another writer.
const TRIES: u32 = 100;

impl Core {
    /// Makes a session and waits until it is usable. Dropped midway, it goes on; the client asks again
    /// with its `request_id`, or the session ends by its idle time-out.
    pub(crate) async fn create_session(
        &self,
        who: &Principal,
        request: CreateSession,
    ) -> Result<SessionRecord, ApiError> {
        self.check_running()?;
        let profile = self.profile_for(who, request.profile.as_deref())?;
        let mut session = blank(who, &profile)?;
        session.request_hash = session_hash(&request);
        session.mode = request.mode.unwrap_or(session.mode);
        if !profile.permits(session.mode) {
            let message =
                format!("profile `{}` does not permit mode `{}`", profile.name(), session.mode.name());
            return Err(ApiError::Invalid(vec![violation("mode", message)]));
        }
        if self.check_session_limit(&who.tenant).await.is_err()
            && let Some(existing) = self.session_by_request(who, request.request_id.as_deref()).await?
        {
            return self.repeated_session(existing, &session.request_hash).await;
        }
        self.check_session_limit(&who.tenant).await?;
        session.runner_id = match self.pick_runner(request.base.as_deref()) {
            Ok(runner) => runner,
            Err(error) => {
                return match self.session_by_request(who, request.request_id.as_deref()).await? {
                    Some(existing) => self.repeated_session(existing, &session.request_hash).await,
                    None => Err(error),
                };
            }
        };
        session.request_id = request.request_id;
        session.shell = request.shell.unwrap_or(Shell::Bash);
        session.base = request.base.unwrap_or_default();
        session.env = request.env;
        session.labels = request.labels;
        session.idle_timeout = request.idle_timeout.unwrap_or(IDLE_TIMEOUT_DEFAULT);
        let key = session.request_id.clone().unwrap_or_default();
        match self.store().create_session(session).await? {
            Created::New(session) => {
                if let Some(link) = self.parts.links.get(&session.runner_id) {
                    self.ask_open(&link, &session).await;
                }
                self.wait_open(session).await
            }
            Created::Existing(session) => self.wait_open(session).await,
            Created::Conflict => Err(ApiError::AlreadyExists { request_id: key }),
        }
    }

    async fn repeated_session(
        &self,
        existing: SessionRecord,
        hash: &[u8; 32],
    ) -> Result<SessionRecord, ApiError> {
        if existing.request_hash != *hash {
            return Err(ApiError::AlreadyExists { request_id: existing.request_id.unwrap_or_default() });
        }
        self.wait_open(existing).await
    }

    /// The session that was made with this key, if any. Only asked where a new one could not be made.
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
            let found = self.store().sessions(&query, &page).await?;
            if let Some(session) =
                found.items.into_iter().find(|session| session.request_id.as_deref() == Some(key))
            {
                return Ok(Some(session));
            }
            page.token = found.next;
            if page.token.is_none() {
                return Ok(None);
            }
        }
    }

    /// Waits until a session is open, or will not be.
    async fn wait_open(&self, session: SessionRecord) -> Result<SessionRecord, ApiError> {
        let wait = self.parts.limits.open_wait;
        let session =
            self.wait_session(session.id, wait, |session| session.state != SessionState::Opening).await?;
        match session.state {
            SessionState::Open => Ok(session),
            SessionState::Opening => {
                self.begin_close(session.id, "its runner did not make it in time").await?;
                Err(ApiError::Unavailable {
                    reason: "SESSION_TIMED_OUT",
                    message: "the runner did not make the session in time".to_owned(),
                    retry_after: Duration::from_secs(1),
                })
            }
            SessionState::Closing | SessionState::Closed | SessionState::Lost => {
                Err(ApiError::FailedPrecondition {
                    reason: "SESSION_NOT_OPEN",
                    message: format!(
                        "session `{}` could not be made or is closed: {}",
                        session.id, session.state_message
                    ),
                })
            }
        }
    }

    /// Waits at most `timeout` until `done`, and returns the session as it then is.
    async fn wait_session(
        &self,
        id: SessionId,
        timeout: Duration,
        done: impl Fn(&SessionRecord) -> bool,
    ) -> Result<SessionRecord, ApiError> {
        let deadline = tokio::time::Instant::now() + timeout;
        let wait = self.session_waits.enter(id);
        let found = loop {
            // Listens before it looks, so that a change in between is not missed.
            let changed = wait.notified();
            let session = match self.store().session(id).await {
                Ok(Some(session)) => session,
                Ok(None) => break Err(no_such_session(id)),
                Err(error) => break Err(error.into()),
            };
            if done(&session) || tokio::time::Instant::now() >= deadline || self.stop.is_cancelled() {
                break Ok(session);
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(POLL) => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.stop.cancelled() => {}
            }
        };
        self.session_waits.leave(id, wait);
        found
    }

    pub(crate) async fn session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        let session = self.store().session(id).await?;
        session.filter(|session| session.tenant == who.tenant).ok_or_else(|| no_such_session(id))
    }

    pub(crate) async fn list_sessions(
        &self,
        who: &Principal,
        mut query: SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, ApiError> {
        query.tenant = Some(who.tenant.clone());
        Ok(self.store().sessions(&query, page).await?)
    }

    pub(crate) async fn close_session(
        &self,
        who: &Principal,
        id: SessionId,
    ) -> Result<SessionRecord, ApiError> {
        self.session(who, id).await?;
        self.begin_close(id, "it was closed").await?;
        let is_over =
            |session: &SessionRecord| matches!(session.state, SessionState::Closed | SessionState::Lost);
        self.wait_session(id, self.parts.limits.close_wait, is_over).await
    }

    /// Ends what runs in a session and asks its runner to remove it.
    pub(crate) async fn begin_close(&self, id: SessionId, why: &str) -> Result<(), StoreError> {
        let closing = self
            .change_session(id, |session| {
                let live = matches!(session.state, SessionState::Opening | SessionState::Open);
                live.then(|| SessionChange {
                    state: Some((SessionState::Closing, why.to_owned())),
                    ..SessionChange::default()
                })
            })
            .await?;
        match closing {
            Some(session) if session.state == SessionState::Closing => self.close_on_runner(&session).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Ends the executions of a closing session and has it removed. Repeated until it is.
    pub(crate) async fn close_on_runner(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let mut page = PageQuery { size: 1000, token: None };
        loop {
            let live = self.live_of_session(session.id, &page).await?;
            for record in &live.items {
                self.cancel_as(record.id, CancelledBy::Session).await?;
            }
            page.token = live.next;
            if page.token.is_none() {
                break;
            }
        }
        self.ask_close(session).await;
        Ok(())
    }

    /// Closes a throw-away session whose execution has ended.
    pub(crate) async fn close_if_used_up(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let live = matches!(session.state, SessionState::Opening | SessionState::Open);
        if !session.throwaway || !live {
            return Ok(());
        }
        let query = ExecutionQuery { session_id: Some(session.id), ..ExecutionQuery::default() };
        let page = PageQuery { size: 1, token: None };
        // Its one execution is written down just after it.
        if self.store().executions(&query, &page).await?.items.is_empty()
            && self.since(session.created) < THROWAWAY_IDLE
        {
            return Ok(());
        }
        self.begin_close(session.id, "its execution has ended").await
    }

    /// Closes a throw-away session that got no execution and that no runner was told of.
    pub(crate) async fn drop_unused(&self, session: &SessionRecord) {
        let closed = self
            .change_session(session.id, |session| {
                (session.state == SessionState::Opening).then(|| SessionChange {
                    state: Some((SessionState::Closed, "it was not needed".to_owned())),
                    ..SessionChange::default()
                })
            })
            .await;
        if let Err(error) = closed {
            // It ends by its idle time-out.
            tracing::warn!(session_id = %session.id, %error, "a session that is not needed could not be closed");
        }
    }

    /// Makes the change that `change` makes of the session as it is, for as long as it makes one; the
    /// session as it then is.
    pub(crate) async fn change_session(
        &self,
        id: SessionId,
        change: impl Fn(&SessionRecord) -> Option<SessionChange>,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let Some(mut session) = self.store().session(id).await? else { return Ok(None) };
        for _ in 0..TRIES {
            let Some(wanted) = change(&session) else { return Ok(Some(session)) };
            match self.store().change_session(id, session.version, &wanted).await? {
                Cas::Done(after) => {
                    self.session_waits.notify(id);
                    self.wake.wake(id);
                    return Ok(Some(after));
                }
                Cas::Stale(now) => session = now,
                Cas::Missing => return Ok(None),
            }
        }
        Err(StoreError::Unavailable("a session is changed by too many at once".to_owned()))
    }

    pub(crate) async fn check_session_limit(&self, tenant: &str) -> Result<(), ApiError> {
        let limit = self.parts.limits.sessions_per_tenant;
        if self.store().live_session_count(tenant).await? >= limit {
            return Err(ApiError::Exhausted {
                limit: "sessions_per_tenant",
                value: limit,
                retry_after: Duration::from_secs(1),
            });
        }
        Ok(())
    }

    /// The profile of this name, or the principal's default, if it may be used.
    pub(crate) fn profile_for(
        &self,
        who: &Principal,
        name: Option<&str>,
    ) -> Result<Arc<ResolvedProfile>, ApiError> {
        let name = name.or_else(|| who.profiles.first().map(String::as_str)).unwrap_or_default();
        let may_use = who.profiles.iter().any(|own| own == name);
        let profile = self.parts.profiles.get(name).filter(|_| may_use);
        profile.cloned().ok_or_else(|| ApiError::NotFound { what: "profile", id: name.to_owned() })
    }

    /// The profile of a session that is there.
    pub(crate) fn profile_of(&self, session: &SessionRecord) -> Result<Arc<ResolvedProfile>, ApiError> {
        self.parts.profiles.get(&session.profile).cloned().ok_or_else(|| ApiError::FailedPrecondition {
            reason: "PROFILE_GONE",
            message: format!("the session's profile `{}` is no longer there", session.profile),
        })
    }

    /// The session that a request without one will get. No runner yet.
    pub(crate) fn throwaway_session(
        &self,
        who: &Principal,
        request: &StartExecution,
        profile: &ResolvedProfile,
    ) -> Result<SessionRecord, ApiError> {
        let mut session = blank(who, profile)?;
        session.mode = request.mode.unwrap_or(session.mode);
        session.base = request.base.clone().unwrap_or_default();
        session.idle_timeout = THROWAWAY_IDLE;
        session.throwaway = true;
        Ok(session)
    }
}

/// A session of this principal, on no runner yet.
fn blank(who: &Principal, profile: &ResolvedProfile) -> Result<SessionRecord, ApiError> {
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
        shell: Shell::Bash,
        directory: WORKSPACE.as_bytes().to_vec(),
        env: BTreeMap::new(),
        runner_id,
        base: String::new(),
        labels: BTreeMap::new(),
        idle_timeout: IDLE_TIMEOUT_DEFAULT,
        throwaway: false,
        created: Micros(0),
        last_used: Micros(0),
    })
}

fn no_such_session(id: SessionId) -> ApiError {
    ApiError::NotFound { what: "session", id: id.to_string() }
}
