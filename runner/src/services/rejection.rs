//! The rejection of an offer by the checks of its contents.

use std::sync::Arc;

use crate::{floor::Refusal, session::OpenSession};

/// A refusal, and the session if its directory or snapshot was found missing. The session is reported first, so that
/// the next decision uses its current state.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) refusal: Refusal,
    pub(super) changed_session: Option<Arc<OpenSession>>,
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, changed_session: None }
    }
}
