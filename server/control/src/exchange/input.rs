//! The input of a running command, from the client to the command's pipe. A call can last as long as the command.

use std::{future::Future, pin::pin};

use airlock_domain::{ExchangeFailure, ExchangeFromRunner, ExchangeOrder, RunnerId};
use tokio::time::sleep;

use super::{
    fault::ExchangeRefusal,
    link::Violation,
    pour::{Pieces, Start, What},
    running::Exchange,
    state::Exchanges,
};
use crate::{api::ApiError, model::Principal};

/// The runner's reason code for a command that has ended.
const NOT_RUNNING: &str = "NOT_RUNNING";

/// The result of writing input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The number of bytes that reached the command's pipe, counted from the start of the input.
    pub accepted: u64,
    /// Whether the input has ended, because the writer closed it or the command ended.
    pub ended: bool,
}

/// Forwards a client's input to the execution in `order`, until all of it is in the command's pipe. `over` resolves
/// when the command has ended; a runner that does not report the end itself then has `exchange_answer_wait` left.
/// Dropping the future stops the writing and leaves the input open.
///
/// # Errors
/// `OutOfRange` if a write begins past the accepted bytes; `FailedPrecondition` if the command has ended, its input is
/// closed, or another writer took over; `Invalid` if pieces are out of order; `Exhausted`; `Unavailable`.
pub async fn write(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    order: ExchangeOrder,
    mut pieces: Pieces,
    over: impl Future<Output = ()> + Send,
) -> Result<Written, ApiError> {
    let mut exchange = exchanges.open(who, runner, order).await?;
    let wait = exchange.limits().exchange_answer_wait;
    let given_up = pin!(async {
        over.await;
        sleep(wait).await;
    });
    let written = tokio::select! {
        written = pass_on(&mut exchange, &mut pieces) => written,
        () = given_up => Err(ApiError::Exchange(ExchangeRefusal::not_running(None))),
    };
    exchange.settled(written)
}

async fn pass_on(exchange: &mut Exchange, pieces: &mut Pieces) -> Result<Written, ApiError> {
    let ExchangeFromRunner::Ready { offset: ready } = exchange.hear().await? else {
        return Err(exchange.misbehaved(Violation::WrongKind));
    };
    let start = Start { ready, what: What::Input };
    let poured = exchange.pour(pieces, start).await.map_err(|error| known_to_have_come(error, ready))?;
    let ExchangeFromRunner::Written { accepted, ended } = poured.answer else {
        return Err(exchange.misbehaved(Violation::WrongKind));
    };
    if !poured.complete {
        return cut_short(exchange, accepted, poured.reached).await;
    }
    if accepted < poured.reached || (poured.closed && !ended) {
        return Err(short_of(exchange, accepted).await);
    }
    Ok(Written { accepted, ended })
}

/// Handles a runner that reported `accepted` before the client's input ended. The runner next reports the reason; if it
/// does not, the command has ended. If the command ended after it had accepted all `reached` bytes, the write succeeds
/// with `ended` set.
async fn cut_short(exchange: &mut Exchange, accepted: u64, reached: u64) -> Result<Written, ApiError> {
    match exchange.hear().await {
        Err(ApiError::Exchange(no)) if no.reason == NOT_RUNNING && accepted >= reached => {
            Ok(Written { accepted, ended: true })
        }
        Err(refused @ ApiError::Exchange(_)) => Err(known_to_have_come(refused, accepted)),
        _ => Err(ApiError::Exchange(ExchangeRefusal::not_running(Some(accepted)))),
    }
}

/// Handles a runner that received the end of the input but accepted fewer bytes. Either the command closed its input,
/// which the runner reports next, or the runner violates the protocol.
async fn short_of(exchange: &mut Exchange, accepted: u64) -> ApiError {
    match exchange.hear().await {
        Err(ApiError::Exchange(no)) if no.failure == ExchangeFailure::FailedPrecondition => {
            known_to_have_come(ApiError::Exchange(no), accepted)
        }
        _ => exchange.misbehaved(Violation::WrongSize),
    }
}

/// Adds the number of accepted bytes to a permanent refusal.
fn known_to_have_come(error: ApiError, accepted: u64) -> ApiError {
    match error {
        ApiError::Exchange(refusal) if refusal.failure == ExchangeFailure::FailedPrecondition => {
            ApiError::Exchange(ExchangeRefusal { accepted: Some(accepted), ..refusal })
        }
        other => other,
    }
}
