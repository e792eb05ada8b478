//! The table of executions and the history of their states.

use airlock_proto::domain::{ExecutionId, ExecutionResult, ExecutionState, SessionId};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, SqlitePool, sqlite::SqliteArguments};

use super::{
    Tx, approvals, audit, clock,
    json::{self, DecisionJson, SpecJson},
    lists, milestones,
    names::Named,
    rows::{ChangeRow, ExecutionRow, LiveRow, integer, output_columns},
    sessions,
};
use crate::{
    model::{ExecutionRecord, LiveExecution, StateChange},
    store::{
        Created, ExecutionQuery, NewExecution, Page, PageQuery, STATE_CHANGES_AT_ONCE, StoreError, page, step,
    },
};

/// What a step can change comes first, in the order of [`bind_changing`].
const INSERT: &str = "INSERT INTO executions (version, state, link, runner_id, runner_epoch, attempt, \
     owner_server, lease_until, approval_id, cancel_requested, backgrounded, output, output_from, queued, \
     started, ended, directory, decision, result, serial, \
     id, session_id, tenant, principal, request_id, request_hash, traceparent, created, labels, spec, command, \
     yield_after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const UPDATE: &str = "UPDATE executions SET version = ?, state = ?, link = ?, runner_id = ?, \
     runner_epoch = ?, attempt = ?, owner_server = ?, lease_until = ?, approval_id = ?, \
     cancel_requested = ?, backgrounded = ?, output = ?, output_from = ?, queued = ?, started = ?, ended = ?, \
     directory = ?, decision = ?, result = ?, serial = ? WHERE id = ?";

type Statement<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

pub(super) async fn create(mut tx: Tx, new: NewExecution) -> Result<Created<ExecutionRecord>, StoreError> {
    let asked = &new.record;
    if let Some(key) = &asked.request_id
        && let Some(before) = by_request(&mut tx, &asked.tenant, &asked.principal, key).await?
    {
        return Ok(if before.request_hash == asked.request_hash {
            Created::Existing(before)
        } else {
            Created::Conflict
        });
    }
    if let Some((limit, value)) = full(&mut tx, &new).await? {
        return Ok(Created::Full { limit, value });
    }
    let now = clock(&mut tx).await?;
    let peer = new.peer.clone();
    if let Some(session) = new.session.clone() {
        sessions::insert(&mut tx, session, now).await?;
    }
    let taken = step::created(new, now)?;
    let record = &taken.record;
    insert(&mut tx, record).await?;
    if let Some(change) = &taken.change {
        insert_change(&mut tx, record.id, change).await?;
    }
    if let Some(milestone) = taken.milestone {
        milestones::insert(&mut tx, record, milestone).await?;
    }
    if let Some(approval) = &taken.approval {
        approvals::insert(&mut tx, approval).await?;
    }
    audit::open(&mut tx, record, &peer, now).await?;
    if taken.finished {
        audit::close(&mut tx, record, now).await?;
    }
    sessions::touch(&mut tx, record.session_id, now).await?;
    tx.commit().await?;
    Ok(Created::New(taken.record))
}

/// The limit that leaves no room for a new execution, with its value.
async fn full(tx: &mut Tx, new: &NewExecution) -> Result<Option<(&'static str, u64)>, StoreError> {
    let NewExecution { record, session, room, .. } = new;
    if let Some(session) = session
        && sessions::is_full(tx, session, room.sessions_per_tenant).await?
    {
        return Ok(Some(("sessions_per_tenant", room.sessions_per_tenant)));
    }
    if record.state == ExecutionState::Finished {
        return Ok(None);
    }
    let (tenant, session, queue): (i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM executions WHERE tenant = ? AND ended IS NULL), \
         (SELECT count(*) FROM executions WHERE session_id = ? AND ended IS NULL), \
         (SELECT count(*) FROM executions WHERE state = 'QUEUED')",
    )
    .bind(&record.tenant)
    .bind(record.session_id.to_string())
    .fetch_one(&mut **tx)
    .await?;
    let counts = [
        ("executions_per_tenant", tenant, room.executions_per_tenant),
        ("queue", queue, room.queue),
        ("executions_per_session", session, room.executions_per_session),
    ];
    let over = counts.into_iter().find(|(_, count, most)| count.unsigned_abs() >= *most);
    Ok(over.map(|(limit, _, most)| (limit, most)))
}

async fn insert(connection: &mut SqliteConnection, record: &ExecutionRecord) -> Result<(), StoreError> {
    bind_changing(sqlx::query(INSERT), record)?
        .bind(record.id.to_string())
        .bind(record.session_id.to_string())
        .bind(&record.tenant)
        .bind(&record.principal)
        .bind(&record.request_id)
        .bind(&record.request_hash[..])
        .bind(&record.traceparent)
        .bind(record.created.0)
        .bind(json::write(&record.spec.labels)?)
        .bind(json::write(&SpecJson::new(&record.spec))?)
        .bind(&record.spec.command)
        .bind(
            record.spec.yield_after.map(|time| integer(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))),
        )
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes what a step can change; the caller has read the row in the same transaction.
pub(super) async fn update(
    connection: &mut SqliteConnection,
    record: &ExecutionRecord,
) -> Result<(), StoreError> {
    bind_changing(sqlx::query(UPDATE), record)?.bind(record.id.to_string()).execute(connection).await?;
    Ok(())
}

fn bind_changing<'q>(
    statement: Statement<'q>,
    record: &'q ExecutionRecord,
) -> Result<Statement<'q>, StoreError> {
    let (output, output_from) = output_columns(record.output);
    Ok(statement
        .bind(integer(record.version))
        .bind(record.state.name())
        .bind(record.link.map(Named::name))
        .bind(record.runner_id.as_ref().map(|id| id.as_str()))
        .bind(record.runner_epoch.map(|epoch| epoch.to_string()))
        .bind(record.attempt)
        .bind(&record.owner_server)
        .bind(record.lease_until.0)
        .bind(record.approval_id.map(|id| id.to_string()))
        .bind(record.cancel_requested)
        .bind(record.backgrounded.map(Named::name))
        .bind(output)
        .bind(output_from)
        .bind(record.queued.0)
        .bind(record.started.map(|at| at.0))
        .bind(record.ended.map(|at| at.0))
        .bind(&record.directory)
        .bind(json::write(&DecisionJson(record.decision.clone()))?)
        .bind(record.result.as_ref().map(ExecutionResult::encode))
        .bind(record.is_serial()))
}

/// Adds an entry to an execution's history.
pub(super) async fn insert_change(
    connection: &mut SqliteConnection,
    id: ExecutionId,
    change: &StateChange,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO state_changes (execution_id, version, state, link, at, approval_id, backgrounded_by) \
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(id.to_string())
    .bind(integer(change.version))
    .bind(change.state.name())
    .bind(change.link.map(Named::name))
    .bind(change.at.0)
    .bind(change.approval_id.map(|id| id.to_string()))
    .bind(change.backgrounded_by.map(Named::name))
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn get(
    connection: &mut SqliteConnection,
    id: ExecutionId,
) -> Result<Option<ExecutionRecord>, StoreError> {
    sqlx::query_as::<_, ExecutionRow>("SELECT * FROM executions WHERE id = ?")
        .bind(id.to_string())
        .fetch_optional(connection)
        .await?
        .map(TryInto::try_into)
        .transpose()
}

pub(super) async fn by_request(
    connection: &mut SqliteConnection,
    tenant: &str,
    principal: &str,
    request_id: &str,
) -> Result<Option<ExecutionRecord>, StoreError> {
    sqlx::query_as::<_, ExecutionRow>(
        "SELECT * FROM executions WHERE tenant = ? AND principal = ? AND request_id = ?",
    )
    .bind(tenant)
    .bind(principal)
    .bind(request_id)
    .fetch_optional(connection)
    .await?
    .map(TryInto::try_into)
    .transpose()
}

pub(super) async fn live(
    pool: &SqlitePool,
    session: Option<SessionId>,
    after: Option<ExecutionId>,
    at_most: u32,
) -> Result<Vec<LiveExecution>, StoreError> {
    let mut sql = QueryBuilder::new(
        "SELECT e.id, e.version, e.session_id, e.state, e.link, e.runner_id, e.attempt, e.owner_server, \
         e.lease_until, e.approval_id, e.serial, e.created, e.queued, e.started, e.yield_after, \
         e.backgrounded IS NOT NULL AS backgrounded, \
         EXISTS (SELECT 1 FROM approvals WHERE id = e.approval_id AND state <> 'OPEN') AS is_answered \
         FROM executions e WHERE ended IS NULL",
    );
    if let Some(session) = session {
        sql.push(" AND session_id = ").push_bind(session.to_string());
    }
    if let Some(after) = after {
        sql.push(" AND id > ").push_bind(after.to_string());
    }
    sql.push(" ORDER BY id LIMIT ").push_bind(at_most);
    let rows = sql.build_query_as::<LiveRow>().fetch_all(pool).await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(super) async fn list(
    pool: &SqlitePool,
    query: &ExecutionQuery,
    page: &PageQuery,
) -> Result<Page<ExecutionRecord>, StoreError> {
    lists::page::<ExecutionRow, ExecutionRecord>(pool, select(query, page)?, query, page).await
}

fn select(query: &ExecutionQuery, page: &PageQuery) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let mut sql = QueryBuilder::new("SELECT * FROM executions WHERE TRUE");
    if let Some(tenant) = &query.tenant {
        sql.push(" AND tenant = ").push_bind(tenant.clone());
    }
    if let Some(session) = query.session_id {
        sql.push(" AND session_id = ").push_bind(session.to_string());
    }
    if let Some(principal) = &query.principal {
        sql.push(" AND principal = ").push_bind(principal.clone());
    }
    if let Some(runner) = &query.runner_id {
        sql.push(" AND runner_id = ").push_bind(runner.to_string());
    }
    if !query.states.is_empty() {
        lists::any_of(&mut sql, "state", query.states.iter().map(|state| state.name()));
        if !query.states.contains(&ExecutionState::Finished) {
            // Says what the states imply, so that the indexes of what lives are used.
            sql.push(" AND ended IS NULL");
        }
    }
    if query.unstored {
        sql.push(" AND ended IS NOT NULL AND output IN ('LIVE', 'STORING')");
    }
    lists::labels(&mut sql, &query.labels);
    if let Some(last) = page::after::<ExecutionId>(query, page)? {
        sql.push(" AND id < ").push_bind(last.to_string());
    }
    sql.push(" ORDER BY id DESC");
    Ok(sql)
}

pub(super) async fn state_changes(
    pool: &SqlitePool,
    id: ExecutionId,
    after_version: u64,
) -> Result<Vec<StateChange>, StoreError> {
    sqlx::query_as::<_, ChangeRow>(
        "SELECT version, state, link, at, approval_id, backgrounded_by FROM state_changes \
         WHERE execution_id = ? AND version > ? ORDER BY version LIMIT ?",
    )
    .bind(id.to_string())
    .bind(integer(after_version))
    .bind(integer(STATE_CHANGES_AT_ONCE as u64))
    .fetch_all(pool)
    .await?
    .into_iter()
    .map(TryInto::try_into)
    .collect()
}
