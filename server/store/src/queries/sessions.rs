//! The queries of the table `sessions`.

use airlock_domain::{DirectoryReport, ExecutionResult, SessionId};
use sqlx::QueryBuilder;

use super::{
    engine::{self, Connection, Db, Pool, Tx, clock},
    lists::{self, Order},
    network_changes, rules,
};
use crate::{
    Cas, Created, Page, PageQuery, SessionChange, SessionQuery, StoreError,
    record::{Micros, SessionLevels, SessionRecord, SessionState},
    sql::{
        json::{self, EnvJson},
        names::Named,
        rows::{SessionRow, integer},
    },
};

macro_rules! columns {
    () => {
        "id, version, tenant, principal, request_id, request_hash, state, state_message, profile, mode, shell, \
         directory, env, runner_id, base, labels, idle_timeout, throwaway, snapshot, snapshot_problem, created, \
         last_used, runner_labels, network"
    };
}

const SELECT: &str = concat!("SELECT ", columns!(), " FROM sessions");
const INSERT: &str = concat!(
    "INSERT INTO sessions (",
    columns!(),
    ") \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)"
);

pub(crate) async fn create(
    mut tx: Tx,
    session: &SessionRecord,
    per_tenant: u64,
) -> Result<Created<SessionRecord>, StoreError> {
    engine::one_at_a_time(&mut tx, engine::Turn::Creations, &session.tenant).await?;
    if let Some(key) = &session.request_id {
        let who = (session.tenant.as_str(), session.principal.as_str());
        let before = lists::by_request::<SessionRow, SessionRecord>(&mut tx, SELECT, who, key).await?;
        if let Some(before) = before {
            let is_same = before.request_hash == session.request_hash;
            return Ok(Created::again(before, is_same));
        }
    }
    if is_full(&mut tx, session, per_tenant).await? {
        return Ok(Created::Full { limit: "sessions_per_tenant", value: per_tenant });
    }
    let now = clock(&mut tx).await?;
    let session = insert(&mut tx, session.clone(), now).await?;
    engine::commit(tx).await?;
    Ok(Created::New(session))
}

/// Returns whether the session's tenant has reached its limit of live sessions. A session that is
/// created as closed does not count.
pub(crate) async fn is_full(
    connection: &mut Connection,
    session: &SessionRecord,
    per_tenant: u64,
) -> Result<bool, StoreError> {
    if matches!(session.state, SessionState::Closed | SessionState::Lost) {
        return Ok(false);
    }
    let live: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sessions WHERE tenant = $1 AND state IN ('OPENING', 'OPEN', 'CLOSING')",
    )
    .bind(&session.tenant)
    .fetch_one(connection)
    .await?;
    Ok(live.unsigned_abs() >= per_tenant)
}

/// Inserts a new session and returns it with the fields that the store sets.
pub(crate) async fn insert(
    connection: &mut Connection,
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
        .bind(engine::text(&session.state_message))
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
        .bind(engine::text(&session.snapshot.problem))
        .bind(session.created.0)
        .bind(session.last_used.0)
        .bind(json::write(&session.runner_labels)?)
        .bind(network_json(&session)?)
        .execute(connection)
        .await?;
    Ok(session)
}

fn network_json(session: &SessionRecord) -> Result<Option<String>, StoreError> {
    session.network.as_ref().map(json::write).transpose()
}

fn idle_micros(session: &SessionRecord) -> i64 {
    i64::try_from(session.idle_timeout.as_micros()).unwrap_or(i64::MAX)
}

pub(crate) async fn get(
    connection: &mut Connection,
    id: SessionId,
) -> Result<Option<SessionRecord>, StoreError> {
    lists::by_id::<SessionRow, _>(connection, SELECT, &id).await
}

pub(crate) async fn list(
    pool: &Pool,
    query: &SessionQuery,
    page: &PageQuery,
) -> Result<Page<SessionRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(SELECT);
    sql.push(" WHERE TRUE");
    lists::equals(&mut sql, "tenant", query.tenant.as_ref());
    lists::equals(&mut sql, "principal", query.principal.as_ref());
    lists::equals(&mut sql, "runner_id", query.runner_id.as_ref());
    if query.states.is_empty() {
        sql.push(" AND state <> ").push_bind(SessionState::Closed.name());
    } else {
        lists::any_of(&mut sql, "state", query.states.iter().map(|state| state.name()));
    }
    lists::labels(&mut sql, &query.labels);
    lists::page::<SessionRow, _>(pool, sql, query, page, Order::Descending).await
}

pub(crate) async fn levels(pool: &Pool) -> Result<SessionLevels, StoreError> {
    let counted: Vec<(String, i64)> = sqlx::query_as(
        "SELECT state, count(*) FROM sessions WHERE state IN ('OPENING', 'OPEN', 'CLOSING') GROUP BY state",
    )
    .fetch_all(pool)
    .await?;
    let of = |state: SessionState| {
        let count = counted.iter().find(|(name, _)| name == state.name()).map_or(0, |(_, count)| *count);
        count.unsigned_abs()
    };
    Ok(SessionLevels {
        opening: of(SessionState::Opening),
        open: of(SessionState::Open),
        closing: of(SessionState::Closing),
    })
}

pub(crate) async fn change(
    mut tx: Tx,
    id: SessionId,
    version: u64,
    change: &SessionChange,
) -> Result<Cas<SessionRecord>, StoreError> {
    let found = lists::by_id_to_change::<SessionRow, SessionRecord>(&mut tx, SELECT, &id).await?;
    let Some(mut session) = found else {
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
    if let Some(network) = &change.network {
        let old = std::mem::replace(&mut session.network, network.rules().cloned());
        if let Some(by) = change.by.as_ref().filter(|_| old != session.network) {
            network_changes::note(&mut tx, &session, old.as_ref(), by).await?;
        }
    }
    if change.used {
        session.last_used = clock(&mut tx).await?;
    }
    sqlx::query(
        "UPDATE sessions SET version = $1, state = $2, state_message = $3, directory = $4, runner_id = $5, mode = $6, \
         idle_timeout = $7, last_used = $8, snapshot = $9, snapshot_problem = $10, network = $11 WHERE id = $12",
    )
    .bind(integer(session.version))
    .bind(session.state.name())
    .bind(engine::text(&session.state_message))
    .bind(&session.directory)
    .bind(session.runner_id.as_str())
    .bind(session.mode.name())
    .bind(idle_micros(&session))
    .bind(session.last_used.0)
    .bind(&session.snapshot.text)
    .bind(engine::text(&session.snapshot.problem))
    .bind(network_json(&session)?)
    .bind(id.to_string())
    .execute(&mut *tx)
    .await?;
    if matches!(session.state, SessionState::Closed | SessionState::Lost) {
        rules::forget_session(&mut tx, id).await?;
    }
    engine::commit(tx).await?;
    Ok(Cas::Done(session))
}

pub(crate) async fn idle(pool: &Pool, at_most: u32) -> Result<Vec<SessionRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(SELECT);
    sql.push(" WHERE state = 'OPEN' AND last_used + idle_timeout <= ").push(engine::NOW);
    sql.push(
        " AND NOT EXISTS (SELECT 1 FROM executions WHERE session_id = sessions.id AND ended IS NULL) \
         ORDER BY last_used + idle_timeout LIMIT ",
    );
    sql.push_bind(i64::from(at_most));
    lists::first(sql.build_query_as::<SessionRow>().fetch(pool), at_most).await
}

/// Same as [`touch`], in its own transaction.
pub(crate) async fn touch_now(mut tx: Tx, id: SessionId) -> Result<(), StoreError> {
    let now = clock(&mut tx).await?;
    touch(&mut tx, id, now).await?;
    engine::commit(tx).await
}

/// Records that the session was used.
pub(crate) async fn touch(connection: &mut Connection, id: SessionId, now: Micros) -> Result<(), StoreError> {
    sqlx::query("UPDATE sessions SET last_used = $1 WHERE id = $2")
        .bind(now.0)
        .bind(id.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// Moves the session's current directory to the directory of the result, if the result reports one.
pub(crate) async fn follow(
    connection: &mut Connection,
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
    sqlx::query(
        "UPDATE sessions SET directory = $1, version = version + 1 WHERE id = $2 AND directory <> $1",
    )
    .bind(&result.directory)
    .bind(id.to_string())
    .execute(connection)
    .await?;
    Ok(())
}
