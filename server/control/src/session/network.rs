//! The network of a session's running commands after a change of the session.
//!
//! The store has the truth. A message that is lost is sent again when the runner reports the command, which it does for
//! each running command on every new link.

use airlock_domain::{SessionId, ToRunner};
use airlock_store::{StoreError, record::SessionRecord};

use super::Sessions;
use crate::links::Link;

impl Sessions {
    /// Sends the new network of a session to its runner, through any server with a link.
    pub(super) async fn send_network(&self, session: &SessionRecord) {
        if let Err(error) = self.fleet.tell(&session.runner_id, message(session)).await {
            tracing::debug!(session = %session.id, %error, "new network not sent; the runner gets it on its next link");
        }
    }

    /// Sends the present network of a session to the runner of a command that runs. It can have changed after the
    /// command was decided, or while there was no link.
    pub(crate) async fn repeat_network(&self, link: &Link, id: SessionId) -> Result<(), StoreError> {
        let Some(session) = self.store.session(id).await? else { return Ok(()) };
        let of_profile = || self.profiles.get(&session.profile).filter(|own| !own.network.allow_nothing());
        if session.network.is_some() || of_profile().is_some() {
            // If sending fails, the link has ended, and the command is reported on the next one.
            let _ = link.send(message(&session), self.limits.send_wait).await;
        }
        Ok(())
    }
}

fn message(session: &SessionRecord) -> ToRunner {
    let SessionRecord { id, version, network, .. } = session;
    ToRunner::SetSessionNetwork { session_id: *id, version: *version, network: network.clone() }
}
