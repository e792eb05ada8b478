//! The audit of changes of the network rules of sessions. Rows are added and never changed; triggers refuse changes.

use airlock_domain::NetworkRules;

use super::engine::{Connection, Pool, clock};
use crate::{
    ChangedBy, StoreError,
    record::{NetworkChangeRecord, SessionRecord},
    sql::{json, network_changes::NetworkChangeRow},
};

/// Adds the entry of a session whose rules have just changed from `old`.
pub(crate) async fn note(
    connection: &mut Connection,
    session: &SessionRecord,
    old: Option<&NetworkRules>,
    by: &ChangedBy,
) -> Result<(), StoreError> {
    let at = clock(connection).await?;
    sqlx::query(
        "INSERT INTO audit_networks (session_id, tenant, principal, peer, old_rules, new_rules, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(session.id.to_string())
    .bind(&session.tenant)
    .bind(&by.principal)
    .bind(&by.peer)
    .bind(old.map(json::write).transpose()?)
    .bind(session.network.as_ref().map(json::write).transpose()?)
    .bind(at.0)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists the entries in the order in which they were written.
pub(crate) async fn list(pool: &Pool, at_most: u32) -> Result<Vec<NetworkChangeRecord>, StoreError> {
    let rows: Vec<NetworkChangeRow> = sqlx::query_as(
        "SELECT session_id, tenant, principal, peer, old_rules, new_rules, at \
         FROM audit_networks ORDER BY sequence LIMIT $1",
    )
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
