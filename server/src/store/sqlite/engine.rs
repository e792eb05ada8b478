//! The parts of the queries that are specific to SQLite: types, clock, sequence numbers. There is one
//! writer, so no locks are needed.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::{model::Micros, store::StoreError};

pub(in crate::store) type Db = Sqlite;
pub(in crate::store) type Connection = SqliteConnection;
pub(in crate::store) type Pool = SqlitePool;
pub(in crate::store) type Row = sqlx::sqlite::SqliteRow;
pub(in crate::store) type Arguments = sqlx::sqlite::SqliteArguments;
pub(in crate::store) type Tx = Transaction<'static, Sqlite>;

/// Whether several write transactions can be open at once.
pub(in crate::store) const MANY_WRITERS: bool = false;
/// The SQL expression of the current time. It is constant within one statement only, so a transaction
/// reads it once.
pub(in crate::store) const NOW: &str = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";
/// The SQL suffix of a query for a row that is about to change. Not needed here.
pub(in crate::store) const TO_CHANGE: &str = "";
/// The SQL suffix of a query that takes rows of `e`. Not needed here.
pub(in crate::store) const TO_TAKE: &str = "";
/// The SQL function that returns the greatest of its arguments.
pub(in crate::store) const GREATEST: &str = "max";

pub(in crate::store) const AUDIT_OPEN: &str = "INSERT INTO audit_opened \
     (execution_id, tenant, principal, peer, verdict, reason_code, opened, command) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
pub(in crate::store) const MILESTONE: &str =
    "INSERT INTO milestones (execution_id, session_id, tenant, milestone) VALUES ($1, $2, $3, $4)";
/// Returns the store's ID, the oldest milestone's sequence, and the highest sequence ever assigned.
pub(in crate::store) const MILESTONES_RANGE: &str = "SELECT id, (SELECT min(sequence) FROM milestones), \
     coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'milestones'), 0) FROM store";

/// The kinds of steps that only one transaction per tenant may execute at a time.
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

/// Does nothing: only one write transaction is open at a time.
pub(in crate::store) async fn one_at_a_time(_: &mut Connection, _: Turn, _: &str) -> Result<(), StoreError> {
    Ok(())
}

/// Starts a read transaction on one consistent snapshot.
pub(in crate::store) async fn snapshot(pool: &Pool) -> Result<Tx, StoreError> {
    Ok(pool.begin().await?)
}

pub(in crate::store) async fn commit(tx: Tx) -> Result<(), StoreError> {
    Ok(tx.commit().await?)
}

/// Restricts a query to rows with this label.
pub(in crate::store) fn has_label(sql: &mut QueryBuilder<Db>, key: &str, value: &str) {
    sql.push(" AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ")
        .push_bind(key.to_owned())
        .push(" AND value = ")
        .push_bind(value.to_owned())
        .push(")");
}

/// Returns a text in a form that SQLite can store, which is any text.
pub(in crate::store) fn text(text: &str) -> &str {
    text
}
