//! The parts of the queries that are specific to SQLite: types, clock, sequence numbers. There is one
//! writer, so no locks are needed.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::{StoreError, record::Micros};

pub(crate) type Db = Sqlite;
pub(crate) type Connection = SqliteConnection;
pub(crate) type Pool = SqlitePool;
pub(crate) type Row = sqlx::sqlite::SqliteRow;
pub(crate) type Arguments = sqlx::sqlite::SqliteArguments;
pub(crate) type Tx = Transaction<'static, Sqlite>;

/// Whether several write transactions can be open at once.
pub(crate) const MANY_WRITERS: bool = false;
/// The SQL expression of the current time. It is constant within one statement only, so a transaction
/// reads it once.
pub(crate) const NOW: &str = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";
/// The SQL suffix of a query for a row that is about to change. Not needed here.
pub(crate) const TO_CHANGE: &str = "";
/// The SQL suffix of a query that takes rows of `e`. Not needed here.
pub(crate) const TO_TAKE: &str = "";
/// The SQL function that returns the greatest of its arguments.
pub(crate) const GREATEST: &str = "max";

pub(crate) const AUDIT_OPEN: &str = "INSERT INTO audit_opened \
     (execution_id, tenant, principal, peer, verdict, reason_code, opened, command) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
pub(crate) const MILESTONE: &str =
    "INSERT INTO milestones (execution_id, session_id, tenant, milestone) VALUES ($1, $2, $3, $4)";
/// Returns the store's ID, the oldest milestone's sequence, and the highest sequence ever assigned.
pub(crate) const MILESTONES_RANGE: &str = "SELECT id, (SELECT min(sequence) FROM milestones), \
     coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'milestones'), 0) FROM store";

/// The kinds of steps that only one transaction per tenant may execute at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    Creations,
    Rules,
}

pub(crate) async fn clock(connection: &mut Connection) -> Result<Micros, StoreError> {
    let micros = sqlx::query_scalar("SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER)")
        .fetch_one(connection)
        .await?;
    Ok(Micros(micros))
}

/// Does nothing: only one write transaction is open at a time.
pub(crate) async fn one_at_a_time(_: &mut Connection, _: Turn, _: &str) -> Result<(), StoreError> {
    Ok(())
}

/// Starts a read transaction on one consistent snapshot.
pub(crate) async fn snapshot(pool: &Pool) -> Result<Tx, StoreError> {
    Ok(pool.begin().await?)
}

pub(crate) async fn commit(tx: Tx) -> Result<(), StoreError> {
    Ok(tx.commit().await?)
}

/// Restricts a query to rows with this label.
pub(crate) fn has_label(sql: &mut QueryBuilder<Db>, key: &str, value: &str) {
    sql.push(" AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ")
        .push_bind(key.to_owned())
        .push(" AND value = ")
        .push_bind(value.to_owned())
        .push(")");
}

/// Returns a text in a form that SQLite can store, which is any text.
pub(crate) fn text(text: &str) -> &str {
    text
}
