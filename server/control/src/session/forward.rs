//! Forwarded connections: authorization and audit.

use airlock_domain::ForwardId;
use airlock_store::record::{ForwardRecord, ForwardStep, Micros, SessionRecord};

use super::Sessions;
use crate::{api::ApiError, model::Principal};

/// The reason code of a port that the profile does not permit.
const OFF: &str = "PORT_FORWARD_OFF";

impl Sessions {
    /// Authorizes a connection to a port of a session, under the same rules as running commands there, and opens its
    /// audit entry.
    ///
    /// # Errors
    /// Returns `Forbidden` without the session's profile, `FailedPrecondition` (`PROFILE_GONE`, `PORT_FORWARD_OFF`), or
    /// `Unavailable` if the entry cannot be written. The connection must not be opened in these cases.
    pub(crate) async fn begin_forward(
        &self,
        who: &Principal,
        session: &SessionRecord,
        port: u16,
    ) -> Result<ForwardRecord, ApiError> {
        self.lifecycle.check_running()?;
        let profile = self.decisions.profile_to_use(who, session)?;
        let permitted = profile.port_forward.iter().any(|range| range.contains(port));
        let (step, reason) = match permitted {
            true => (ForwardStep::Begun, ""),
            false => (ForwardStep::Refused, OFF),
        };
        let begun = ForwardRecord {
            id: ForwardId::new(),
            session_id: session.id,
            tenant: who.tenant.clone(),
            principal: who.name.clone(),
            peer: who.peer.clone(),
            port,
            step,
            reason: reason.to_owned(),
            sent: 0,
            received: 0,
            duration_micros: 0,
            at: Micros(0),
        };
        self.note_forward(&begun).await?;
        if permitted {
            return Ok(begun);
        }
        let name = profile.name();
        let message = format!(
            "profile `{name}` does not permit forwarding port {port}; add it to its key `port_forward`"
        );
        Err(ApiError::FailedPrecondition { reason: OFF, message })
    }

    /// Writes an audit entry of a connection.
    ///
    /// # Errors
    /// Returns `Unavailable` if the entry cannot be written.
    pub(crate) async fn note_forward(&self, entry: &ForwardRecord) -> Result<(), ApiError> {
        Ok(self.store.note_forward(entry).await?)
    }
}
