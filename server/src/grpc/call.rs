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

/// Returns the status of a refusal of a service or of the output streams.
pub(super) fn refused(error: impl Into<ApiError>) -> Status {
    status::from_api(&error.into())
}
