//! The rate limits per tenant.

use super::engine::Connection;
use crate::{
    Created, Room, StoreError, fair,
    record::{ExecutionRecord, Micros},
};

/// The rate limits of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Starts,
    Denials,
}

/// Returns the rate-limit state of a tenant after one more start or denial. Returns the response instead if the tenant
/// exceeds the rate limit or, for a start, the daily quota of output. The caller must hold the tenant's lock.
pub(crate) async fn pace(
    connection: &mut Connection,
    tenant: &str,
    pace: Pace,
    room: &Room,
    now: Micros,
) -> Result<Result<i64, Created<ExecutionRecord>>, StoreError> {
    let counted: Option<(i64, i64, i64, i64)> = sqlx::query_as(
        "SELECT paced_to, denials_paced_to, output_day, output_bytes FROM tenants WHERE name = $1",
    )
    .bind(tenant)
    .fetch_optional(connection)
    .await?;
    let (starts_to, denials_to, day, bytes) = counted.unwrap_or_default();
    let (today, wait_micros) = fair::day(now.0);
    let most = room.output_bytes_per_day;
    if pace == Pace::Starts && day == today && bytes.unsigned_abs() >= most {
        return Ok(Err(Created::Later { limit: "output_bytes_per_day", value: most, wait_micros }));
    }
    let (limit, paced_to, value) = match pace {
        Pace::Starts => ("starts_per_second", starts_to, room.starts_per_second),
        Pace::Denials => ("denials_per_second", denials_to, room.denials_per_second),
    };
    let late = |wait_micros| Created::Later { limit, value, wait_micros };
    Ok(fair::paced(paced_to, now.0, value).map_err(late))
}

/// Records a start or a denial, and the current cost of a placement of this tenant.
pub(crate) async fn note_pace(
    connection: &mut Connection,
    tenant: &str,
    pace: Pace,
    paced_to: i64,
    weight: u32,
) -> Result<(), StoreError> {
    let sql = match pace {
        Pace::Starts => {
            "INSERT INTO tenants (name, served, cost, paced_to, output_day, output_bytes) VALUES ($1, 0, $2, $3, 0, 0) \
             ON CONFLICT (name) DO UPDATE SET cost = excluded.cost, paced_to = excluded.paced_to"
        }
        Pace::Denials => {
            "INSERT INTO tenants (name, served, cost, paced_to, denials_paced_to, output_day, output_bytes) \
             VALUES ($1, 0, $2, 0, $3, 0, 0) \
             ON CONFLICT (name) DO UPDATE SET cost = excluded.cost, denials_paced_to = excluded.denials_paced_to"
        }
    };
    sqlx::query(sql).bind(tenant).bind(fair::cost(weight)).bind(paced_to).execute(connection).await?;
    Ok(())
}
