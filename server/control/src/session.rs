//! Sessions: creates them on a runner, reads them and closes them.
//!
//! A session is stored before any runner learns of it. After a failure at any point, the stored session is
//! completed or removed.

mod close;
pub(crate) mod create;
mod forward;
mod network;
mod remote;
mod restore;

use std::sync::Arc;

use airlock_domain::{Mode, SessionId};
use airlock_store::{
    Cas, ChangedBy, NetworkChange, Page, PageQuery, SessionChange, SessionQuery, Store, StoreError,
    record::{SessionRecord, SessionState},
};

use crate::{
    api::{ApiError, FieldViolation, UpdateSession},
    decision::refused_network,
    decisions::Decisions,
    fleet::Fleet,
    limits::ServiceLimits,
    links::Links,
    model::Principal,
    profiles::{LiveProfiles, ResolvedProfile},
    runners::Runners,
    shared::{
        Clock, Hints, Lifecycle, SessionInUse, SessionUses, SessionWaits, check_open, no_such_session,
        violation,
    },
    transition::Transitions,
};

/// The maximum number of attempts of one change after lost races with other writers.
const TRIES: u32 = 100;

/// The sessions.
pub struct Sessions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) profiles: LiveProfiles,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) hints: Arc<Hints>,
    pub(crate) uses: SessionUses,
    pub(crate) waits: SessionWaits,
    pub(crate) clock: Arc<Clock>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) limits: ServiceLimits,
}

impl Sessions {
    /// Returns a session of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        let session = self.store.session(id).await?;
        session.filter(|session| session.tenant == who.tenant).ok_or_else(|| no_such_session(id))
    }

    /// Returns an open session and marks it as used.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`).
    pub async fn in_use(&self, who: &Principal, id: SessionId) -> Result<SessionInUse, ApiError> {
        let session = self.get(who, id).await?;
        check_open(&session)?;
        let in_use = self.uses.begin(session);
        self.store.touch_session(id).await?;
        Ok(in_use)
    }

    /// Lists sessions of the caller's tenant, newest first. Overrides the tenant of the query.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(
        &self,
        who: &Principal,
        mut query: SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, ApiError> {
        query.tenant = Some(who.tenant.clone());
        Ok(self.store.sessions(&query, page).await?)
    }

    /// Makes the change that `change` returns for the current session. Retries after a lost race until
    /// `change` returns `None`. Returns the current session.
    pub(crate) async fn change(
        &self,
        id: SessionId,
        change: impl Fn(&SessionRecord) -> Option<SessionChange>,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let Some(mut session) = self.store.session(id).await? else { return Ok(None) };
        for _ in 0..TRIES {
            let Some(wanted) = change(&session) else { return Ok(Some(session)) };
            match self.store.change_session(id, session.version, &wanted).await? {
                Cas::Done(after) => {
                    self.waits.notify(id);
                    self.hints.sessions.insert(id);
                    return Ok(Some(after));
                }
                Cas::Stale(now) => session = now,
                Cas::Missing => return Ok(None),
            }
        }
        Err(StoreError::Unavailable("too many concurrent changes of one session".to_owned()))
    }

    /// Checks that the caller may write files into a session, under the same rules as running commands there.
    ///
    /// # Errors
    /// `Forbidden` without the session's profile, `FailedPrecondition` (`PROFILE_GONE`).
    pub fn check_may_write(&self, who: &Principal, session: &SessionRecord) -> Result<(), ApiError> {
        self.decisions.profile_to_use(who, session).map(drop)
    }
}

/// Returns a violation for a mode that the profile does not permit.
fn not_permitted(profile: &ResolvedProfile, mode: Mode) -> FieldViolation {
    let (name, mode) = (profile.name(), mode.name());
    violation("mode", format!("profile `{name}` does not permit mode `{mode}`"))
}

fn changed_by(who: &Principal) -> ChangedBy {
    ChangedBy { principal: who.name.clone(), peer: who.peer.clone() }
}

/// Returns a change of only the state.
fn to_state(state: SessionState, why: &str) -> SessionChange {
    SessionChange { state: Some((state, why.to_owned())), ..SessionChange::default() }
}

impl Sessions {
    /// Changes the mode, the network or the idle timeout of an open session, and counts as a use. Queued commands are
    /// decided again before their start, in the tighter of their own mode and the session's, with the session's network.
    /// A new network also applies to running commands; if no server has a link to the runner, on its next link.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`), `Invalid` for a mode
    /// or a network that the profile does not permit.
    pub async fn update(
        &self,
        who: &Principal,
        id: SessionId,
        update: UpdateSession,
    ) -> Result<SessionRecord, ApiError> {
        let session = self.get(who, id).await?;
        check_open(&session)?;
        let profile = self.decisions.profile_to_use(who, &session)?;
        let mode = update.mode.filter(|mode| !profile.permits(*mode));
        let mut violations: Vec<_> = mode.map(|mode| not_permitted(&profile, mode)).into_iter().collect();
        let network = update.network.as_ref().and_then(NetworkChange::rules);
        violations.extend(refused_network("network", network, &profile, None));
        if !violations.is_empty() {
            return Err(ApiError::Invalid(violations));
        }
        let change = SessionChange {
            mode: update.mode,
            idle_timeout: update.idle_timeout,
            by: update.network.is_some().then(|| changed_by(who)),
            network: update.network,
            used: true,
            ..SessionChange::default()
        };
        let after = self
            .change(id, |session| (session.state == SessionState::Open).then(|| change.clone()))
            .await?
            .ok_or_else(|| no_such_session(id))?;
        // It may have been closed in the meantime.
        check_open(&after)?;
        if change.network.is_some() {
            self.send_network(&after).await;
        }
        Ok(after)
    }
}
