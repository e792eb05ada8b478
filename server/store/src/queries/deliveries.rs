//! The queries of the deliveries of results to hooks.
//!
//! A delivery is taken by its `due` time, which is also the end of the lease of the server that took it. An attempt has a
//! number, so that a server whose lease has expired does not delay the attempt of another server.

use std::collections::BTreeSet;

use sqlx::QueryBuilder;

use super::engine::{self, Connection, Db, Pool, Tx, clock};
use crate::{
    Delivery, StoreError, TakeDeliveries,
    record::{ExecutionRecord, Micros},
    sql::deliveries::DeliveryRow,
};

/// Adds a delivery for each hook that was asked about an execution, which has just ended. The questions include those
/// whose answers did not become part of the stored decision.
pub(crate) async fn add(
    connection: &mut Connection,
    record: &ExecutionRecord,
    now: Micros,
) -> Result<(), StoreError> {
    let questions: Vec<String> =
        sqlx::query_scalar("SELECT DISTINCT hook FROM hook_questions WHERE execution_id = $1")
            .bind(record.id.to_string())
            .fetch_all(&mut *connection)
            .await?;
    let answers = record.decision.hooks.iter().map(|answer| &answer.hook);
    for hook in questions.iter().chain(answers).collect::<BTreeSet<_>>() {
        sqlx::query(
            "INSERT INTO hook_deliveries (execution_id, hook, tenant, attempt, created, due) \
             VALUES ($1, $2, $3, 0, $4, $4)",
        )
        .bind(record.id.to_string())
        .bind(hook)
        .bind(&record.tenant)
        .bind(now.0)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

pub(crate) async fn take(mut tx: Tx, take: &TakeDeliveries) -> Result<Vec<Delivery>, StoreError> {
    let now = clock(&mut tx).await?;
    let due: Vec<DeliveryRow> = next(take, now).build_query_as().fetch_all(&mut *tx).await?;
    let mut taken = due.into_iter().map(Delivery::try_from).collect::<Result<Vec<_>, _>>()?;
    for delivery in &mut taken {
        delivery.attempt = delivery.attempt.saturating_add(1);
        sqlx::query(
            "UPDATE hook_deliveries SET attempt = $1, holder = $2, due = $3 WHERE execution_id = $4 AND hook = $5",
        )
        .bind(i64::from(delivery.attempt))
        .bind(&take.server_id)
        .bind(now.0.saturating_add(take.lease_micros))
        .bind(delivery.execution_id.to_string())
        .bind(&delivery.hook)
        .execute(&mut *tx)
        .await?;
    }
    engine::commit(tx).await?;
    Ok(taken)
}

/// Builds the query for the due deliveries of a hook: the longest due of each tenant, then the second of each. It reads
/// at most `per_tenant` rows of each tenant, however many are due. Rows that another transaction has locked are skipped.
fn next(take: &TakeDeliveries, now: Micros) -> QueryBuilder<Db> {
    let mut sql = QueryBuilder::new(
        "WITH RECURSIVE owed (tenant) AS (SELECT min(tenant) FROM hook_deliveries WHERE hook = ",
    );
    sql.push_bind(take.hook.clone());
    sql.push(" UNION ALL SELECT (SELECT min(d.tenant) FROM hook_deliveries d WHERE d.hook = ");
    sql.push_bind(take.hook.clone());
    sql.push(" AND d.tenant > owed.tenant) FROM owed WHERE owed.tenant IS NOT NULL), ");
    sql.push(
        "first AS (SELECT f.execution_id, f.tenant, f.due FROM owed JOIN hook_deliveries f ON f.hook = ",
    );
    sql.push_bind(take.hook.clone());
    for tenant in &take.except {
        sql.push(" AND f.tenant <> ").push_bind(tenant.clone());
    }
    sql.push(" AND f.tenant = owed.tenant AND f.execution_id IN (SELECT g.execution_id FROM hook_deliveries g WHERE g.hook = ");
    sql.push_bind(take.hook.clone());
    sql.push(" AND g.tenant = owed.tenant AND g.due <= ").push_bind(now.0);
    sql.push(" ORDER BY g.due, g.execution_id LIMIT ").push_bind(i64::from(take.per_tenant)).push(")), ");
    sql.push("ranked AS (SELECT execution_id, row_number() OVER ");
    sql.push("(PARTITION BY tenant ORDER BY due, execution_id) AS place FROM first) ");
    sql.push("SELECT e.execution_id, e.hook, e.tenant, e.attempt, e.created FROM hook_deliveries e ");
    sql.push("JOIN ranked r ON r.execution_id = e.execution_id WHERE e.hook = ");
    sql.push_bind(take.hook.clone()).push(" AND e.due <= ").push_bind(now.0);
    sql.push(" ORDER BY r.place, e.due, e.execution_id LIMIT ").push_bind(i64::from(take.at_most));
    sql.push(engine::TO_TAKE);
    sql
}

/// Removes a delivery that the hook has accepted in any attempt. Returns whether it existed.
pub(crate) async fn remove(mut tx: Tx, delivery: &Delivery) -> Result<bool, StoreError> {
    let removed = sqlx::query("DELETE FROM hook_deliveries WHERE execution_id = $1 AND hook = $2")
        .bind(delivery.execution_id.to_string())
        .bind(&delivery.hook)
        .execute(&mut *tx)
        .await?
        .rows_affected();
    engine::commit(tx).await?;
    Ok(removed > 0)
}

/// Ends an attempt: the next one is due after `delay_micros`. Returns false if another attempt has begun.
pub(crate) async fn delay(mut tx: Tx, delivery: &Delivery, delay_micros: i64) -> Result<bool, StoreError> {
    let due = clock(&mut tx).await?.0.saturating_add(delay_micros);
    let delayed = sqlx::query(
        "UPDATE hook_deliveries SET holder = NULL, due = $1 WHERE execution_id = $2 AND hook = $3 AND attempt = $4",
    )
    .bind(due)
    .bind(delivery.execution_id.to_string())
    .bind(&delivery.hook)
    .bind(i64::from(delivery.attempt))
    .execute(&mut *tx)
    .await?
    .rows_affected();
    engine::commit(tx).await?;
    Ok(delayed > 0)
}

/// Removes the oldest deliveries that were created more than `age_micros` ago, of every hook. An attempt that has not
/// ended keeps its delivery until the lease expires.
pub(crate) async fn expire(mut tx: Tx, age_micros: i64, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
    let now = clock(&mut tx).await?.0;
    let mut sql = QueryBuilder::<Db>::new(
        "SELECT e.execution_id, e.hook, e.tenant, e.attempt, e.created FROM hook_deliveries e WHERE e.created < ",
    );
    sql.push_bind(now.saturating_sub(age_micros));
    sql.push(" AND (e.holder IS NULL OR e.due <= ").push_bind(now);
    sql.push(") ORDER BY e.created, e.execution_id, e.hook LIMIT ")
        .push_bind(i64::from(at_most))
        .push(engine::TO_TAKE);
    let rows: Vec<DeliveryRow> = sql.build_query_as().fetch_all(&mut *tx).await?;
    let expired = rows.into_iter().map(Delivery::try_from).collect::<Result<Vec<_>, _>>()?;
    for delivery in &expired {
        sqlx::query("DELETE FROM hook_deliveries WHERE execution_id = $1 AND hook = $2")
            .bind(delivery.execution_id.to_string())
            .bind(&delivery.hook)
            .execute(&mut *tx)
            .await?;
    }
    engine::commit(tx).await?;
    Ok(expired)
}

/// Returns the time at which the oldest delivery of a hook was created.
pub(crate) async fn oldest(pool: &Pool, hook: &str) -> Result<Option<Micros>, StoreError> {
    let created: Option<i64> = sqlx::query_scalar("SELECT min(created) FROM hook_deliveries WHERE hook = $1")
        .bind(hook)
        .fetch_one(pool)
        .await?;
    Ok(created.map(Micros))
}
