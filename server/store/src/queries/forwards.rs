//! The queries of the audit of forwarded connections. Rows are added and never changed; triggers refuse changes.

use super::engine::{self, Pool, Tx, clock};
use crate::{
    StoreError,
    record::ForwardRecord,
    sql::{forwards::ForwardRow, names::Named as _},
};

pub(crate) async fn note(mut tx: Tx, entry: &ForwardRecord) -> Result<(), StoreError> {
    let at = clock(&mut tx).await?;
    let bytes = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO audit_forwards (forward_id, session_id, tenant, principal, peer, port, step, reason, sent, received, duration_micros, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(entry.id.to_string())
    .bind(entry.session_id.to_string())
    .bind(&entry.tenant)
    .bind(&entry.principal)
    .bind(&entry.peer)
    .bind(i64::from(entry.port))
    .bind(entry.step.name())
    .bind(&entry.reason)
    .bind(bytes(entry.sent))
    .bind(bytes(entry.received))
    .bind(entry.duration_micros)
    .bind(at.0)
    .execute(&mut *tx)
    .await?;
    engine::commit(tx).await
}

/// Lists the entries in the order in which they were written.
pub(crate) async fn list(pool: &Pool, at_most: u32) -> Result<Vec<ForwardRecord>, StoreError> {
    let rows: Vec<ForwardRow> = sqlx::query_as(
        "SELECT forward_id, session_id, tenant, principal, peer, port, step, reason, sent, received, duration_micros, at \
         FROM audit_forwards ORDER BY sequence LIMIT $1",
    )
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
