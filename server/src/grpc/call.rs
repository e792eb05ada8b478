//! Functions for all handlers: the authenticated caller of a request, the status of a refusal, and pages of lists that fit
//! into a message regardless of their entries.

use airlock_control::api::ApiError;
use airlock_domain::limits::MESSAGE_BYTES;
use airlock_store::PageQuery;
use prost::Message;
use tonic::{Request, Status};

use crate::{authn::Caller, status};

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

/// Reports whether `answer`, the result for `page`, fits into a message. If not, halves `page` for a retry. A
/// single entry always fits.
pub(super) fn fits(answer: &impl Message, page: &mut PageQuery) -> bool {
    if page.size <= 1 || answer.encoded_len() <= MESSAGE_BYTES {
        return true;
    }
    page.size /= 2;
    false
}

#[cfg(test)]
mod tests {
    use airlock_proto::v1::{Execution, ExecutionServiceListResponse};

    use super::*;

    #[test]
    fn a_page_is_halved_until_it_fits() {
        let mut page = PageQuery { size: 100, token: None };
        let answer = loop {
            let entry = Execution { command: "0".repeat(100_000), ..Default::default() };
            let executions = vec![entry; page.size as usize];
            let answer = ExecutionServiceListResponse { executions, next_page_token: String::new() };
            if fits(&answer, &mut page) {
                break answer;
            }
        };
        assert_eq!(answer.executions.len(), 6);
    }
}
