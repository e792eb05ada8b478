//! The queries of the audit, of executions and of files that were restored from quarantine. Rows are added and never changed; triggers refuse changes.

use airlock_domain::ExecutionId;

use super::{
    engine::{self, Connection, Pool, Tx, clock},
    lists,
};
use crate::{
    StoreError,
    record::{AuditRecord, ExecutionRecord, Micros, RestoreRecord},
    sql::{names::Named, restores::RestoreRow, rows::AuditRow},
};

/// Opens the entry of an execution that is being created.
pub(crate) async fn open(
    connection: &mut Connection,
    record: &ExecutionRecord,
    peer: &str,
    now: Micros,
) -> Result<(), StoreError> {
    sqlx::query(engine::AUDIT_OPEN)
        .bind(record.id.to_string())
        .bind(&record.tenant)
        .bind(&record.principal)
        .bind(peer)
        .bind(record.decision.verdict.name())
        .bind(&record.decision.reason_code)
        .bind(now.0)
        .bind(&record.spec.command.text)
        .execute(connection)
        .await?;
    Ok(())
}

/// Closes the entry of an execution that has just become `FINISHED`, with its latest decision.
pub(crate) async fn close(
    connection: &mut Connection,
    record: &ExecutionRecord,
    now: Micros,
) -> Result<(), StoreError> {
    let Some(result) = &record.result else {
        return Err(StoreError::Refused("an audit entry cannot be closed without a result".to_owned()));
    };
    let decided_by = decided_by(connection, record.id).await?;
    sqlx::query(
        "INSERT INTO audit_closed (execution_id, verdict, reason_code, decided_by, runner_id, cause, started, closed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(record.id.to_string())
    .bind(record.decision.verdict.name())
    .bind(&record.decision.reason_code)
    .bind(decided_by)
    .bind(record.runner_id.as_ref().map(|id| id.as_str()))
    .bind(result.cause.name())
    .bind(result.started.name())
    .bind(now.0)
    .execute(connection)
    .await?;
    Ok(())
}

async fn decided_by(connection: &mut Connection, id: ExecutionId) -> Result<String, StoreError> {
    let name: Option<String> = sqlx::query_scalar(
        "SELECT decided_by FROM approvals WHERE execution_id = $1 AND state IN ('ALLOWED', 'DENIED') \
         ORDER BY id DESC LIMIT 1",
    )
    .bind(id.to_string())
    .fetch_optional(connection)
    .await?;
    Ok(name.unwrap_or_default())
}

pub(crate) async fn list(
    pool: &Pool,
    after_sequence: i64,
    at_most: u32,
) -> Result<Vec<AuditRecord>, StoreError> {
    let rows = sqlx::query_as::<_, AuditRow>(
        "SELECT o.sequence, o.execution_id, o.tenant, o.principal, o.peer, o.command, \
         coalesce(c.verdict, o.verdict) AS verdict, coalesce(c.reason_code, o.reason_code) AS reason_code, \
         coalesce(c.decided_by, '') AS decided_by, c.runner_id, o.opened, c.closed, \
         coalesce(c.cause, '') AS cause, coalesce(c.started, '') AS started \
         FROM audit_opened o LEFT JOIN audit_closed c ON c.execution_id = o.execution_id \
         WHERE o.sequence > $1 ORDER BY o.sequence LIMIT $2",
    )
    .bind(after_sequence)
    .bind(i64::from(at_most))
    .fetch(pool);
    lists::first(rows, at_most).await
}

pub(crate) async fn note_restore(mut tx: Tx, entry: &RestoreRecord) -> Result<(), StoreError> {
    let at = clock(&mut tx).await?;
    sqlx::query(
        "INSERT INTO audit_restores (session_id, tenant, principal, peer, quarantine_id, execution_id, path, step, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(entry.session_id.to_string())
    .bind(&entry.tenant)
    .bind(&entry.principal)
    .bind(&entry.peer)
    .bind(&entry.quarantine_id)
    .bind(entry.execution_id.map(|id| id.to_string()).unwrap_or_default())
    .bind(&entry.path)
    .bind(entry.step.name())
    .bind(at.0)
    .execute(&mut *tx)
    .await?;
    engine::commit(tx).await
}

/// Lists the entries in the order in which they were written.
pub(crate) async fn list_restores(pool: &Pool, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError> {
    let rows: Vec<RestoreRow> = sqlx::query_as(
        "SELECT session_id, tenant, principal, peer, quarantine_id, execution_id, path, step, at \
         FROM audit_restores ORDER BY sequence LIMIT $1",
    )
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
