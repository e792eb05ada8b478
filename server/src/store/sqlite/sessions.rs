//! The table of sessions.

use airlock_proto::domain::{DirectoryReport, ExecutionResult, SessionId};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool};

use super::{
    Tx, clock,
    json::{self, EnvJson},
    lists,
    names::Named,
    rows::{SessionRow, integer},
    rules,
};
use crate::{
    model::{Micros, SessionRecord, SessionState},
    store::{Cas, Created, Page, PageQuery, SessionChange, SessionQuery, StoreError, page},
};

const INSERT: &str = "INSERT INTO sessions (id, version, tenant, principal, request_id, request_hash, state, \
     state_message, profile, mode, shell, directory, env, runner_id, base, labels, idle_timeout, throwaway, \
     snapshot, snapshot_problem, created, last_used) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

pub(super) async fn create(
    mut tx: Tx,
    session: SessionRecord,
    per_tenant: u64,
) -> Result<Created<SessionRecord>, StoreError> {
    if let Some(key) = &session.request_id
        && let Some(before) = by_request(&mut tx, &session.tenant, &session.principal, key).await?
    {
        return Ok(if before.request_hash == session.request_hash {
            Created::Existing(before)
        } else {
            Created::Conflict
        });
    }
    if is_full(&mut tx, &session, per_tenant).await? {
        return Ok(Created::Full { limit: "sessions_per_tenant", value: per_tenant });
    }
    let now = clock(&mut tx).await?;
    let session = insert(&mut tx, session, now).await?;
    tx.commit().await?;
    Ok(Created::New(session))
}

/// Whether the session's tenant has as many live ones as it may. One that is made closed counts for
/// nothing.
pub(super) async fn is_full(
    connection: &mut SqliteConnection,
    session: &SessionRecord,
    per_tenant: u64,
) -> Result<bool, StoreError> {
    if matches!(session.state, SessionState::Closed | SessionState::Lost) {
        return Ok(false);
    }
    let live: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sessions WHERE tenant = ? AND state IN ('OPENING', 'OPEN', 'CLOSING')",
    )
    .bind(&session.tenant)
    .fetch_one(connection)
    .await?;
    Ok(live.unsigned_abs() >= per_tenant)
}

/// Adds a session as new, and gives it as it was written.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    mut session: SessionRecord,
    now: Micros,
) -> Result<SessionRecord, StoreError> {
    session.version = 1;
    session.created = now;
    session.last_used = now;
    sqlx::query(INSERT)
        .bind(session.id.to_string())
        .bind(integer(session.version))
        .bind(&session.tenant)
        .bind(&session.principal)
        .bind(&session.request_id)
        .bind(&session.request_hash[..])
        .bind(session.state.name())
        .bind(&session.state_message)
        .bind(&session.profile)
        .bind(session.mode.name())
        .bind(session.shell.name())
        .bind(&session.directory)
        .bind(json::write(&EnvJson(session.env.clone()))?)
        .bind(session.runner_id.as_str())
        .bind(&session.base)
        .bind(json::write(&session.labels)?)
        .bind(idle_micros(&session))
        .bind(session.throwaway)
        .bind(&session.snapshot.text)
        .bind(&session.snapshot.problem)
        .bind(session.created.0)
        .bind(session.last_used.0)
        .execute(connection)
        .await?;
    Ok(session)
}

fn idle_micros(session: &SessionRecord) -> i64 {
    i64::try_from(session.idle_timeout.as_micros()).unwrap_or(i64::MAX)
}

async fn by_request(
    connection: &mut SqliteConnection,
    tenant: &str,
    principal: &str,
    request_id: &str,
) -> Result<Option<SessionRecord>, StoreError> {
    sqlx::query_as::<_, SessionRow>(
        "SELECT * FROM sessions WHERE tenant = ? AND principal = ? AND request_id = ?",
    )
    .bind(tenant)
    .bind(principal)
    .bind(request_id)
    .fetch_optional(connection)
    .await?
    .map(TryInto::try_into)
    .transpose()
}

pub(super) async fn get(
    connection: &mut SqliteConnection,
    id: SessionId,
) -> Result<Option<SessionRecord>, StoreError> {
    sqlx::query_as::<_, SessionRow>("SELECT * FROM sessions WHERE id = ?")
        .bind(id.to_string())
        .fetch_optional(connection)
        .await?
        .map(TryInto::try_into)
        .transpose()
}

pub(super) async fn list(
    pool: &SqlitePool,
    query: &SessionQuery,
    page: &PageQuery,
) -> Result<Page<SessionRecord>, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT * FROM sessions WHERE TRUE");
    if let Some(tenant) = &query.tenant {
        sql.push(" AND tenant = ").push_bind(tenant);
    }
    if let Some(principal) = &query.principal {
        sql.push(" AND principal = ").push_bind(principal);
    }
    if let Some(runner) = &query.runner_id {
        sql.push(" AND runner_id = ").push_bind(runner.as_str());
    }
    if query.states.is_empty() {
        sql.push(" AND state <> ").push_bind(SessionState::Closed.name());
    } else {
        lists::any_of(&mut sql, "state", query.states.iter().map(|state| state.name()));
    }
    lists::labels(&mut sql, &query.labels);
    if let Some(last) = page::after::<SessionId>(query, page)? {
        sql.push(" AND id < ").push_bind(last.to_string());
    }
    sql.push(" ORDER BY id DESC");
    lists::page::<SessionRow, SessionRecord>(pool, sql, query, page).await
}

pub(super) async fn change(
    mut tx: Tx,
    id: SessionId,
    version: u64,
    change: &SessionChange,
) -> Result<Cas<SessionRecord>, StoreError> {
    let Some(mut session) = get(&mut tx, id).await? else {
        return Ok(Cas::Missing);
    };
    if session.version != version {
        return Ok(Cas::Stale(session));
    }
    session.version = version.saturating_add(1);
    if let Some((state, message)) = &change.state {
        session.state = *state;
        session.state_message.clone_from(message);
    }
    if let Some(directory) = &change.directory {
        session.directory.clone_from(directory);
    }
    if let Some(runner) = &change.runner_id {
        session.runner_id = runner.clone();
    }
    if let Some(snapshot) = &change.snapshot {
        session.snapshot.clone_from(snapshot);
    }
    session.mode = change.mode.unwrap_or(session.mode);
    session.idle_timeout = change.idle_timeout.unwrap_or(session.idle_timeout);
    if change.used {
        session.last_used = clock(&mut tx).await?;
    }
    sqlx::query(
        "UPDATE sessions SET version = ?, state = ?, state_message = ?, directory = ?, runner_id = ?, mode = ?, \
         idle_timeout = ?, last_used = ?, snapshot = ?, snapshot_problem = ? WHERE id = ?",
    )
    .bind(integer(session.version))
    .bind(session.state.name())
    .bind(&session.state_message)
    .bind(&session.directory)
    .bind(session.runner_id.as_str())
    .bind(session.mode.name())
    .bind(idle_micros(&session))
    .bind(session.last_used.0)
    .bind(&session.snapshot.text)
    .bind(&session.snapshot.problem)
    .bind(id.to_string())
    .execute(&mut *tx)
    .await?;
    if matches!(session.state, SessionState::Closed | SessionState::Lost) {
        rules::forget_session(&mut tx, id).await?;
    }
    tx.commit().await?;
    Ok(Cas::Done(session))
}

pub(super) async fn idle(pool: &SqlitePool, at_most: u32) -> Result<Vec<SessionRecord>, StoreError> {
    let rows = sqlx::query_as::<_, SessionRow>(
        "SELECT * FROM sessions WHERE state = 'OPEN' \
         AND last_used + idle_timeout <= CAST(unixepoch('subsec') * 1000000 AS INTEGER) \
         AND NOT EXISTS (SELECT 1 FROM executions WHERE session_id = sessions.id AND ended IS NULL) \
         ORDER BY last_used + idle_timeout LIMIT ?",
    )
    .bind(at_most)
    .fetch(pool);
    let (first, _) = lists::bounded(rows, at_most as usize).await?;
    Ok(first)
}

/// As [`touch`], as a step of its own.
pub(super) async fn touch_now(mut tx: Tx, id: SessionId) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    touch(&mut tx, id, now).await?;
    Ok(tx.commit().await?)
}

/// Notes that the session was used just now.
pub(super) async fn touch(
    connection: &mut SqliteConnection,
    id: SessionId,
    now: Micros,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE sessions SET last_used = ? WHERE id = ?")
        .bind(now.0)
        .bind(id.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// Moves the session's current directory to where a result says it is, if it says so.
pub(super) async fn follow(
    connection: &mut SqliteConnection,
    id: SessionId,
    result: &ExecutionResult,
) -> Result<(), StoreError> {
    let moves = match result.directory_report {
        DirectoryReport::Reported | DirectoryReport::SnappedBack => true,
        DirectoryReport::Unchanged | DirectoryReport::NotKept => false,
    };
    if !moves {
        return Ok(());
    }
    sqlx::query("UPDATE sessions SET directory = ?, version = version + 1 WHERE id = ? AND directory <> ?")
        .bind(&result.directory)
        .bind(id.to_string())
        .bind(&result.directory)
        .execute(connection)
        .await?;
    Ok(())
}
