//! The audit of the connections of executions to other hosts.

use airlock_domain::ExecutionId;
use sqlx::QueryBuilder;

use super::engine::{Connection, Db, Pool};
use crate::{
    StoreError,
    record::{ConnectionRecord, ExecutionRecord},
    sql::connections::ConnectionRow,
};

/// Adds the connections in the result of an execution that has just ended.
pub(crate) async fn add(connection: &mut Connection, record: &ExecutionRecord) -> Result<(), StoreError> {
    if let Some(mut sql) = insert(record) {
        sql.build().execute(connection).await?;
    }
    Ok(())
}

/// Returns the statement that adds the connections, or `None` if there are none.
fn insert(record: &ExecutionRecord) -> Option<QueryBuilder<Db>> {
    let connections = &record.result.as_ref().filter(|result| !result.connections.is_empty())?.connections;
    let number = |number: u128| i64::try_from(number).unwrap_or(i64::MAX);
    let mut sql = QueryBuilder::<Db>::new(
        "INSERT INTO audit_connections (execution_id, tenant, principal, host, port, protocol, verdict, rule, layer, \
         other_layers, address_kind, bytes_up, bytes_down, started, duration) ",
    );
    sql.push_values(connections, |mut row, one| {
        row.push_bind(record.id.to_string())
            .push_bind(record.tenant.clone())
            .push_bind(record.principal.clone())
            .push_bind(one.host.clone())
            .push_bind(i64::from(one.port))
            .push_bind(one.protocol.name())
            .push_bind(one.verdict.name())
            .push_bind(one.rule.clone())
            .push_bind(one.layer.clone())
            .push_bind(one.other_layers.join(","))
            .push_bind(one.address_kind.clone())
            .push_bind(number(one.bytes_up.into()))
            .push_bind(number(one.bytes_down.into()))
            .push_bind(one.started_micros)
            .push_bind(number(one.duration.as_micros()));
    });
    Some(sql)
}

/// Lists the entries of an execution in the order in which they were written.
pub(crate) async fn list(
    pool: &Pool,
    id: ExecutionId,
    at_most: u32,
) -> Result<Vec<ConnectionRecord>, StoreError> {
    let rows: Vec<ConnectionRow> = sqlx::query_as(
        "SELECT tenant, principal, host, port, protocol, verdict, rule, layer, other_layers, address_kind, bytes_up, \
         bytes_down, started, duration \
         FROM audit_connections WHERE execution_id = $1 ORDER BY sequence LIMIT $2",
    )
    .bind(id.to_string())
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}
