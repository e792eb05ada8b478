//! The queries of the table `milestones`, which watches of many executions read.
//!
//! Each engine ensures that sequences become visible in order and are never reused.

use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool},
    lists,
};
use crate::{
    MilestoneQuery, Milestones, StoreError,
    record::{ExecutionRecord, Milestone},
    sql::{
        errors::unreadable,
        names::Named,
        rows::{MilestoneRow, count, integer},
    },
};

pub(crate) async fn insert(
    connection: &mut Connection,
    record: &ExecutionRecord,
    milestone: Milestone,
) -> Result<(), StoreError> {
    sqlx::query(engine::MILESTONE)
        .bind(record.id.to_string())
        .bind(record.session_id.to_string())
        .bind(&record.tenant)
        .bind(milestone.name())
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn list(
    pool: &Pool,
    query: &MilestoneQuery,
    after: u64,
    at_most: u32,
) -> Result<Milestones, StoreError> {
    // One transaction, so that range and rows are consistent.
    let mut tx = engine::snapshot(pool).await?;
    let (store, oldest, latest): (Vec<u8>, Option<i64>, i64) =
        sqlx::query_as(engine::MILESTONES_RANGE).fetch_one(&mut *tx).await?;
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

fn rows(query: &MilestoneQuery, after: u64, at_most: u32) -> QueryBuilder<Db> {
    let mut sql =
        QueryBuilder::new("SELECT sequence, execution_id, milestone FROM milestones WHERE tenant = ");
    sql.push_bind(query.tenant.clone());
    lists::equals(&mut sql, "session_id", query.session_id);
    sql.push(" AND sequence > ").push_bind(integer(after));
    sql.push(" ORDER BY sequence LIMIT ").push_bind(i64::from(at_most));
    sql
}
