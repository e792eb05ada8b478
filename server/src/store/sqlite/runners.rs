//! The table of runners.

use airlock_proto::domain::{Epoch, RunnerId};
use sqlx::{QueryBuilder, Sqlite, SqlitePool};

use super::{Tx, clock, json, lists, rows::RunnerRow};
use crate::{
    model::RunnerRecord,
    store::{Page, PageQuery, StoreError, page},
};

/// What page tokens of this list are bound to: it has no filter.
const ALL: &str = "runners";

pub(super) async fn put(mut tx: Tx, runner: &RunnerRecord) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    sqlx::query(
        "INSERT OR REPLACE INTO runners (id, epoch, server_id, draining, version, labels, slots, bases, \
         capabilities, shells, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(runner.id.as_str())
    .bind(runner.epoch.to_string())
    .bind(&runner.server_id)
    .bind(runner.draining)
    .bind(&runner.version)
    .bind(json::write(&runner.labels)?)
    .bind(runner.slots)
    .bind(json::write(&runner.bases)?)
    .bind(json::write(&runner.capabilities)?)
    .bind(json::write(&runner.shells)?)
    .bind(now.0)
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

pub(super) async fn get(pool: &SqlitePool, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError> {
    sqlx::query_as::<_, RunnerRow>("SELECT * FROM runners WHERE id = ?")
        .bind(id.as_str())
        .fetch_optional(pool)
        .await?
        .map(TryInto::try_into)
        .transpose()
}

pub(super) async fn list(pool: &SqlitePool, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT * FROM runners WHERE TRUE");
    if let Some(last) = page::after::<RunnerId>(&ALL, page)? {
        sql.push(" AND id > ").push_bind(last.to_string());
    }
    sql.push(" ORDER BY id");
    lists::page::<RunnerRow, RunnerRecord>(pool, sql, &ALL, page).await
}

pub(super) async fn touch(mut tx: Tx, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    sqlx::query("UPDATE runners SET last_seen = ? WHERE id = ? AND epoch = ?")
        .bind(now.0)
        .bind(id.as_str())
        .bind(epoch.to_string())
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

pub(super) async fn unlink(
    mut tx: Tx,
    id: &RunnerId,
    epoch: Epoch,
    server_id: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE runners SET server_id = NULL WHERE id = ? AND epoch = ? AND server_id = ?")
        .bind(id.as_str())
        .bind(epoch.to_string())
        .bind(server_id)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}
