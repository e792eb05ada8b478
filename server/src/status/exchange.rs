//! The parts of a status for a refused exchange.

use std::time::Duration;

use airlock_domain::ExchangeFailure;
use tonic::Code;

use crate::exchange::ExchangeRefusal;

/// The time after which to retry if a runner is temporarily unable.
const RETRY: Duration = Duration::from_secs(1);
/// Limits of a runner that concern the data itself, so that a retry does not help.
const FIXED: [&str; 3] = ["transfers.bytes", "transfers.unpacked_bytes", "transfers.entries"];

/// Code, reason, metadata, and the time after which to retry.
pub(super) type Parts<'a> = (Code, &'a str, Vec<(&'static str, String)>, Option<Duration>);

pub(super) fn parts(refusal: &ExchangeRefusal) -> Parts<'_> {
    let (code, mut metadata, retry) = match &refusal.failure {
        ExchangeFailure::NotFound => (Code::NotFound, vec![], None),
        ExchangeFailure::Invalid => (Code::InvalidArgument, vec![], None),
        ExchangeFailure::OutOfRange { end } => (Code::OutOfRange, vec![("end", end.to_string())], None),
        ExchangeFailure::FailedPrecondition => (Code::FailedPrecondition, vec![], None),
        ExchangeFailure::Exhausted { limit, value } => {
            let metadata = vec![("limit", limit.clone()), ("value", value.to_string())];
            let retry = (!FIXED.contains(&limit.as_str())).then_some(RETRY);
            (Code::ResourceExhausted, metadata, retry)
        }
        ExchangeFailure::Unavailable => (Code::Unavailable, vec![], Some(RETRY)),
        ExchangeFailure::Internal => (Code::Internal, vec![], None),
    };
    metadata.extend(refusal.accepted.map(|accepted| ("accepted", accepted.to_string())));
    (code, &refusal.reason, metadata, retry)
}
