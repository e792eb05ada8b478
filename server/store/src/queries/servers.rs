//! The queries of the tables of servers and their links.

use airlock_domain::{Epoch, RunnerId};
use sqlx::QueryBuilder;

use super::engine::{self, Db, Pool, Tx, clock};
use crate::{StoreError, record::ServerRecord, sql::rows::id};

/// A server and one of its links. The link's columns are `None` for a server without links.
type Row = (String, Option<String>, Option<String>, Option<String>);

pub(crate) async fn announce(mut tx: Tx, server: &ServerRecord, lease_micros: i64) -> Result<(), StoreError> {
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

pub(crate) async fn list(pool: &Pool) -> Result<Vec<ServerRecord>, StoreError> {
    // One statement, so that servers and links are consistent.
    let mut sql = QueryBuilder::<Db>::new(
        "SELECT s.id, s.address, l.runner_id, l.epoch FROM servers s LEFT JOIN links l ON l.server_id = s.id \
         WHERE s.lease_until > ",
    );
    sql.push(engine::NOW).push(" ORDER BY s.id, l.runner_id");
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
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
