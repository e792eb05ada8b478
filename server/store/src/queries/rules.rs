//! The queries of the table of remembered rules and of their audit.

use airlock_domain::{RuleId, SessionId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool, Tx, clock},
    lists::{self, Order},
};
use crate::{Page, PageQuery, Remember, RuleQuery, StoreError, record::RememberedRule, sql::rows::RuleRow};

macro_rules! columns {
    () => {
        "id, tenant, session_id, profile, rule, approval_id, decided_by, created"
    };
}

/// Adds rules that do not exist yet, unless there would be too many.
pub(crate) async fn remember(
    connection: &mut Connection,
    Remember { rules, limit, at_most }: &Remember,
) -> Result<(), StoreError> {
    if let Some(rule) = rules.first() {
        engine::one_at_a_time(connection, engine::Turn::Rules, &rule.tenant).await?;
    }
    for rule in rules {
        let created = clock(connection).await?;
        let rule = RememberedRule { created, ..rule.clone() };
        let session = session_column(rule.session_id);
        let added = sqlx::query(concat!(
            "INSERT INTO remembered_rules (",
            columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"
        ))
        .bind(rule.id.to_string())
        .bind(&rule.tenant)
        .bind(&session)
        .bind(&rule.profile)
        .bind(&rule.rule)
        .bind(rule.approval_id.to_string())
        .bind(&rule.decided_by)
        .bind(rule.created.0)
        .execute(&mut *connection)
        .await?;
        if added.rows_affected() > 0 {
            note(connection, &rule, "REMEMBERED", &rule.decided_by).await?;
        }
        let count: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM remembered_rules WHERE tenant = $1 AND session_id = $2")
                .bind(&rule.tenant)
                .bind(&session)
                .fetch_one(&mut *connection)
                .await?;
        if u64::try_from(count).unwrap_or(u64::MAX) > *at_most {
            return Err(StoreError::Full { limit, value: *at_most });
        }
    }
    Ok(())
}

async fn note(
    connection: &mut Connection,
    rule: &RememberedRule,
    change: &str,
    principal: &str,
) -> Result<(), StoreError> {
    let at = clock(connection).await?;
    sqlx::query(
        "INSERT INTO audit_rules (rule_id, tenant, session_id, profile, rule, approval_id, change, principal, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(rule.id.to_string())
    .bind(&rule.tenant)
    .bind(session_column(rule.session_id))
    .bind(&rule.profile)
    .bind(&rule.rule)
    .bind(rule.approval_id.to_string())
    .bind(change)
    .bind(principal)
    .bind(at.0)
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the rules of a session that has ended.
pub(crate) async fn forget_session(
    connection: &mut Connection,
    session: SessionId,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM remembered_rules WHERE session_id = $1")
        .bind(session.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn in_force(
    pool: &Pool,
    tenant: &str,
    profile: &str,
    session: SessionId,
) -> Result<Vec<RememberedRule>, StoreError> {
    let rows: Vec<RuleRow> = sqlx::query_as(concat!(
        "SELECT ",
        columns!(),
        " FROM remembered_rules \
         WHERE tenant = $1 AND session_id IN ('', $2) AND profile = $3 ORDER BY id"
    ))
    .bind(tenant)
    .bind(session.to_string())
    .bind(profile)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(crate) async fn list(
    pool: &Pool,
    query: &RuleQuery,
    page: &PageQuery,
) -> Result<Page<RememberedRule>, StoreError> {
    let mut sql =
        QueryBuilder::<Db>::new(concat!("SELECT ", columns!(), " FROM remembered_rules WHERE tenant = "));
    sql.push_bind(query.tenant.clone());
    lists::equals(&mut sql, "session_id", query.session_id);
    lists::page::<RuleRow, _>(pool, sql, query, page, Order::Ascending).await
}

pub(crate) async fn remove(
    mut tx: Tx,
    tenant: &str,
    id: RuleId,
    by: &str,
) -> Result<Option<RememberedRule>, StoreError> {
    let row: Option<RuleRow> = sqlx::query_as(concat!(
        "DELETE FROM remembered_rules WHERE id = $1 AND tenant = $2 RETURNING ",
        columns!()
    ))
    .bind(id.to_string())
    .bind(tenant)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let rule = RememberedRule::try_from(row)?;
    note(&mut tx, &rule, "REMOVED", by).await?;
    engine::commit(tx).await?;
    Ok(Some(rule))
}

fn session_column(session: Option<SessionId>) -> String {
    session.map(|id| id.to_string()).unwrap_or_default()
}
