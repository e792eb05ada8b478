//! What is SQLite's own in the queries: types, clock, numbers. It has one writer, so nothing is locked.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::{model::Micros, store::StoreError};

pub(in crate::store) type Db = Sqlite;
pub(in crate::store) type Connection = SqliteConnection;
pub(in crate::store) type Pool = SqlitePool;
pub(in crate::store) type Row = sqlx::sqlite::SqliteRow;
pub(in crate::store) type Arguments = sqlx::sqlite::SqliteArguments;
pub(in crate::store) type Tx = Transaction<'static, Sqlite>;

/// Whether another transaction may write while one is open.
pub(in crate::store) const MANY_WRITERS: bool = false;
/// The time as an expression. It stands still within one statement only, so a transaction asks once.
pub(in crate::store) const NOW: &str = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";
/// After a query for a row that is about to be changed.
pub(in crate::store) const TO_CHANGE: &str = "";
/// After a query for rows `e` that are taken by whoever comes first.
pub(in crate::store) const TO_TAKE: &str = "";
/// The function that gives the greatest of its arguments.
pub(in crate::store) const GREATEST: &str = "max";

pub(in crate::store) const AUDIT_OPEN: &str = "INSERT INTO audit_opened \
     (execution_id, tenant, principal, peer, verdict, reason_code, opened, command) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
pub(in crate::store) const MILESTONE: &str =
    "INSERT INTO milestones (execution_id, session_id, tenant, milestone) VALUES ($1, $2, $3, $4)";
/// The store's id, the oldest milestone's number, and the highest that was ever given.
pub(in crate::store) const MILESTONES_RANGE: &str = "SELECT id, (SELECT min(sequence) FROM milestones), \
     coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'milestones'), 0) FROM store";

/// What is done by one transaction of a tenant at a time.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) enum Turn {
    Creations,
    Rules,
}

pub(in crate::store) async fn clock(connection: &mut Connection) -> Result<Micros, StoreError> {
    let micros = sqlx::query_scalar("SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER)")
        .fetch_one(connection)
        .await?;
    Ok(Micros(micros))
}

/// Waits for the tenant's turn, which lasts to the end of the transaction: here, every writer's does.
pub(in crate::store) async fn one_at_a_time(_: &mut Connection, _: Turn, _: &str) -> Result<(), StoreError> {
    Ok(())
}

/// Begins a transaction that reads what there was at one moment.
pub(in crate::store) async fn snapshot(pool: &Pool) -> Result<Tx, StoreError> {
    Ok(pool.begin().await?)
}

pub(in crate::store) async fn commit(tx: Tx) -> Result<(), StoreError> {
    Ok(tx.commit().await?)
}

/// Only rows with this label.
pub(in crate::store) fn has_label(sql: &mut QueryBuilder<Db>, key: &str, value: &str) {
    sql.push(" AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ")
        .push_bind(key.to_owned())
        .push(" AND value = ")
        .push_bind(value.to_owned())
        .push(")");
}

/// A text from elsewhere, as this engine can hold it: any.
pub(in crate::store) fn text(text: &str) -> &str {
    text
}
