//! The queries of the table of executions and of the history of their states.

use airlock_domain::{ExecutionId, ExecutionResult, ExecutionState, SessionId};
use airlock_lifecycle::created;
use airlock_proto::convert::Stored as _;
use sqlx::QueryBuilder;

use super::{
    approvals, audit, deliveries,
    engine::{self, Arguments, Connection, Db, Pool, Tx, clock},
    lists::{self, Order},
    milestones, pace, sessions,
};
use crate::{
    Created, ExecutionQuery, NewExecution, Page, PageQuery, Room, STATE_CHANGES_AT_ONCE, StoreError,
    record::{ExecutionRecord, LiveExecution, Micros, StateChange},
    sql::{
        json::{self, DecisionJson, SpecJson},
        names::Named,
        rows::{ChangeRow, ExecutionRow, LiveRow, id, integer, output_columns},
    },
};

/// The columns that a step can change come first, in the order of [`bind_changing`].
macro_rules! columns {
    () => {
        "version, state, link, runner_id, runner_epoch, attempt, owner_server, lease_until, approval_id, \
         cancel_requested, backgrounded, output, output_from, queued, started, ended, directory, decision, result, \
         serial, id, session_id, tenant, principal, request_id, request_hash, traceparent, created, labels, spec, \
         command, yield_after"
    };
}

const SELECT: &str = concat!("SELECT ", columns!(), " FROM executions");
const INSERT: &str = concat!(
    "INSERT INTO executions (",
    columns!(),
    ") \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)"
);
const UPDATE: &str = "UPDATE executions SET version = $1, state = $2, link = $3, runner_id = $4, \
     runner_epoch = $5, attempt = $6, owner_server = $7, lease_until = $8, approval_id = $9, \
     cancel_requested = $10, backgrounded = $11, output = $12, output_from = $13, queued = $14, started = $15, ended = $16, \
     directory = $17, decision = $18, result = $19, serial = $20 WHERE id = $21";

type Statement<'q> = sqlx::query::Query<'q, Db, Arguments>;

pub(crate) async fn create(mut tx: Tx, new: &NewExecution) -> Result<Created<ExecutionRecord>, StoreError> {
    let asked = &new.record;
    engine::one_at_a_time(&mut tx, engine::Turn::Creations, &asked.tenant).await?;
    if let Some(key) = &asked.request_id
        && let Some(before) = by_request(&mut tx, &asked.tenant, &asked.principal, key).await?
    {
        let is_same = before.request_hash == asked.request_hash;
        return Ok(Created::again(before, is_same));
    }
    if let Some(session) = &new.session
        && sessions::is_full(&mut tx, session, new.room.sessions_per_tenant).await?
    {
        return Ok(Created::Full { limit: "sessions_per_tenant", value: new.room.sessions_per_tenant });
    }
    if asked.state != ExecutionState::Finished
        && let Some((limit, value)) = full(&mut tx, &asked.tenant, asked.session_id, &new.room).await?
    {
        return Ok(Created::Full { limit, value });
    }
    let now = clock(&mut tx).await?;
    // Denials have their own rate limit. Their rows and audit entries are permanent.
    let pace = match asked.state {
        ExecutionState::Finished => pace::Pace::Denials,
        _ => pace::Pace::Starts,
    };
    let paced_to = match pace::pace(&mut tx, &asked.tenant, pace, &new.room, now).await? {
        Ok(paced_to) => paced_to,
        Err(later) => return Ok(later),
    };
    if let Some(session) = new.session.clone() {
        sessions::insert(&mut tx, session, now).await?;
    }
    let valid = new.approval_valid_micros;
    let approval = new.approval.clone().map(|approval| (approval, valid));
    let taken = created(asked.clone(), approval, now)?;
    let record = &taken.record;
    insert(&mut tx, record).await?;
    if let Some(change) = &taken.change {
        insert_change(&mut tx, record.id, change).await?;
    }
    if let Some(approval) = &taken.approval {
        approvals::insert(&mut tx, approval).await?;
    }
    sessions::touch(&mut tx, record.session_id, now).await?;
    pace::note_pace(&mut tx, &record.tenant, pace, paced_to, new.room.weight).await?;
    audit::open(&mut tx, record, &new.peer, now).await?;
    // The counter of the audit serializes creations from here on, so this count includes those of
    // other servers.
    let waits = engine::MANY_WRITERS && record.state == ExecutionState::Queued;
    if waits && queued(&mut tx).await? > new.room.queue {
        return Ok(Created::Full { limit: "queue", value: new.room.queue });
    }
    if taken.finished {
        audit::close(&mut tx, record, now).await?;
        deliveries::add(&mut tx, record, now).await?;
    }
    // The milestone is last, because its number must be assigned in the order of the commits.
    if let Some(milestone) = taken.milestone {
        milestones::insert(&mut tx, record, milestone).await?;
    }
    engine::commit(tx).await?;
    Ok(Created::New(taken.record))
}

/// Returns the name and value of the limit that a new execution would exceed, if any.
pub(crate) async fn full(
    tx: &mut Tx,
    tenant: &str,
    session_id: SessionId,
    room: &Room,
) -> Result<Option<(&'static str, u64)>, StoreError> {
    let (tenant, waiting, session): (i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM executions WHERE tenant = $1 AND ended IS NULL), \
         (SELECT count(*) FROM executions WHERE tenant = $1 AND ended IS NULL AND state = 'QUEUED'), \
         (SELECT count(*) FROM executions WHERE session_id = $2 AND ended IS NULL)",
    )
    .bind(tenant)
    .bind(session_id.to_string())
    .fetch_one(&mut **tx)
    .await?;
    let counts = [
        ("executions_per_tenant", tenant.unsigned_abs(), room.executions_per_tenant),
        ("queue_per_tenant", waiting.unsigned_abs(), room.queue_per_tenant),
        ("queue", queued(tx).await?, room.queue),
        ("executions_per_session", session.unsigned_abs(), room.executions_per_session),
    ];
    let over = counts.into_iter().find(|(_, count, most)| count >= most);
    Ok(over.map(|(limit, _, most)| (limit, most)))
}

/// Counts the queued executions of all tenants.
async fn queued(tx: &mut Tx) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM executions WHERE state = 'QUEUED'")
        .fetch_one(&mut **tx)
        .await?;
    Ok(count.unsigned_abs())
}

async fn insert(connection: &mut Connection, record: &ExecutionRecord) -> Result<(), StoreError> {
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
        .bind(&record.spec.command.text)
        .bind(
            record.spec.yield_after.map(|time| integer(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))),
        )
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes the columns that a step can change. The caller must have read the row in the same
/// transaction.
pub(crate) async fn update(connection: &mut Connection, record: &ExecutionRecord) -> Result<(), StoreError> {
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
        .bind(i64::from(record.attempt))
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
        .bind(&record.spec.command.directory)
        .bind(json::write(&DecisionJson(record.decision.clone()))?)
        .bind(record.result.as_ref().map(ExecutionResult::encode))
        .bind(record.is_serial()))
}

/// Adds an entry to an execution's history.
pub(crate) async fn insert_change(
    connection: &mut Connection,
    id: ExecutionId,
    change: &StateChange,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO state_changes (execution_id, version, state, link, at, approval_id, backgrounded_by) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
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

pub(crate) async fn get(
    connection: &mut Connection,
    id: ExecutionId,
) -> Result<Option<ExecutionRecord>, StoreError> {
    lists::by_id::<ExecutionRow, _>(connection, SELECT, &id).await
}

/// Same as [`get`], but locks the row until the transaction ends.
pub(crate) async fn get_to_change(
    connection: &mut Connection,
    id: ExecutionId,
) -> Result<Option<ExecutionRecord>, StoreError> {
    lists::by_id_to_change::<ExecutionRow, _>(connection, SELECT, &id).await
}

pub(crate) async fn by_request(
    connection: &mut Connection,
    tenant: &str,
    principal: &str,
    request_id: &str,
) -> Result<Option<ExecutionRecord>, StoreError> {
    lists::by_request::<ExecutionRow, _>(connection, SELECT, (tenant, principal), request_id).await
}

pub(crate) async fn live(
    pool: &Pool,
    session: Option<SessionId>,
    after: Option<ExecutionId>,
    at_most: u32,
) -> Result<Vec<LiveExecution>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(
        "SELECT e.id, e.version, e.session_id, e.state, e.link, e.runner_id, e.attempt, e.owner_server, \
         e.lease_until, e.approval_id, e.serial, e.created, e.queued, e.started, e.yield_after, \
         e.backgrounded IS NOT NULL AS backgrounded, \
         EXISTS (SELECT 1 FROM approvals WHERE id = e.approval_id AND state <> 'OPEN') AS is_answered \
         FROM executions e WHERE ended IS NULL",
    );
    lists::equals(&mut sql, "session_id", session);
    if let Some(after) = after {
        sql.push(" AND id > ").push_bind(after.to_string());
    }
    sql.push(" ORDER BY id LIMIT ").push_bind(i64::from(at_most));
    let rows = sql.build_query_as::<LiveRow>().fetch_all(pool).await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(crate) async fn unstored(
    pool: &Pool,
    server_id: &str,
    at_most: u32,
) -> Result<Vec<ExecutionRecord>, StoreError> {
    let mut sql = QueryBuilder::<Db>::new(SELECT);
    sql.push(" WHERE ended IS NOT NULL AND output IN ('LIVE', 'STORING')");
    sql.push(" AND (owner_server IS NULL OR lease_until <= ").push(engine::NOW);
    sql.push(") AND runner_id IN (SELECT runner_id FROM links WHERE server_id = ")
        .push_bind(server_id.to_owned());
    sql.push(") ORDER BY row_number() OVER (PARTITION BY runner_id ORDER BY id), id LIMIT ");
    sql.push_bind(i64::from(at_most));
    let rows = sql.build_query_as::<ExecutionRow>().fetch_all(pool).await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(crate) async fn list(
    pool: &Pool,
    query: &ExecutionQuery,
    page: &PageQuery,
) -> Result<Page<ExecutionRecord>, StoreError> {
    lists::page::<ExecutionRow, _>(pool, select(query), query, page, Order::Descending).await
}

/// Returns the query of a list, with its filter.
fn select(query: &ExecutionQuery) -> QueryBuilder<Db> {
    let mut sql = QueryBuilder::new(SELECT);
    sql.push(" WHERE TRUE");
    lists::equals(&mut sql, "tenant", query.tenant.as_ref());
    lists::equals(&mut sql, "session_id", query.session_id);
    lists::equals(&mut sql, "principal", query.principal.as_ref());
    lists::equals(&mut sql, "runner_id", query.runner_id.as_ref());
    if !query.states.is_empty() {
        lists::any_of(&mut sql, "state", query.states.iter().map(|state| state.name()));
        if !query.states.contains(&ExecutionState::Finished) {
            // Redundant, but required to use the partial indexes of live executions.
            sql.push(" AND ended IS NULL");
        }
    }
    if query.unstored {
        sql.push(" AND ended IS NOT NULL AND output IN ('LIVE', 'STORING')");
    }
    lists::labels(&mut sql, &query.labels);
    sql
}

pub(crate) async fn state_changes(
    pool: &Pool,
    id: ExecutionId,
    after_version: u64,
) -> Result<Vec<StateChange>, StoreError> {
    sqlx::query_as::<_, ChangeRow>(
        "SELECT version, state, link, at, approval_id, backgrounded_by FROM state_changes \
         WHERE execution_id = $1 AND version > $2 ORDER BY version LIMIT $3",
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

pub(crate) async fn outputs_ended_before(
    pool: &Pool,
    before: Micros,
    at_most: u32,
) -> Result<Vec<ExecutionId>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar(
        "SELECT id FROM executions WHERE output IN ('STORED', 'PARTIAL') AND ended < $1 ORDER BY ended LIMIT $2",
    )
    .bind(before.0)
    .bind(i64::from(at_most))
    .fetch_all(pool)
    .await?;
    ids.iter().map(|text| id("id", text)).collect()
}
