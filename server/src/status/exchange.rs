//! What the status of a refusal in an exchange is made of.

use std::time::Duration;

use airlock_proto::domain::ExchangeFailure;
use tonic::Code;

use crate::exchange::ExchangeRefusal;

/// When to try again what a runner cannot do just now.
const RETRY: Duration = Duration::from_secs(1);

/// Code, reason, metadata, and when to try again.
pub(super) type Parts<'a> = (Code, &'a str, Vec<(&'static str, String)>, Option<Duration>);

pub(super) fn parts(refusal: &ExchangeRefusal) -> Parts<'_> {
    let (code, mut metadata, retry) = match &refusal.failure {
        ExchangeFailure::NotFound => (Code::NotFound, vec![], None),
        ExchangeFailure::Invalid => (Code::InvalidArgument, vec![], None),
        ExchangeFailure::OutOfRange { end } => (Code::OutOfRange, vec![("end", end.to_string())], None),
        ExchangeFailure::FailedPrecondition => (Code::FailedPrecondition, vec![], None),
        ExchangeFailure::Exhausted { limit, value } => {
            let metadata = vec![("limit", limit.clone()), ("value", value.to_string())];
            (Code::ResourceExhausted, metadata, Some(RETRY))
        }
        ExchangeFailure::Unavailable => (Code::Unavailable, vec![], Some(RETRY)),
        ExchangeFailure::Internal => (Code::Internal, vec![], None),
    };
    metadata.extend(refusal.accepted.map(|accepted| ("accepted", accepted.to_string())));
    (code, &refusal.reason, metadata, retry)
}
