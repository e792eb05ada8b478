//! The input of a running command: what a client writes, on its way to the command's pipe. It may take
//! as long as the command does.

use std::{future::Future, pin::pin};

use airlock_proto::domain::{ExchangeFailure, ExchangeFromRunner, ExchangeOrder, RunnerId};
use tokio::time::sleep;

use super::{Exchange, ExchangeRefusal, Exchanges, Pieces, Start, Violation, What};
use crate::{api::ApiError, model::Principal};

/// The reason of a runner whose command has ended.
const NOT_RUNNING: &str = "NOT_RUNNING";

/// What has come of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes in the command's pipe, counted from its start.
    pub accepted: u64,
    /// It was ended: by the writer, or with the command.
    pub ended: bool,
}

/// Passes on what a client writes to the input that `order` names, until all of it is in the command's pipe. `over` is when the command
/// has ended; a runner that does not say so by itself is not waited for longer than for an answer.
/// Dropping the future ends the writing, and leaves the input open.
///
/// # Errors
/// `OutOfRange` from further on than what is there; `FailedPrecondition` if the command has ended, its
/// input is closed, or another writer took over; `Invalid` for pieces that are not in order; `Exhausted`; `Unavailable`.
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

/// The runner has said how far the input came, and says next why it goes no further; where it does not,
/// the command has ended. A command that ends while its writer has nothing more to give ends the input, and that is no
/// error: the writer has `reached` no further than the command.
async fn cut_short(exchange: &mut Exchange, accepted: u64, reached: u64) -> Result<Written, ApiError> {
    match exchange.hear().await {
        Err(ApiError::Exchange(no)) if no.reason == NOT_RUNNING && accepted >= reached => {
            Ok(Written { accepted, ended: true })
        }
        Err(refused @ ApiError::Exchange(_)) => Err(known_to_have_come(refused, accepted)),
        _ => Err(ApiError::Exchange(ExchangeRefusal::not_running(Some(accepted)))),
    }
}

/// It was told that nothing more comes, and has not taken all of it: the command has closed its input meanwhile, as
/// it says next, or it is not to be believed.
async fn short_of(exchange: &mut Exchange, accepted: u64) -> ApiError {
    match exchange.hear().await {
        Err(ApiError::Exchange(no)) if no.failure == ExchangeFailure::FailedPrecondition => {
            known_to_have_come(ApiError::Exchange(no), accepted)
        }
        _ => exchange.misbehaved(Violation::WrongSize),
    }
}

/// A no for good says how much is known to have reached the command.
fn known_to_have_come(error: ApiError, accepted: u64) -> ApiError {
    match error {
        ApiError::Exchange(refusal) if refusal.failure == ExchangeFailure::FailedPrecondition => {
            ApiError::Exchange(ExchangeRefusal { accepted: Some(accepted), ..refusal })
        }
        other => other,
    }
}
