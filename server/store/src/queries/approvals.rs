//! The queries of the table `approvals`.

use airlock_domain::{ApprovalId, ExecutionId};
use sqlx::QueryBuilder;

use super::{
    answers,
    engine::{self, Connection, Db, Pool, Tx, clock},
    lists::{self, Order},
    rules,
};
use crate::{
    ApprovalAnswer, ApprovalQuery, Cas, Page, PageQuery, StoreError,
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
         created, expires, decided_by, reason, command, files, terms, connection_host, connection_port, \
         connection_rule"
    };
}

const SELECT: &str = concat!("SELECT ", columns!(), " FROM approvals");

pub(crate) async fn insert(connection: &mut Connection, approval: &ApprovalRecord) -> Result<(), StoreError> {
    sqlx::query(concat!(
        "INSERT INTO approvals (",
        columns!(),
        ") \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"
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
    .bind(approval.connection.as_ref().map(|asked| &asked.host))
    .bind(approval.connection.as_ref().map(|asked| i64::from(asked.port)))
    .bind(approval.connection.as_ref().map(|asked| &asked.rule))
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
    lists::by_id::<ApprovalRow, _>(connection, SELECT, &id).await
}

pub(crate) async fn list(
    pool: &Pool,
    query: &ApprovalQuery,
    page: &PageQuery,
) -> Result<Page<ApprovalRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(SELECT);
    sql.push(" WHERE TRUE");
    lists::equals(&mut sql, "tenant", query.tenant.as_ref());
    lists::equals(&mut sql, "session_id", query.session_id);
    if query.states.is_empty() {
        sql.push(" AND state = 'OPEN'");
    } else {
        lists::any_of(&mut sql, "state", query.states.iter().map(|state| state.name()));
    }
    lists::page::<ApprovalRow, _>(pool, sql, query, page, Order::Ascending).await
}

pub(crate) async fn answer(
    mut tx: Tx,
    id: ApprovalId,
    answer: &ApprovalAnswer,
) -> Result<Cas<ApprovalRecord>, StoreError> {
    let found = lists::by_id_to_change::<ApprovalRow, ApprovalRecord>(&mut tx, SELECT, &id).await?;
    let Some(mut approval) = found else {
        return Ok(Cas::Missing);
    };
    let now = clock(&mut tx).await?;
    let over = now >= approval.expires;
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
    answers::note(&mut tx, &approval, now).await?;
    if let Some(remember) = &answer.remember {
        rules::remember(&mut tx, remember).await?;
    }
    engine::commit(tx).await?;
    Ok(Cas::Done(approval))
}

pub(crate) async fn expired(pool: &Pool, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(SELECT);
    sql.push(" WHERE state = 'OPEN' AND expires <= ").push(engine::NOW);
    sql.push(" ORDER BY expires LIMIT ").push_bind(i64::from(at_most));
    lists::first(sql.build_query_as::<ApprovalRow>().fetch(pool), at_most).await
}
