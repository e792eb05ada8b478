//! Sessions: creates them on a runner, reads them and closes them.
//!
//! A session is stored before any runner learns of it. After a failure at any point, the stored session is
//! completed or removed.

mod close;
mod create;
mod remote;
mod restore;
mod update;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::{Mode, RunnerId, SessionId, SessionSnapshot, limits::IDLE_TIMEOUT_DEFAULT};

use crate::{
    api::{ApiError, FieldViolation},
    decision::WORKSPACE,
    engine::{Core, SessionInUse},
    execution::violation,
    model::{Micros, Principal, SessionRecord, SessionState},
    profiles::ResolvedProfile,
    store::{Cas, Page, PageQuery, SessionChange, SessionQuery, StoreError},
};

/// A throw-away session that was not closed is closed after this time without a live execution.
const THROWAWAY_IDLE: Duration = Duration::from_secs(60);
/// The runner of a session that was never on one.
const NO_RUNNER: &str = "-";
/// The maximum number of attempts of one change after lost races with other writers.
const TRIES: u32 = 100;

impl Core {
    pub(crate) async fn session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        let session = self.store().session(id).await?;
        session.filter(|session| session.tenant == who.tenant).ok_or_else(|| no_such_session(id))
    }

    /// Returns an open session and marks it as used.
    pub(crate) async fn session_in_use(
        &self,
        who: &Principal,
        id: SessionId,
    ) -> Result<SessionInUse, ApiError> {
        let session = self.session(who, id).await?;
        check_open(&session)?;
        let in_use = self.uses.begin(session);
        self.store().touch_session(id).await?;
        Ok(in_use)
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

    /// Makes the change that `change` returns for the current session. Retries after a lost race until
    /// `change` returns `None`. Returns the current session.
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
        Err(StoreError::Unavailable("too many concurrent changes of one session".to_owned()))
    }

    /// Returns the profile with this name, or the principal's default profile, if the principal may use it.
    pub(crate) fn profile_for(
        &self,
        who: &Principal,
        name: Option<&str>,
    ) -> Result<Arc<ResolvedProfile>, ApiError> {
        let name = name.or_else(|| who.default_profile()).unwrap_or_default();
        let profile = self.parts.profiles.get(name).filter(|_| who.may_use(name));
        profile.ok_or_else(|| ApiError::NotFound { what: "profile", id: name.to_owned() })
    }

    /// Returns the profile of a session in which the caller wants to run or write. A principal who may not
    /// use the profile of another tenant member's session can only read the session and end its commands.
    ///
    /// # Errors
    /// Returns `Forbidden`, or `FailedPrecondition` if the profile no longer exists.
    pub(crate) fn profile_to_use(
        &self,
        who: &Principal,
        session: &SessionRecord,
    ) -> Result<Arc<ResolvedProfile>, ApiError> {
        if !who.may_use(&session.profile) {
            let (name, profile, id) = (&who.name, &session.profile, session.id);
            let message = format!("`{name}` may not use profile `{profile}` of session `{id}`");
            return Err(ApiError::Forbidden { message });
        }
        self.profile_of(session)
    }

    /// Returns the profile of an existing session.
    pub(crate) fn profile_of(&self, session: &SessionRecord) -> Result<Arc<ResolvedProfile>, ApiError> {
        self.parts.profiles.get(&session.profile).ok_or_else(|| ApiError::FailedPrecondition {
            reason: "PROFILE_GONE",
            message: format!("the session's profile `{}` no longer exists", session.profile),
        })
    }
}

/// Returns a new session of this principal without a runner.
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
        shell: profile.shell,
        directory: WORKSPACE.as_bytes().to_vec(),
        env: BTreeMap::new(),
        runner_id,
        base: String::new(),
        labels: BTreeMap::new(),
        runner_labels: BTreeMap::new(),
        idle_timeout: IDLE_TIMEOUT_DEFAULT,
        throwaway: false,
        snapshot: SessionSnapshot::default(),
        created: Micros(0),
        last_used: Micros(0),
    })
}

/// Returns a violation for a mode that the profile does not permit.
fn not_permitted(profile: &ResolvedProfile, mode: Mode) -> FieldViolation {
    let (name, mode) = (profile.name(), mode.name());
    violation("mode", format!("profile `{name}` does not permit mode `{mode}`"))
}

/// Rejects a session that is not open.
pub(crate) fn check_open(session: &SessionRecord) -> Result<(), ApiError> {
    if session.state == SessionState::Opening {
        return Err(ApiError::FailedPrecondition {
            reason: "SESSION_NOT_OPEN",
            message: format!(
                "session `{}` is not open: it is being created; try again in a moment",
                session.id
            ),
        });
    }
    check_not_over(session)
}

/// Rejects a session that has ended.
pub(crate) fn check_not_over(session: &SessionRecord) -> Result<(), ApiError> {
    let (reason, cure) = match session.state {
        SessionState::Open | SessionState::Opening => return Ok(()),
        SessionState::Closing | SessionState::Closed => ("SESSION_CLOSED", "create another session"),
        SessionState::Lost => ("SESSION_LOST", "its files are lost; create another session"),
    };
    Err(ApiError::FailedPrecondition {
        reason,
        message: format!("session `{}` is not open: {}; {cure}", session.id, state_words(session)),
    })
}

fn state_words(session: &SessionRecord) -> String {
    let state = match session.state {
        SessionState::Opening => "it is being created",
        SessionState::Open => "it is open",
        SessionState::Closing => "it is being closed",
        SessionState::Closed => "it was closed",
        SessionState::Lost => "it was lost",
    };
    if session.state_message.is_empty() {
        state.to_owned()
    } else {
        format!("{state} ({})", session.state_message)
    }
}

fn no_such_session(id: SessionId) -> ApiError {
    ApiError::NotFound { what: "session", id: id.to_string() }
}
