//! The table of runners.

use airlock_proto::domain::{Epoch, RunnerId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Db, Pool, Tx, clock},
    lists,
};
use crate::{
    model::RunnerRecord,
    store::{
        Page, PageQuery, StoreError, page,
        sql::{json, rows::RunnerRow},
    },
};

macro_rules! columns {
    () => {
        "id, epoch, server_id, draining, version, labels, slots, bases, capabilities, shells, last_seen"
    };
}

/// What page tokens of this list are bound to: it has no filter.
const ALL: &str = "runners";

pub(in crate::store) async fn put(mut tx: Tx, runner: &RunnerRecord) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    sqlx::query(concat!(
        "INSERT INTO runners (",
        columns!(),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, server_id = excluded.server_id, \
         draining = excluded.draining, version = excluded.version, labels = excluded.labels, \
         slots = excluded.slots, bases = excluded.bases, capabilities = excluded.capabilities, \
         shells = excluded.shells, last_seen = excluded.last_seen"
    ))
    .bind(runner.id.as_str())
    .bind(runner.epoch.to_string())
    .bind(&runner.server_id)
    .bind(runner.draining)
    .bind(engine::text(&runner.version))
    .bind(json::write(&runner.labels)?)
    .bind(i64::from(runner.slots))
    .bind(json::write(&runner.bases)?)
    .bind(json::write(&runner.capabilities)?)
    .bind(json::write(&runner.shells)?)
    .bind(now.0)
    .execute(&mut *tx)
    .await?;
    engine::commit(tx).await
}

pub(in crate::store) async fn get(pool: &Pool, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError> {
    sqlx::query_as::<_, RunnerRow>(concat!("SELECT ", columns!(), " FROM runners WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(pool)
        .await?
        .map(TryInto::try_into)
        .transpose()
}

pub(in crate::store) async fn list(pool: &Pool, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(concat!("SELECT ", columns!(), " FROM runners WHERE TRUE"));
    if let Some(last) = page::after::<RunnerId>(&ALL, page)? {
        sql.push(" AND id > ").push_bind(last.to_string());
    }
    sql.push(" ORDER BY id");
    lists::page::<RunnerRow, RunnerRecord>(pool, sql, &ALL, page).await
}

pub(in crate::store) async fn touch(mut tx: Tx, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    sqlx::query("UPDATE runners SET last_seen = $1 WHERE id = $2 AND epoch = $3")
        .bind(now.0)
        .bind(id.as_str())
        .bind(epoch.to_string())
        .execute(&mut *tx)
        .await?;
    engine::commit(tx).await
}

pub(in crate::store) async fn unlink(
    mut tx: Tx,
    id: &RunnerId,
    epoch: Epoch,
    server_id: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE runners SET server_id = NULL WHERE id = $1 AND epoch = $2 AND server_id = $3")
        .bind(id.as_str())
        .bind(epoch.to_string())
        .bind(server_id)
        .execute(&mut *tx)
        .await?;
    engine::commit(tx).await
}
