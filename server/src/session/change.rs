//! Changes of a session's state.

use crate::{model::SessionState, store::SessionChange};

/// Returns a change of only the state.
pub(super) fn to_state(state: SessionState, why: &str) -> SessionChange {
    SessionChange { state: Some((state, why.to_owned())), ..SessionChange::default() }
}
