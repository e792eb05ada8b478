//! The table of approvals.

use airlock_proto::domain::{ApprovalId, ExecutionId};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool};

use super::{
    Tx, clock,
    json::{self, DecisionJson},
    lists,
    names::Named,
    rows::ApprovalRow,
    rules,
};
use crate::{
    model::{ApprovalRecord, ApprovalState},
    store::{ApprovalAnswer, ApprovalQuery, Cas, Page, PageQuery, StoreError, page},
};

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    approval: &ApprovalRecord,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO approvals (id, execution_id, session_id, tenant, principal, state, binding, shell, directory, \
         description, decision, created, expires, decided_by, reason, command, files) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(approval.id.to_string())
    .bind(approval.execution_id.to_string())
    .bind(approval.session_id.to_string())
    .bind(&approval.tenant)
    .bind(&approval.principal)
    .bind(approval.state.name())
    .bind(&approval.binding[..])
    .bind(approval.shell.name())
    .bind(&approval.directory)
    .bind(&approval.description)
    .bind(json::write(&DecisionJson(approval.decision.clone()))?)
    .bind(approval.created.0)
    .bind(approval.expires.0)
    .bind(&approval.decided_by)
    .bind(&approval.reason)
    .bind(&approval.command)
    .bind(json::write_files(&approval.files)?)
    .execute(connection)
    .await?;
    Ok(())
}

/// Closes what is still open of an execution that waits for it no longer.
pub(super) async fn withdraw(
    connection: &mut SqliteConnection,
    execution: ExecutionId,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE approvals SET state = 'WITHDRAWN' WHERE execution_id = ? AND state = 'OPEN'")
        .bind(execution.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn get(
    connection: &mut SqliteConnection,
    id: ApprovalId,
) -> Result<Option<ApprovalRecord>, StoreError> {
    sqlx::query_as::<_, ApprovalRow>("SELECT * FROM approvals WHERE id = ?")
        .bind(id.to_string())
        .fetch_optional(connection)
        .await?
        .map(TryInto::try_into)
        .transpose()
}

pub(super) async fn list(
    pool: &SqlitePool,
    query: &ApprovalQuery,
    page: &PageQuery,
) -> Result<Page<ApprovalRecord>, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT * FROM approvals WHERE TRUE");
    if let Some(tenant) = &query.tenant {
        sql.push(" AND tenant = ").push_bind(tenant.clone());
    }
    if let Some(session) = query.session_id {
        sql.push(" AND session_id = ").push_bind(session.to_string());
    }
    if query.states.is_empty() {
        sql.push(" AND state = 'OPEN'");
    } else {
        lists::any_of(&mut sql, "state", query.states.iter().map(|state| state.name()));
    }
    if let Some(last) = page::after::<ApprovalId>(query, page)? {
        sql.push(" AND id > ").push_bind(last.to_string());
    }
    sql.push(" ORDER BY id");
    lists::page::<ApprovalRow, ApprovalRecord>(pool, sql, query, page).await
}

pub(super) async fn answer(
    mut tx: Tx,
    id: ApprovalId,
    answer: &ApprovalAnswer,
) -> Result<Cas<ApprovalRecord>, StoreError> {
    let Some(mut approval) = get(&mut tx, id).await? else {
        return Ok(Cas::Missing);
    };
    let over = clock(&mut tx).await? >= approval.expires;
    let in_time = match answer.state {
        ApprovalState::Allowed | ApprovalState::Denied => !over,
        ApprovalState::Expired => over,
        ApprovalState::Open | ApprovalState::Withdrawn => {
            return Err(StoreError::Refused("an answer is ALLOWED, DENIED or EXPIRED".to_owned()));
        }
    };
    if approval.state != ApprovalState::Open || !in_time {
        return Ok(Cas::Stale(approval));
    }
    approval.state = answer.state;
    approval.decided_by.clone_from(&answer.decided_by);
    approval.reason.clone_from(&answer.reason);
    sqlx::query("UPDATE approvals SET state = ?, decided_by = ?, reason = ? WHERE id = ?")
        .bind(approval.state.name())
        .bind(&approval.decided_by)
        .bind(&approval.reason)
        .bind(id.to_string())
        .execute(&mut *tx)
        .await?;
    if let Some(remember) = &answer.remember {
        rules::remember(&mut tx, remember).await?;
    }
    tx.commit().await?;
    Ok(Cas::Done(approval))
}

pub(super) async fn expired(pool: &SqlitePool, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
    let rows = sqlx::query_as::<_, ApprovalRow>(
        "SELECT * FROM approvals WHERE state = 'OPEN' \
         AND expires <= CAST(unixepoch('subsec') * 1000000 AS INTEGER) ORDER BY expires LIMIT ?",
    )
    .bind(at_most)
    .fetch(pool);
    let (first, _) = lists::bounded(rows, at_most as usize).await?;
    Ok(first)
}
