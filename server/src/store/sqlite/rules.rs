//! The table of remembered rules, and what the audit has of them.

use airlock_proto::domain::{RuleId, SessionId};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteConnection, SqlitePool};

use super::{Tx, clock, lists, rows};
use crate::{
    model::{Micros, RememberedRule},
    store::{Page, PageQuery, Remember, RuleQuery, StoreError, page},
};

#[derive(FromRow)]
struct RuleRow {
    id: String,
    tenant: String,
    session_id: String,
    profile: String,
    rule: String,
    approval_id: String,
    decided_by: String,
    created: i64,
}

impl TryFrom<RuleRow> for RememberedRule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> Result<Self, StoreError> {
        let session = Some(row.session_id).filter(|id| !id.is_empty());
        Ok(Self {
            id: rows::id("id", &row.id)?,
            tenant: row.tenant,
            session_id: session.map(|id| rows::id("session_id", &id)).transpose()?,
            profile: row.profile,
            rule: row.rule,
            approval_id: rows::id("approval_id", &row.approval_id)?,
            decided_by: row.decided_by,
            created: Micros(row.created),
        })
    }
}

impl lists::Listed for RememberedRule {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.rule.len()
    }
}

/// Adds rules, those that are there already excepted, unless there would be too many.
pub(super) async fn remember(
    connection: &mut SqliteConnection,
    Remember { rules, limit, at_most }: &Remember,
) -> Result<(), StoreError> {
    for rule in rules {
        let created = clock(connection).await?;
        let rule = RememberedRule { created, ..rule.clone() };
        let session = session_column(rule.session_id);
        let added = sqlx::query("INSERT OR IGNORE INTO remembered_rules VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
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
            sqlx::query_scalar("SELECT COUNT(*) FROM remembered_rules WHERE tenant = ? AND session_id = ?")
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
    connection: &mut SqliteConnection,
    rule: &RememberedRule,
    change: &str,
    principal: &str,
) -> Result<(), StoreError> {
    let at = clock(connection).await?;
    sqlx::query(
        "INSERT INTO audit_rules (rule_id, tenant, session_id, profile, rule, approval_id, change, principal, at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

/// Those of a session that has ended go with it.
pub(super) async fn forget_session(
    connection: &mut SqliteConnection,
    session: SessionId,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM remembered_rules WHERE session_id = ?")
        .bind(session.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn in_force(
    pool: &SqlitePool,
    tenant: &str,
    profile: &str,
    session: SessionId,
) -> Result<Vec<RememberedRule>, StoreError> {
    let rows: Vec<RuleRow> = sqlx::query_as(
        "SELECT * FROM remembered_rules WHERE tenant = ? AND session_id IN ('', ?) AND profile = ? ORDER BY id",
    )
    .bind(tenant)
    .bind(session.to_string())
    .bind(profile)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(super) async fn list(
    pool: &SqlitePool,
    query: &RuleQuery,
    page: &PageQuery,
) -> Result<Page<RememberedRule>, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT * FROM remembered_rules WHERE tenant = ");
    sql.push_bind(query.tenant.clone());
    if let Some(session) = query.session_id {
        sql.push(" AND session_id = ").push_bind(session.to_string());
    }
    if let Some(last) = page::after::<RuleId>(query, page)? {
        sql.push(" AND id > ").push_bind(last.to_string());
    }
    sql.push(" ORDER BY id");
    lists::page::<RuleRow, RememberedRule>(pool, sql, query, page).await
}

pub(super) async fn remove(
    mut tx: Tx,
    tenant: &str,
    id: RuleId,
    by: &str,
) -> Result<Option<RememberedRule>, StoreError> {
    let row: Option<RuleRow> =
        sqlx::query_as("DELETE FROM remembered_rules WHERE id = ? AND tenant = ? RETURNING *")
            .bind(id.to_string())
            .bind(tenant)
            .fetch_optional(&mut *tx)
            .await?;
    let Some(row) = row else { return Ok(None) };
    let rule = RememberedRule::try_from(row)?;
    note(&mut tx, &rule, "REMOVED", by).await?;
    tx.commit().await?;
    Ok(Some(rule))
}

fn session_column(session: Option<SessionId>) -> String {
    session.map(|id| id.to_string()).unwrap_or_default()
}
