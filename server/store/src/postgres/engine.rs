//! The parts of the queries that are specific to PostgreSQL: types, clock, sequence numbers, and the locks that
//! serialize the steps of several servers.

use std::borrow::Cow;

use sqlx::{PgConnection, PgPool, Postgres, QueryBuilder, Transaction};

use crate::{StoreError, record::Micros};

pub(crate) type Db = Postgres;
pub(crate) type Connection = PgConnection;
pub(crate) type Pool = PgPool;
pub(crate) type Row = sqlx::postgres::PgRow;
pub(crate) type Arguments = sqlx::postgres::PgArguments;
pub(crate) type Tx = Transaction<'static, Postgres>;

/// Whether several write transactions can be open at once.
pub(crate) const MANY_WRITERS: bool = true;
/// The SQL expression of the current time. It is constant within a statement, so that indexes can be used.
pub(crate) const NOW: &str = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint";
/// The SQL suffix of a query for a row that is about to change. It locks the row until the transaction ends.
pub(crate) const TO_CHANGE: &str = " FOR NO KEY UPDATE";
/// The SQL suffix of a query that takes rows of `e`. It skips rows that another transaction has locked.
pub(crate) const TO_TAKE: &str = " FOR NO KEY UPDATE OF e SKIP LOCKED";
/// The SQL function that returns the greatest of its arguments.
pub(crate) const GREATEST: &str = "greatest";

// The counter row stays locked from the assignment of the number to the end of the transaction. Numbers thus
// become visible in order, have no gaps, and are never reused.
pub(crate) const AUDIT_OPEN: &str = "WITH next AS (UPDATE counters SET value = value + 1 WHERE name = 'audit' RETURNING value) \
     INSERT INTO audit_opened \
     (sequence, execution_id, tenant, principal, peer, verdict, reason_code, opened, command) \
     SELECT next.value, $1, $2, $3, $4, $5, $6, $7, $8 FROM next";
pub(crate) const MILESTONE: &str = "WITH next AS (UPDATE counters SET value = value + 1 WHERE name = 'milestones' RETURNING value) \
     INSERT INTO milestones (sequence, execution_id, session_id, tenant, milestone) \
     SELECT next.value, $1, $2, $3, $4 FROM next";
/// Returns the store's ID, the oldest milestone's sequence, and the highest sequence ever assigned.
pub(crate) const MILESTONES_RANGE: &str = "SELECT id, (SELECT min(sequence) FROM milestones), \
     (SELECT value FROM counters WHERE name = 'milestones') FROM store";

/// The kinds of steps that only one transaction per tenant may execute at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    Creations = 1,
    Rules = 2,
}

pub(crate) async fn clock(connection: &mut Connection) -> Result<Micros, StoreError> {
    let micros = sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        .fetch_one(connection)
        .await?;
    Ok(Micros(micros))
}

/// Takes the tenant's lock for `turn` until the transaction ends. Tenants with equal hashes share a lock, which
/// only costs time.
pub(crate) async fn one_at_a_time(
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

/// Starts a read-only transaction on one consistent snapshot.
pub(crate) async fn snapshot(pool: &Pool) -> Result<Tx, StoreError> {
    Ok(pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
}

/// Commits. If the connection fails during the commit, the result is unknown, and the step must not be retried.
pub(crate) async fn commit(tx: Tx) -> Result<(), StoreError> {
    match tx.commit().await {
        Ok(()) => Ok(()),
        Err(error @ sqlx::Error::Database(_)) => Err(match error.into() {
            StoreError::Undone(why) if !why.ends_with("(40001)") && !why.ends_with("(40P01)") => {
                StoreError::Unavailable(why)
            }
            other => other,
        }),
        Err(error) => Err(StoreError::Unavailable(format!("the result of a commit is unknown: {error}"))),
    }
}

/// Restricts a query to rows with this label.
pub(crate) fn has_label(sql: &mut QueryBuilder<Db>, key: &str, value: &str) {
    sql.push(" AND labels::jsonb ->> ").push_bind(key.to_owned());
    sql.push(" = ").push_bind(value.to_owned());
}

/// Returns a text in a form that PostgreSQL can store: NUL is replaced, because its text type cannot hold it.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}
