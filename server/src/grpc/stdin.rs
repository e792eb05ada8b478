//! The WriteStdin call: writes to the input of a running command.

use std::time::Duration;

use airlock_domain::{ExchangeOrder, ExecutionId, ExecutionState, limits::WAIT_MAX};
use airlock_proto::v1::{ExecutionServiceWriteStdinRequest, ExecutionServiceWriteStdinResponse};
use tokio::time::sleep;
use tonic::{Request, Status, Streaming};

use super::{Edge, incoming::Incoming, refused};
use crate::{
    api::ApiError,
    exchange::input::{self, Written},
    model::Principal,
    validate,
};

/// The interval at which the state of a command is read while the store is unavailable.
const RETRY: Duration = Duration::from_secs(5);

/// Forwards the client's data until its stream ends.
pub(super) async fn write(
    edge: &Edge,
    who: &Principal,
    request: Request<Streaming<ExecutionServiceWriteStdinRequest>>,
) -> Result<ExecutionServiceWriteStdinResponse, Status> {
    let Written { accepted, ended } = pass_on(edge, who, request).await.map_err(refused)?;
    Ok(ExecutionServiceWriteStdinResponse { accepted, ended })
}

async fn pass_on(
    edge: &Edge,
    who: &Principal,
    request: Request<Streaming<ExecutionServiceWriteStdinRequest>>,
) -> Result<Written, ApiError> {
    let mut incoming = Incoming::new(request);
    let first = incoming.first("execution_id", edge.exchanges.limits().transfer_idle).await?;
    let (id, take_over, first) = validate::write_stdin(first)?;
    let execution = edge.engine.execution_to_write_to(who, id).await?;
    if !execution.spec.stdin {
        return Err(closed());
    }
    let runner =
        execution.runner_id.ok_or_else(|| ApiError::Internal(format!("execution `{id}` has no runner")))?;
    let pieces = incoming.pieces(Some(first), validate::more_stdin);
    let order = ExchangeOrder::Stdin { execution_id: id, take_over };
    input::write(&edge.exchanges, who, &runner, order, pieces, over(edge, who, id)).await
}

/// Returns when the execution has ended.
async fn over(edge: &Edge, who: &Principal, id: ExecutionId) {
    loop {
        match edge.engine.wait(who, id, WAIT_MAX).await {
            Ok(record) if record.state == ExecutionState::Finished => return,
            Ok(_) => {}
            Err(_) => sleep(RETRY).await,
        }
    }
}

fn closed() -> ApiError {
    ApiError::FailedPrecondition {
        reason: "STDIN_CLOSED",
        message: "the command was started without `stdin` and accepts no input".to_owned(),
    }
}
