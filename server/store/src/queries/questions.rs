//! Questions about connections of running executions: approvals with a connection.

use airlock_domain::{ApprovalId, ExecutionId, ExecutionState};
use airlock_lifecycle::asks_about_connection;

use super::{
    approvals,
    engine::{self, Tx, clock},
    executions,
};
use crate::{ConnectionQuestion, StoreError, record::ApprovalRecord};

/// Adds the approval for a connection, unless it exists, its execution does not run, or too many of the tenant are open.
pub(crate) async fn ask(
    mut tx: Tx,
    approval: &ApprovalRecord,
    valid_micros: i64,
    at_most: u64,
) -> Result<ConnectionQuestion, StoreError> {
    engine::one_at_a_time(&mut tx, engine::Turn::Creations, &approval.tenant).await?;
    if let Some(known) = approvals::get(&mut tx, approval.id).await? {
        let is_same = known.execution_id == approval.execution_id && known.connection == approval.connection;
        return Ok(if is_same {
            ConnectionQuestion::Known(Box::new(known))
        } else {
            ConnectionQuestion::Over
        });
    }
    let Some(record) = executions::get_to_change(&mut tx, approval.execution_id).await? else {
        return Ok(ConnectionQuestion::Over);
    };
    if !matches!(record.state, ExecutionState::Starting | ExecutionState::Running) {
        return Ok(ConnectionQuestion::Over);
    }
    let open: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM approvals WHERE tenant = $1 AND state = 'OPEN' AND connection_host IS NOT NULL",
    )
    .bind(&approval.tenant)
    .fetch_one(&mut *tx)
    .await?;
    if open.unsigned_abs() >= at_most {
        return Ok(ConnectionQuestion::Full);
    }
    let now = clock(&mut tx).await?;
    let taken = asks_about_connection(record, approval.clone(), valid_micros, now);
    executions::update(&mut tx, &taken.record).await?;
    if let Some(change) = &taken.change {
        executions::insert_change(&mut tx, taken.record.id, change).await?;
    }
    if let Some(approval) = &taken.approval {
        approvals::insert(&mut tx, approval).await?;
    }
    engine::commit(tx).await?;
    Ok(ConnectionQuestion::Asked)
}

/// Withdraws an open question that no connection waits for any more.
pub(crate) async fn withdraw(
    mut tx: Tx,
    execution: ExecutionId,
    approval: ApprovalId,
) -> Result<bool, StoreError> {
    let withdrawn = sqlx::query(
        "UPDATE approvals SET state = 'WITHDRAWN' \
         WHERE id = $1 AND execution_id = $2 AND state = 'OPEN' AND connection_host IS NOT NULL",
    )
    .bind(approval.to_string())
    .bind(execution.to_string())
    .execute(&mut *tx)
    .await?
    .rows_affected();
    engine::commit(tx).await?;
    Ok(withdrawn > 0)
}
