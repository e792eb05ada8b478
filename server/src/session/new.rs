//! New sessions, as they are first stored.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::{RunnerId, SessionId, SessionSnapshot, limits::IDLE_TIMEOUT_DEFAULT};
use airlock_store::record::{Micros, SessionRecord, SessionState};

use crate::{
    api::{ApiError, StartExecution},
    decision::WORKSPACE,
    model::Principal,
    profiles::ResolvedProfile,
};

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
