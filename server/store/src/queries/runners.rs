//! The queries of the table `runners`.

use airlock_domain::{Epoch, RunnerId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool, Tx, clock},
    lists::{self, Order},
    lookup,
};
use crate::{
    FENCED_EPOCHS, Page, PageQuery, RunnerPut, StoreError,
    record::RunnerRecord,
    sql::{
        json,
        rows::{RunnerRow, id as row_id, integer},
    },
};

macro_rules! columns {
    () => {
        "id, epoch, draining, version, labels, slots, bases, capabilities, shells, last_seen"
    };
}

const SELECT: &str = concat!("SELECT ", columns!(), " FROM runners");
/// The query that page tokens of this list are bound to. The list has no filter.
const ALL: &str = "runners";

pub(crate) async fn put(mut tx: Tx, runner: &RunnerRecord) -> Result<RunnerPut, StoreError> {
    let (id, epoch) = (runner.id.as_str(), runner.epoch.to_string());
    let mut sql = QueryBuilder::<Db>::new("SELECT epoch FROM runners WHERE id = ");
    sql.push_bind(id).push(engine::TO_CHANGE);
    let before: Option<String> = sql.build_query_scalar().fetch_optional(&mut *tx).await?;
    let before = before.filter(|before| *before != epoch);
    let fenced: Option<String> =
        sqlx::query_scalar("SELECT epoch FROM fenced_epochs WHERE runner_id = $1 AND epoch = $2")
            .bind(id)
            .bind(&epoch)
            .fetch_optional(&mut *tx)
            .await?;
    if fenced.is_some() {
        return Ok(RunnerPut::Fenced);
    }
    if let Some(before) = &before {
        fence(&mut tx, id, before).await?;
    }
    write(&mut tx, runner).await?;
    engine::commit(tx).await?;
    Ok(RunnerPut::Taken { before: before.map(|before| row_id("epoch", &before)).transpose()? })
}

async fn fence(tx: &mut Tx, id: &str, epoch: &str) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO fenced_epochs (runner_id, epoch) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(id)
        .bind(epoch)
        .execute(&mut **tx)
        .await?;
    sqlx::query(
        "DELETE FROM fenced_epochs WHERE runner_id = $1 AND sequence NOT IN \
         (SELECT sequence FROM fenced_epochs WHERE runner_id = $1 ORDER BY sequence DESC LIMIT $2)",
    )
    .bind(id)
    .bind(integer(FENCED_EPOCHS as u64))
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn write(tx: &mut Tx, runner: &RunnerRecord) -> Result<(), StoreError> {
    let now = clock(tx).await?;
    sqlx::query(concat!(
        "INSERT INTO runners (",
        columns!(),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, draining = excluded.draining, \
         version = excluded.version, labels = excluded.labels, slots = excluded.slots, bases = excluded.bases, \
         capabilities = excluded.capabilities, shells = excluded.shells, last_seen = excluded.last_seen"
    ))
    .bind(runner.id.as_str())
    .bind(runner.epoch.to_string())
    .bind(runner.draining)
    .bind(engine::text(&runner.version))
    .bind(json::write(&runner.labels)?)
    .bind(i64::from(runner.slots))
    .bind(json::write(&runner.bases)?)
    .bind(json::write(&runner.capabilities)?)
    .bind(json::write(&runner.shells)?)
    .bind(now.0)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(crate) async fn get(
    connection: &mut Connection,
    id: &RunnerId,
) -> Result<Option<RunnerRecord>, StoreError> {
    lookup::by_id::<RunnerRow, _>(connection, SELECT, id).await
}

pub(crate) async fn list(pool: &Pool, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(SELECT);
    sql.push(" WHERE TRUE");
    lists::page::<RunnerRow, _>(pool, sql, &ALL, page, Order::Ascending).await
}

pub(crate) async fn touch(mut tx: Tx, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    sqlx::query("UPDATE runners SET last_seen = $1 WHERE id = $2 AND epoch = $3")
        .bind(now.0)
        .bind(id.as_str())
        .bind(epoch.to_string())
        .execute(&mut *tx)
        .await?;
    engine::commit(tx).await
}
