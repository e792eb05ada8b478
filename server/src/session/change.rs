//! Changes of a session's state.

use airlock_store::{SessionChange, record::SessionState};

/// Returns a change of only the state.
pub(super) fn to_state(state: SessionState, why: &str) -> SessionChange {
    SessionChange { state: Some((state, why.to_owned())), ..SessionChange::default() }
}
