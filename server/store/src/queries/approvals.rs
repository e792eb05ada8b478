//! The queries of the table `approvals`.

use airlock_domain::{ApprovalId, ExecutionId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool, Tx, clock},
    lists, rules,
};
use crate::{
    ApprovalAnswer, ApprovalQuery, Cas, Page, PageQuery, StoreError, page,
    record::{ApprovalRecord, ApprovalState},
    sql::{
        json::{self, DecisionJson},
        names::Named,
        rows::ApprovalRow,
    },
};

macro_rules! columns {
    () => {
        "id, execution_id, session_id, tenant, principal, state, binding, shell, directory, description, decision, \
         created, expires, decided_by, reason, command, files, terms"
    };
}

pub(crate) async fn insert(connection: &mut Connection, approval: &ApprovalRecord) -> Result<(), StoreError> {
    sqlx::query(concat!(
        "INSERT INTO approvals (",
        columns!(),
        ") \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"
    ))
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
    .bind(json::write(&approval.files)?)
    .bind(&approval.terms)
    .execute(connection)
    .await?;
    Ok(())
}

/// Withdraws the open approval of an execution that no longer waits for it.
pub(crate) async fn withdraw(connection: &mut Connection, execution: ExecutionId) -> Result<(), StoreError> {
    sqlx::query("UPDATE approvals SET state = 'WITHDRAWN' WHERE execution_id = $1 AND state = 'OPEN'")
        .bind(execution.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn get(
    connection: &mut Connection,
    id: ApprovalId,
) -> Result<Option<ApprovalRecord>, StoreError> {
    sqlx::query_as::<_, ApprovalRow>(concat!("SELECT ", columns!(), " FROM approvals WHERE id = $1"))
        .bind(id.to_string())
        .fetch_optional(connection)
        .await?
        .map(TryInto::try_into)
        .transpose()
}

/// Same as [`get`], but locks the row until the transaction ends.
async fn get_to_change(
    connection: &mut Connection,
    id: ApprovalId,
) -> Result<Option<ApprovalRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(concat!("SELECT ", columns!(), " FROM approvals WHERE id = "));
    sql.push_bind(id.to_string()).push(engine::TO_CHANGE);
    let row: Option<ApprovalRow> = sql.build_query_as().fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

pub(crate) async fn list(
    pool: &Pool,
    query: &ApprovalQuery,
    page: &PageQuery,
) -> Result<Page<ApprovalRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(concat!("SELECT ", columns!(), " FROM approvals WHERE TRUE"));
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

pub(crate) async fn answer(
    mut tx: Tx,
    id: ApprovalId,
    answer: &ApprovalAnswer,
) -> Result<Cas<ApprovalRecord>, StoreError> {
    let Some(mut approval) = get_to_change(&mut tx, id).await? else {
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
    sqlx::query("UPDATE approvals SET state = $1, decided_by = $2, reason = $3 WHERE id = $4")
        .bind(approval.state.name())
        .bind(&approval.decided_by)
        .bind(&approval.reason)
        .bind(id.to_string())
        .execute(&mut *tx)
        .await?;
    if let Some(remember) = &answer.remember {
        rules::remember(&mut tx, remember).await?;
    }
    engine::commit(tx).await?;
    Ok(Cas::Done(approval))
}

pub(crate) async fn expired(pool: &Pool, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(concat!("SELECT ", columns!(), " FROM approvals"));
    sql.push(" WHERE state = 'OPEN' AND expires <= ").push(engine::NOW);
    sql.push(" ORDER BY expires LIMIT ").push_bind(i64::from(at_most));
    let (first, _) =
        lists::bounded(sql.build_query_as::<ApprovalRow>().fetch(pool), at_most as usize).await?;
    Ok(first)
}
