//! Functions for all handlers: the authenticated caller of a request, and the status of a refusal.

use tonic::{Request, Status};

use crate::{api::ApiError, authn::Caller, status};

/// Returns the caller that the interceptor has authenticated.
///
/// # Errors
/// Returns INTERNAL if a call bypassed the interceptor, so that no call runs without a caller.
pub(super) fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request.extensions().get::<Caller>().cloned().ok_or_else(|| {
        refused(ApiError::Internal("a call reached its handler without authentication".to_owned()))
    })
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` requires this signature")]
pub(super) fn refused(error: ApiError) -> Status {
    status::from_api(&error)
}
