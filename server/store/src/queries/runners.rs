//! The queries of the tables of runners, and of servers with their links.

use airlock_domain::{Epoch, RunnerId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool, Tx, clock},
    lists::{self, Order},
};
use crate::{
    FENCED_EPOCHS, Page, PageQuery, RunnerPut, StoreError,
    record::{RunnerRecord, ServerRecord},
    sql::{
        json,
        rows::{RunnerRow, id as row_id, id, integer},
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
    lists::by_id::<RunnerRow, _>(connection, SELECT, id).await
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

/// A server and one of its links. The link's columns are `None` for a server without links.
type ServerRow = (String, Option<String>, Option<String>, Option<String>);

pub(crate) async fn announce_server(
    mut tx: Tx,
    server: &ServerRecord,
    lease_micros: i64,
) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?.0;
    sqlx::query("DELETE FROM servers WHERE id = $1 OR lease_until <= $2")
        .bind(&server.id)
        .bind(now)
        .execute(&mut *tx)
        .await?;
    if lease_micros > 0 {
        sqlx::query("INSERT INTO servers (id, address, lease_until) VALUES ($1, $2, $3)")
            .bind(&server.id)
            .bind(&server.address)
            .bind(now.saturating_add(lease_micros))
            .execute(&mut *tx)
            .await?;
        for (runner, epoch) in &server.links {
            sqlx::query("INSERT INTO links (server_id, runner_id, epoch) VALUES ($1, $2, $3)")
                .bind(&server.id)
                .bind(runner.as_str())
                .bind(epoch.to_string())
                .execute(&mut *tx)
                .await?;
        }
    }
    engine::commit(tx).await
}

pub(crate) async fn list_servers(pool: &Pool) -> Result<Vec<ServerRecord>, StoreError> {
    // One statement, so that servers and links are consistent.
    let mut sql = QueryBuilder::<Db>::new(
        "SELECT s.id, s.address, l.runner_id, l.epoch FROM servers s LEFT JOIN links l ON l.server_id = s.id \
         WHERE s.lease_until > ",
    );
    sql.push(engine::NOW).push(" ORDER BY s.id, l.runner_id");
    let rows: Vec<ServerRow> = sql.build_query_as().fetch_all(pool).await?;
    let mut servers: Vec<ServerRecord> = Vec::new();
    for (server, address, runner, epoch) in rows {
        if servers.last().is_none_or(|last| last.id != server) {
            servers.push(ServerRecord { id: server, address, links: Vec::new() });
        }
        if let (Some(last), Some(runner), Some(epoch)) = (servers.last_mut(), runner, epoch) {
            last.links.push((id::<RunnerId>("runner_id", &runner)?, id::<Epoch>("epoch", &epoch)?));
        }
    }
    Ok(servers)
}
