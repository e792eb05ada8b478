//! Steps in the lives of executions: compare-and-set, and all that goes with one, in one transaction.

use airlock_proto::domain::{ExecutionId, ExecutionState, OutputState};

use super::{
    approvals, audit,
    engine::{self, Tx, clock},
    executions, milestones, queue, sessions,
};
use crate::{
    model::ExecutionRecord,
    store::{Cas, StoreError, Transition, sql::rows::output_columns, step},
};

pub(in crate::store) async fn take(
    mut tx: Tx,
    id: ExecutionId,
    version: u64,
    step: &Transition,
) -> Result<Cas<ExecutionRecord>, StoreError> {
    let Some(record) = executions::get_to_change(&mut tx, id).await? else {
        return Ok(Cas::Missing);
    };
    if record.version != version {
        return Ok(Cas::Stale(record));
    }
    let now = clock(&mut tx).await?;
    let from = record.state;
    let taken = step::taken(record, step, now)?;
    let record = &taken.record;
    executions::update(&mut tx, record).await?;
    if let Some(change) = &taken.change {
        executions::insert_change(&mut tx, id, change).await?;
    }
    if taken.withdraw {
        approvals::withdraw(&mut tx, id).await?;
    }
    if let Some(approval) = &taken.approval {
        approvals::insert(&mut tx, approval).await?;
    }
    if taken.finished {
        audit::close(&mut tx, record, now).await?;
        sessions::touch(&mut tx, record.session_id, now).await?;
        if let Some(result) = &record.result {
            sessions::follow(&mut tx, record.session_id, result).await?;
            queue::note_output(&mut tx, &record.tenant, result, now).await?;
        }
    }
    match (from, record.state) {
        (ExecutionState::Queued, ExecutionState::Starting) => queue::charge(&mut tx, &record.tenant).await?,
        (ExecutionState::Starting, ExecutionState::Queued) => queue::give_back(&mut tx, id).await?,
        _ => {}
    }
    // Last, for its number is taken in the order of the commits.
    if let Some(milestone) = taken.milestone {
        milestones::insert(&mut tx, record, milestone).await?;
    }
    engine::commit(tx).await?;
    Ok(Cas::Done(taken.record))
}

pub(in crate::store) async fn set_output(
    mut tx: Tx,
    id: ExecutionId,
    output: OutputState,
) -> Result<(), StoreError> {
    let (output, from) = output_columns(output);
    sqlx::query("UPDATE executions SET output = $1, output_from = $2 WHERE id = $3")
        .bind(output)
        .bind(from)
        .bind(id.to_string())
        .execute(&mut *tx)
        .await?;
    engine::commit(tx).await
}

pub(in crate::store) async fn renew_leases(
    mut tx: Tx,
    server_id: &str,
    lease_micros: i64,
) -> Result<u64, StoreError> {
    let until = clock(&mut tx).await?.0.saturating_add(lease_micros);
    let renewed =
        sqlx::query("UPDATE executions SET lease_until = $1 WHERE owner_server = $2 AND ended IS NULL")
            .bind(until)
            .bind(server_id)
            .execute(&mut *tx)
            .await?
            .rows_affected();
    engine::commit(tx).await?;
    Ok(renewed)
}

pub(in crate::store) async fn take_storing(
    mut tx: Tx,
    id: ExecutionId,
    server_id: &str,
    lease_micros: i64,
) -> Result<bool, StoreError> {
    let now = clock(&mut tx).await?.0;
    let taken = sqlx::query(
        "UPDATE executions SET owner_server = $1, lease_until = $2 WHERE id = $3 AND ended IS NOT NULL \
         AND output IN ('LIVE', 'STORING') \
         AND (owner_server IS NULL OR owner_server = $1 OR lease_until <= $4)",
    )
    .bind(server_id)
    .bind(now.saturating_add(lease_micros))
    .bind(id.to_string())
    .bind(now)
    .execute(&mut *tx)
    .await?
    .rows_affected();
    engine::commit(tx).await?;
    Ok(taken > 0)
}
