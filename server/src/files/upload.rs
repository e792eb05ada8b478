//! Uploads into a session.

use airlock_domain::{ExchangeFromRunner, ExchangeOrder, RunnerId, UploadOrder, Uploaded};

use crate::{
    api::ApiError,
    exchange::{Exchange, Exchanges, Pieces, Start, Violation, What},
    model::Principal,
};

/// Forwards an upload until the runner has put it into the session. If the future is dropped earlier, the
/// session is unchanged, and the runner keeps the received data.
///
/// # Errors
/// Returns `Invalid` for pieces out of order or an invalid archive. Returns `OutOfRange` for an offset past the
/// received data, or for an end before the announced size. Returns `Unavailable` if the runner or the client is
/// idle for too long. Also returns `Exhausted` and other refusals of the runner.
pub async fn upload(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    order: UploadOrder,
    mut pieces: Pieces,
) -> Result<Uploaded, ApiError> {
    let size = order.size;
    let mut exchange = exchanges.open(who, runner, ExchangeOrder::Upload(order)).await?;
    let uploaded = pass_on(&mut exchange, &mut pieces, size).await;
    exchange.settled(uploaded)
}

async fn pass_on(
    exchange: &mut Exchange,
    pieces: &mut Pieces,
    size: Option<u64>,
) -> Result<Uploaded, ApiError> {
    let ExchangeFromRunner::Ready { offset: ready } = exchange.hear().await? else {
        return Err(exchange.misbehaved(Violation::WrongKind));
    };
    if size.is_some_and(|size| ready > size) {
        return Err(exchange.misbehaved(Violation::WrongSize));
    }
    let poured = exchange.pour(pieces, Start { ready, what: What::Upload { size } }).await?;
    match poured.answer {
        ExchangeFromRunner::Uploaded(uploaded) if poured.complete => {
            if uploaded.received == poured.reached {
                Ok(uploaded)
            } else {
                Err(exchange.misbehaved(Violation::WrongSize))
            }
        }
        _ => Err(exchange.misbehaved(Violation::WrongKind)),
    }
}
