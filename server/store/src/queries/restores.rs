//! The audit of files that were restored from quarantine. Rows are added and never changed; triggers refuse
//! changes.

use super::engine::{self, Pool, Tx, clock};
use crate::{StoreError, record::RestoreRecord, sql::restores::RestoreRow};

pub(crate) async fn note(mut tx: Tx, entry: &RestoreRecord) -> Result<(), StoreError> {
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
pub(crate) async fn list(pool: &Pool, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError> {
    let rows: Vec<RestoreRow> = sqlx::query_as(
        "SELECT session_id, tenant, principal, peer, quarantine_id, execution_id, path, step, at \
         FROM audit_restores ORDER BY sequence LIMIT $1",
    )
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
