//! What is PostgreSQL's own in the queries: types, clock, numbers, and the locks that make steps of several
//! servers as if they came one after the other.

use std::borrow::Cow;

use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder, Transaction};

use crate::{model::Micros, store::StoreError};

pub(in crate::store) type Db = Postgres;
pub(in crate::store) type Connection = PgConnection;
pub(in crate::store) type Pool = PgPool;
pub(in crate::store) type Row = sqlx::postgres::PgRow;
pub(in crate::store) type Arguments = sqlx::postgres::PgArguments;
pub(in crate::store) type Tx = Transaction<'static, Postgres>;

/// Whether another transaction may write while one is open.
pub(in crate::store) const MANY_WRITERS: bool = true;
/// The time as an expression: that of the statement, so that indexes can be used.
pub(in crate::store) const NOW: &str = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint";
/// After a query for a row that is about to be changed: nobody else changes it before the transaction ends.
pub(in crate::store) const TO_CHANGE: &str = " FOR NO KEY UPDATE";
/// After a query for rows `e` that are taken by whoever comes first: those that another has hold of are passed by.
pub(in crate::store) const TO_TAKE: &str = " FOR NO KEY UPDATE OF e SKIP LOCKED";
/// The function that gives the greatest of its arguments.
pub(in crate::store) const GREATEST: &str = "greatest";

// The row of a counter is locked from the number's being taken to the end of the transaction, so that
// numbers become visible in their order, have no holes, and are never given twice.
pub(in crate::store) const AUDIT_OPEN: &str = "WITH next AS (UPDATE counters SET value = value + 1 WHERE name = 'audit' RETURNING value) \
     INSERT INTO audit_opened \
     (sequence, execution_id, tenant, principal, peer, verdict, reason_code, opened, command) \
     SELECT next.value, $1, $2, $3, $4, $5, $6, $7, $8 FROM next";
pub(in crate::store) const MILESTONE: &str = "WITH next AS (UPDATE counters SET value = value + 1 WHERE name = 'milestones' RETURNING value) \
     INSERT INTO milestones (sequence, execution_id, session_id, tenant, milestone) \
     SELECT next.value, $1, $2, $3, $4 FROM next";
/// The store's id, the oldest milestone's number, and the highest that was ever given.
pub(in crate::store) const MILESTONES_RANGE: &str = "SELECT id, (SELECT min(sequence) FROM milestones), \
     (SELECT value FROM counters WHERE name = 'milestones') FROM store";

/// What is done by one transaction of a tenant at a time.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) enum Turn {
    Creations = 1,
    Rules = 2,
}

pub(in crate::store) async fn clock(connection: &mut Connection) -> Result<Micros, StoreError> {
    let micros = sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        .fetch_one(connection)
        .await?;
    Ok(Micros(micros))
}

/// Waits for the tenant's turn, which lasts to the end of the transaction. Tenants whose hashes are equal
/// wait for each other, no more.
pub(in crate::store) async fn one_at_a_time(
    connection: &mut Connection,
    turn: Turn,
    tenant: &str,
) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))")
        .bind(turn as i32)
        .bind(tenant)
        .execute(connection)
        .await?;
    Ok(())
}

/// Begins a transaction that reads what there was at one moment.
pub(in crate::store) async fn snapshot(pool: &Pool) -> Result<Tx, StoreError> {
    Ok(pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
}

/// Commits. If the connection breaks meanwhile, nobody here knows whether it was done: then it must not be
/// taken again.
pub(in crate::store) async fn commit(tx: Tx) -> Result<(), StoreError> {
    match tx.commit().await {
        Ok(()) => Ok(()),
        Err(error @ sqlx::Error::Database(_)) => Err(match error.into() {
            StoreError::Undone(why) if !why.ends_with("(40001)") && !why.ends_with("(40P01)") => {
                StoreError::Unavailable(why)
            }
            other => other,
        }),
        Err(error) => Err(StoreError::Unavailable(format!("a step may have been taken or not: {error}"))),
    }
}

/// Only rows with this label.
pub(in crate::store) fn has_label(sql: &mut QueryBuilder<Db>, key: &str, value: &str) {
    sql.push(" AND labels::jsonb ->> ").push_bind(key.to_owned());
    sql.push(" = ").push_bind(value.to_owned());
}

/// A text from elsewhere, as this engine can hold it: a NUL is none of its characters.
pub(in crate::store) fn text(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}
