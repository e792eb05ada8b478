//! The table of milestones: what those who watch many executions are told.
//!
//! There is one writer, so sequences become visible in their order; and SQLite gives none twice.

use airlock_proto::domain::SessionId;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool};

use super::{
    errors::unreadable,
    names::Named,
    rows::{MilestoneRow, count, integer},
};
use crate::{
    model::{ExecutionRecord, Milestone},
    store::{MilestoneQuery, Milestones, StoreError},
};

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    record: &ExecutionRecord,
    milestone: Milestone,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO milestones (execution_id, session_id, tenant, milestone) VALUES (?, ?, ?, ?)")
        .bind(record.id.to_string())
        .bind(record.session_id.to_string())
        .bind(&record.tenant)
        .bind(milestone.name())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn list(
    pool: &SqlitePool,
    query: &MilestoneQuery,
    after: u64,
    at_most: u32,
) -> Result<Milestones, StoreError> {
    // One transaction, so that the range is that of the moment of the rows.
    let mut tx = pool.begin().await?;
    let (store, oldest, latest): (Vec<u8>, Option<i64>, i64) = sqlx::query_as(
        "SELECT id, (SELECT min(sequence) FROM milestones), \
         coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'milestones'), 0) FROM store",
    )
    .fetch_one(&mut *tx)
    .await?;
    let latest = count("seq", latest)?;
    let found = if at_most == 0 || after >= latest {
        Vec::new()
    } else {
        rows(query, after, at_most).build_query_as::<MilestoneRow>().fetch_all(&mut *tx).await?
    };
    tx.rollback().await?;
    Ok(Milestones {
        store: store.try_into().map_err(|_| unreadable("id"))?,
        oldest: oldest.map(|oldest| count("sequence", oldest)).transpose()?.unwrap_or(latest + 1),
        latest,
        found: found.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
    })
}

fn rows(query: &MilestoneQuery, after: u64, at_most: u32) -> QueryBuilder<Sqlite> {
    let mut sql =
        QueryBuilder::new("SELECT sequence, execution_id, milestone FROM milestones WHERE tenant = ");
    sql.push_bind(query.tenant.clone());
    if let Some(session) = query.session_id.as_ref().map(SessionId::to_string) {
        sql.push(" AND session_id = ").push_bind(session);
    }
    sql.push(" AND sequence > ").push_bind(integer(after));
    sql.push(" ORDER BY sequence LIMIT ").push_bind(at_most);
    sql
}
