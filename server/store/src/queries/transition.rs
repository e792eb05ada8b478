//! Steps of executions: a compare-and-set with all dependent writes in one transaction.

use airlock_domain::{ExecutionId, ExecutionState, OutputState};
use airlock_lifecycle::{OUTPUTS, OutputBy, Transition, is_unstored, taken};
use sqlx::QueryBuilder;

use super::{
    approvals, audit, connections, deliveries,
    engine::{self, Db, Tx, clock},
    executions, milestones, queue, sessions,
};
use crate::{
    Cas, StoreError,
    record::ExecutionRecord,
    sql::rows::{id, output_columns},
};

pub(crate) async fn take(
    mut tx: Tx,
    id: ExecutionId,
    version: u64,
    step: &Transition,
) -> Result<Cas<ExecutionRecord>, StoreError> {
    let Some(record) = executions::get_to_change(&mut tx, id).await? else {
        return Ok(Cas::Missing);
    };
    if record.version != version {
        return Ok(Cas::Stale(record));
    }
    let now = clock(&mut tx).await?;
    let from = record.state;
    let taken = taken(record, step, now)?;
    let record = &taken.record;
    executions::update(&mut tx, record).await?;
    if let Some(change) = &taken.change {
        executions::insert_change(&mut tx, id, change).await?;
    }
    if taken.withdraw {
        approvals::withdraw(&mut tx, id).await?;
    }
    if let Some(approval) = &taken.approval {
        approvals::insert(&mut tx, approval).await?;
    }
    if taken.finished {
        audit::close(&mut tx, record, now).await?;
        connections::add(&mut tx, record).await?;
        deliveries::add(&mut tx, record, now).await?;
        sessions::touch(&mut tx, record.session_id, now).await?;
        if let Some(result) = &record.result {
            sessions::follow(&mut tx, record.session_id, result).await?;
            queue::note_output(&mut tx, &record.tenant, result, now).await?;
        }
    }
    match (from, record.state) {
        (ExecutionState::Queued, ExecutionState::Starting) => queue::charge(&mut tx, &record.tenant).await?,
        (ExecutionState::Starting, ExecutionState::Queued) => queue::give_back(&mut tx, id).await?,
        _ => {}
    }
    // The milestone is last, because its number must be assigned in the order of the commits.
    if let Some(milestone) = taken.milestone {
        milestones::insert(&mut tx, record, milestone).await?;
    }
    engine::commit(tx).await?;
    Ok(Cas::Done(taken.record))
}

pub(crate) async fn set_output(
    mut tx: Tx,
    id: ExecutionId,
    output: OutputState,
    by: OutputBy<'_>,
) -> Result<bool, StoreError> {
    let (output, from) = output_columns(output);
    let mut sql = QueryBuilder::<Db>::new("UPDATE executions SET output = ");
    sql.push_bind(output).push(", output_from = ").push_bind(from);
    sql.push(" WHERE ended IS NOT NULL AND id = ").push_bind(id.to_string());
    sql.push(" AND ").push(output_in(|state| by.may_replace(state)));
    if let OutputBy::Keeper(server) = by {
        sql.push(" AND owner_server = ").push_bind(server.to_owned());
    }
    let set = sql.build().execute(&mut *tx).await?.rows_affected();
    engine::commit(tx).await?;
    Ok(set > 0)
}

pub(crate) async fn lose_outputs(
    mut tx: Tx,
    away_micros: i64,
    at_most: u32,
) -> Result<Vec<ExecutionId>, StoreError> {
    let is_free = format!(
        "{} AND ended IS NOT NULL AND (owner_server IS NULL OR lease_until <= ",
        output_in(is_unstored)
    );
    let now = clock(&mut tx).await?.0;
    let before = now.saturating_sub(away_micros);
    let (lost, from) = output_columns(OutputState::Lost);
    let mut sql = QueryBuilder::<Db>::new("UPDATE executions SET output = ");
    sql.push_bind(lost)
        .push(", output_from = ")
        .push_bind(from)
        .push(" WHERE ")
        .push(&is_free)
        .push_bind(now);
    sql.push(") AND id IN (SELECT id FROM executions WHERE ").push(&is_free).push_bind(now);
    sql.push(") AND ended < ").push_bind(before);
    sql.push(" AND runner_id IN (SELECT id FROM runners WHERE last_seen < ").push_bind(before);
    sql.push(") ORDER BY id LIMIT ").push_bind(i64::from(at_most)).push(") RETURNING id");
    let mut ids: Vec<String> = sql.build_query_scalar().fetch_all(&mut *tx).await?;
    engine::commit(tx).await?;
    ids.sort_unstable();
    ids.iter().map(|text| id("id", text)).collect()
}

pub(crate) async fn renew_leases(mut tx: Tx, server_id: &str, lease_micros: i64) -> Result<u64, StoreError> {
    let until = clock(&mut tx).await?.0.saturating_add(lease_micros);
    let renewed =
        sqlx::query("UPDATE executions SET lease_until = $1 WHERE owner_server = $2 AND ended IS NULL")
            .bind(until)
            .bind(server_id)
            .execute(&mut *tx)
            .await?
            .rows_affected();
    engine::commit(tx).await?;
    Ok(renewed)
}

pub(crate) async fn take_storing(
    mut tx: Tx,
    id: ExecutionId,
    server_id: &str,
    lease_micros: i64,
) -> Result<bool, StoreError> {
    let now = clock(&mut tx).await?.0;
    let mut sql = QueryBuilder::<Db>::new("UPDATE executions SET owner_server = ");
    sql.push_bind(server_id.to_owned()).push(", lease_until = ").push_bind(now.saturating_add(lease_micros));
    sql.push(" WHERE id = ").push_bind(id.to_string()).push(" AND ended IS NOT NULL AND ");
    sql.push(output_in(is_unstored)).push(" AND (owner_server IS NULL OR owner_server = ");
    sql.push_bind(server_id.to_owned()).push(" OR lease_until <= ").push_bind(now).push(")");
    let taken = sql.build().execute(&mut *tx).await?.rows_affected();
    engine::commit(tx).await?;
    Ok(taken > 0)
}

/// Returns the condition that the output has one of the states that `is` selects.
fn output_in(is: impl Fn(OutputState) -> bool) -> String {
    let states = OUTPUTS.into_iter().filter(|state| is(*state));
    let names: Vec<String> = states.map(|state| format!("'{}'", output_columns(state).0)).collect();
    format!("output IN ({})", names.join(", "))
}
