//! The audit of answers to questions about connections. Rows are added and never changed; triggers refuse changes.

use super::engine::{Connection, Pool};
use crate::{
    StoreError,
    record::{AnswerRecord, ApprovalRecord, Micros},
    sql::{answers::AnswerRow, names::Named},
};

/// Adds the audit entry of an answer, if it is about a connection.
pub(crate) async fn note(
    connection: &mut Connection,
    approval: &ApprovalRecord,
    at: Micros,
) -> Result<(), StoreError> {
    let Some(asked) = &approval.connection else { return Ok(()) };
    sqlx::query(
        "INSERT INTO audit_answers (approval_id, execution_id, session_id, tenant, host, port, rule, answer, principal, \
         reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(approval.id.to_string())
    .bind(approval.execution_id.to_string())
    .bind(approval.session_id.to_string())
    .bind(&approval.tenant)
    .bind(&asked.host)
    .bind(i64::from(asked.port))
    .bind(&asked.rule)
    .bind(approval.state.name())
    .bind(&approval.decided_by)
    .bind(&approval.reason)
    .bind(at.0)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists the entries in the order in which they were written.
pub(crate) async fn list(pool: &Pool, at_most: u32) -> Result<Vec<AnswerRecord>, StoreError> {
    let rows: Vec<AnswerRow> = sqlx::query_as(
        "SELECT approval_id, execution_id, session_id, tenant, host, port, rule, answer, principal, reason, at \
         FROM audit_answers ORDER BY sequence LIMIT $1",
    )
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
