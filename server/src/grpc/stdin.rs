//! The WriteStdin call: writes to the input of a running command.

use std::time::Duration;

use airlock_control::{
    api::ApiError,
    exchange::{
        Exchanges,
        input::{self, Written},
    },
    execution::Executions,
    model::Principal,
};
use airlock_domain::{ExchangeOrder, ExecutionId, ExecutionState, limits::WAIT_MAX};
use airlock_proto::v1::{ExecutionServiceWriteStdinRequest, ExecutionServiceWriteStdinResponse};
use tokio::time::sleep;
use tonic::{Request, Status, Streaming};

use super::{call::refused, incoming::Incoming};
use crate::validate;

/// The interval at which the state of a command is read while the store is unavailable.
const RETRY: Duration = Duration::from_secs(5);

/// Forwards the client's data until its stream ends.
pub(super) async fn write(
    (executions, exchanges): (&Executions, &Exchanges),
    who: &Principal,
    request: Request<Streaming<ExecutionServiceWriteStdinRequest>>,
) -> Result<ExecutionServiceWriteStdinResponse, Status> {
    let Written { accepted, ended } =
        pass_on((executions, exchanges), who, request).await.map_err(refused)?;
    Ok(ExecutionServiceWriteStdinResponse { accepted, ended })
}

async fn pass_on(
    (executions, exchanges): (&Executions, &Exchanges),
    who: &Principal,
    request: Request<Streaming<ExecutionServiceWriteStdinRequest>>,
) -> Result<Written, ApiError> {
    let mut incoming = Incoming::new(request);
    let first = incoming.first("execution_id", exchanges.limits().transfer_idle).await?;
    let (id, take_over, first) = validate::write_stdin(first)?;
    let execution = executions.execution_to_write_to(who, id).await?;
    if !execution.spec.command.stdin {
        return Err(closed());
    }
    let runner =
        execution.runner_id.ok_or_else(|| ApiError::Internal(format!("execution `{id}` has no runner")))?;
    let pieces = incoming.pieces(Some(first), validate::more_stdin);
    let order = ExchangeOrder::Stdin { execution_id: id, take_over };
    input::write(exchanges, who, &runner, order, pieces, over(executions, who, id)).await
}

/// Returns when the execution has ended.
async fn over(executions: &Executions, who: &Principal, id: ExecutionId) {
    loop {
        match executions.wait(who, id, WAIT_MAX).await {
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
