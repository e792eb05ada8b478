//! File operations: each runs as an exchange with the session's runner, and the runner's response is checked
//! against the request. The services authorize the caller.

mod check;
mod digests;
mod download;
mod lists;
mod page;
mod quarantine;
mod upload;

use airlock_domain::{ExchangeFromRunner, ExchangeOrder, FileInfo, RunnerId, SessionId};

use self::check::can_be;
use crate::{
    api::ApiError,
    exchange::{Exchanges, Violation},
    model::Principal,
};

pub use download::{Download, DownloadPart, Parts, download};
pub use lists::{Entry, Listed, diff, list};
pub use quarantine::{list_quarantine, quarantined, restore_quarantine};
pub use upload::upload;

pub(crate) use page::TOKEN_BYTES;
pub(crate) use quarantine::ID_BYTES as QUARANTINE_ID_BYTES;

/// Describes one file. Dropping the future ends the exchange. This applies to all functions of this module.
///
/// # Errors
/// Returns the runner's refusal, `Exhausted` or `Unavailable`.
pub async fn stat(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    session_id: SessionId,
    path: Vec<u8>,
) -> Result<FileInfo, ApiError> {
    let order = ExchangeOrder::Stat { session_id, path };
    let mut exchange = exchanges.open(who, runner, order).await?;
    let found = match exchange.hear().await {
        Ok(ExchangeFromRunner::File(info)) if can_be(&info) => Ok(info),
        Ok(ExchangeFromRunner::File(_)) => Err(exchange.misbehaved(Violation::BadEntry)),
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    exchange.settled(found)
}
