//! The accounting per tenant, and the queries that take executions from the queue.

use airlock_domain::{ExecutionId, ExecutionResult, SessionId};
use airlock_lifecycle::{Lease, OwnerEvent, change_owner, taken};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Tx, clock},
    executions,
};
use crate::{
    StoreError, TakeQueued, fair,
    record::{LiveExecution, Micros},
    sql::rows::{id, integer},
};

/// The time at which the execution joined the queue. The server orders the executions of a session in the same way.
const JOINED: &str = "CASE WHEN e.approval_id IS NULL THEN e.created ELSE e.queued END";
/// No other execution of the session precedes this one.
const HAS_ITS_TURN: &str = "(NOT e.serial OR NOT EXISTS (SELECT 1 FROM executions a \
     WHERE a.session_id = e.session_id AND a.ended IS NULL AND a.serial AND a.id <> e.id \
     AND (a.state IN ('STARTING', 'RUNNING') OR (a.state = 'QUEUED' AND \
     (CASE WHEN a.approval_id IS NULL THEN a.created ELSE a.queued END, a.id) < \
     (CASE WHEN e.approval_id IS NULL THEN e.created ELSE e.queued END, e.id)))))";

/// Charges a tenant for one placement, when an execution is offered to a runner.
pub(crate) async fn charge(connection: &mut Connection, tenant: &str) -> Result<(), StoreError> {
    let mut sql = QueryBuilder::<Db>::new(
        "SELECT served, cost, (SELECT max(served) FROM tenants) FROM tenants WHERE name = ",
    );
    sql.push_bind(tenant).push(engine::TO_CHANGE);
    let counted: Option<(i64, i64, i64)> = sql.build_query_as().fetch_optional(&mut *connection).await?;
    let Some((served, cost, head)) = counted else { return Ok(()) };
    sqlx::query("UPDATE tenants SET served = $1 WHERE name = $2")
        .bind(fair::after(served, head, cost))
        .bind(tenant)
        .execute(connection)
        .await?;
    Ok(())
}

/// Adds the output of an execution to the day on which it ended.
pub(crate) async fn note_output(
    connection: &mut Connection,
    tenant: &str,
    result: &ExecutionResult,
    now: Micros,
) -> Result<(), StoreError> {
    let written = result.stdout_bytes.saturating_add(result.stderr_bytes);
    let bytes = integer(written.min(fair::OUTPUT_COUNTED_MOST));
    if bytes == 0 {
        return Ok(());
    }
    let mut sql = QueryBuilder::<Db>::new("SELECT output_day, output_bytes FROM tenants WHERE name = ");
    sql.push_bind(tenant).push(engine::TO_CHANGE);
    let counted: Option<(i64, i64)> = sql.build_query_as().fetch_optional(&mut *connection).await?;
    let Some((day, before)) = counted else { return Ok(()) };
    let (today, _) = fair::day(now.0);
    let before = if day == today { before } else { 0 };
    sqlx::query("UPDATE tenants SET output_bytes = $1, output_day = $2 WHERE name = $3")
        .bind(before.saturating_add(bytes))
        .bind(today)
        .bind(tenant)
        .execute(connection)
        .await?;
    Ok(())
}

/// Ends the hold on an execution that a runner refused, so that any server can place it again.
pub(crate) async fn give_back(connection: &mut Connection, id: ExecutionId) -> Result<(), StoreError> {
    sqlx::query("UPDATE executions SET taken_until = 0 WHERE id = $1")
        .bind(id.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn take(mut tx: Tx, take: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError> {
    let now = clock(&mut tx).await?;
    let rows: Vec<(String, String)> = next(take, now).build_query_as().fetch_all(&mut *tx).await?;
    let mut taken = Vec::with_capacity(rows.len());
    for (execution, session) in rows {
        let execution = id::<ExecutionId>("id", &execution)?;
        if !hold(&mut tx, execution, take, now).await? {
            continue;
        }
        taken.push((execution, id::<SessionId>("session_id", &session)?));
    }
    engine::commit(tx).await?;
    Ok(taken)
}

/// Builds the query for the next executions of a runner. They are ordered by the virtual time of their tenant, where
/// each further execution of a tenant counts as if the previous ones had been placed. Rows that another transaction has
/// locked are skipped.
fn next(take: &TakeQueued, now: Micros) -> QueryBuilder<Db> {
    let mut sql =
        QueryBuilder::new("WITH ranked AS (SELECT e.id, row_number() OVER (PARTITION BY e.tenant ORDER BY ");
    sql.push(JOINED).push(", e.id) AS place FROM executions e JOIN sessions s ON s.id = e.session_id ");
    sql.push("WHERE e.state = 'QUEUED' AND s.state IN ('OPENING', 'OPEN') AND s.runner_id = ");
    sql.push_bind(take.runner.to_string());
    is_free(&mut sql, take, now);
    sql.push(" AND ").push(HAS_ITS_TURN);
    sql.push(") SELECT e.id, e.session_id FROM executions e JOIN ranked r ON r.id = e.id ");
    sql.push("LEFT JOIN tenants t ON t.name = e.tenant WHERE e.state = 'QUEUED'");
    is_free(&mut sql, take, now);
    sql.push(" ORDER BY ").push(engine::GREATEST);
    sql.push("(coalesce(t.served, 0), (SELECT coalesce(max(served), 0) FROM tenants) - ");
    sql.push_bind(fair::CREDIT).push(") + r.place * coalesce(t.cost, ").push_bind(fair::ONE);
    sql.push("), ").push(JOINED).push(", e.id LIMIT ").push_bind(i64::from(take.at_most));
    sql.push(engine::TO_TAKE);
    sql
}

fn is_free(sql: &mut QueryBuilder<Db>, take: &TakeQueued, now: Micros) {
    sql.push(" AND (e.taken_until <= ").push_bind(now.0);
    sql.push(" OR e.owner_server = ").push_bind(take.server_id.clone()).push(")");
}

/// Reserves an execution for this server for a while. Returns whether it exists.
async fn hold(tx: &mut Tx, id: ExecutionId, take: &TakeQueued, now: Micros) -> Result<bool, StoreError> {
    let Some(record) = executions::get_to_change(tx, id).await? else { return Ok(false) };
    let lease = Lease { server: take.server_id.clone(), micros: take.lease_micros };
    let event = OwnerEvent::TakenFromQueue { lease };
    if let Some(transition) = change_owner(&LiveExecution::from(&record), &event) {
        let taken = taken(record, &transition, now)?;
        executions::update(tx, &taken.record).await?;
        if let Some(change) = &taken.change {
            executions::insert_change(tx, id, change).await?;
        }
    }
    sqlx::query("UPDATE executions SET taken_until = $1 WHERE id = $2")
        .bind(now.0.saturating_add(take.hold_micros))
        .bind(id.to_string())
        .execute(&mut **tx)
        .await?;
    Ok(true)
}
