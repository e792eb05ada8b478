//! The logs and metrics of a sandbox, from its executions.

use http::StatusCode;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use airlock_client::{
    cause,
    v1::{
        Execution, ExecutionFilter, ExecutionServiceListRequest, ExecutionState, ExecutionView, PageRequest,
    },
};

use super::call::{Answer, Call};
use crate::{body, refusal::Refusal, sandbox::Sandbox};

/// The executions that are reported, the newest ones.
const NEWEST: i32 = 100;
/// The sandboxes of one request, as at E2B.
const SANDBOXES: usize = 100;

/// Returns the newest executions of a sandbox, oldest first.
async fn executions(sandbox: &Sandbox, view: ExecutionView) -> Result<Vec<Execution>, Refusal> {
    let request = ExecutionServiceListRequest {
        page: Some(PageRequest { page_size: NEWEST, ..Default::default() }),
        filter: Some(ExecutionFilter { session_id: sandbox.session.clone(), ..Default::default() }),
        view: view.into(),
    };
    let mut found = sandbox.client().executions(request).await?.executions;
    found.reverse();
    Ok(found)
}

/// Returns one entry for each command that has ended. Airlock measures a command, not a sandbox: the other numbers are 0.
async fn measured(sandbox: &Sandbox) -> Result<Vec<Value>, Refusal> {
    let seconds = |time: &Option<prost_types::Duration>| {
        time.and_then(|time| std::time::Duration::try_from(time).ok()).unwrap_or_default().as_secs_f64()
    };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let found = executions(sandbox, ExecutionView::Basic).await?;
    let ended = found.iter().filter_map(|execution| {
        let result = execution.result.as_ref()?;
        let at = time(execution.times.as_ref()?.ended.as_ref()?)?;
        let (used, ran) = (seconds(&result.cpu_time), seconds(&result.run_time));
        let percent = if ran > 0.0 { used / ran * 100.0 } else { 0.0 };
        Some(json!({
            "timestamp": at.format(&Rfc3339).ok()?,
            "timestampUnix": at.unix_timestamp(),
            "cpuCount": processors,
            "cpuUsedPct": percent,
            "memUsed": result.peak_memory,
            "memTotal": 0,
            "memCache": 0,
            "diskUsed": 0,
            "diskTotal": 0,
        }))
    });
    Ok(ended.collect())
}

fn time(time: &prost_types::Timestamp) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(time.seconds).ok()
}

/// Returns the metrics of a sandbox, within the times of the query.
pub(super) async fn metrics(call: &Call, id: &str) -> Answer {
    let sandbox = call.sandbox(id)?;
    let bound = |name: &str| call.parameter(name).and_then(|text| text.parse::<i64>().ok());
    let (start, end) = (bound("start"), bound("end"));
    let within = |value: &Value| {
        let at = value.get("timestampUnix").and_then(Value::as_i64).unwrap_or_default();
        start.is_none_or(|start| at >= start) && end.is_none_or(|end| at <= end)
    };
    let found: Vec<Value> = measured(&sandbox).await?.into_iter().filter(within).collect();
    Ok(body::json(StatusCode::OK, &found))
}

/// Returns the last metrics of the sandboxes that the query names.
pub(super) async fn all_metrics(call: &Call) -> Answer {
    let mut found = serde_json::Map::new();
    let named = call.parameter("sandbox_ids").unwrap_or_default();
    let ids: Vec<&str> = named.split(',').filter(|id| !id.is_empty()).take(SANDBOXES).collect();
    for id in ids {
        let sandbox = call.sandbox(id)?;
        if let Some(last) = measured(&sandbox).await?.pop() {
            found.insert(id.to_owned(), last);
        }
    }
    Ok(body::json(StatusCode::OK, &json!({"sandboxes": found})))
}

/// Returns one log entry for each command, with its text and its end.
pub(super) async fn logs(call: &Call, id: &str) -> Answer {
    let sandbox = call.sandbox(id)?;
    let found = executions(&sandbox, ExecutionView::Full).await?;
    let entries: Vec<Value> = found.iter().filter_map(entry).collect();
    let lines: Vec<Value> = entries.iter().map(line).collect();
    // The first version of the call has lines, and the second one entries.
    let value = match call.is_second {
        true => json!({"logs": entries}),
        false => json!({"logs": lines, "logEntries": entries}),
    };
    Ok(body::json(StatusCode::OK, &value))
}

fn entry(execution: &Execution) -> Option<Value> {
    let at = time(execution.times.as_ref()?.created.as_ref()?)?.format(&Rfc3339).ok()?;
    let has_ended = execution.state() == ExecutionState::Finished;
    let how = match has_ended {
        true => cause::sentence(execution.result.as_ref()),
        false => "has not ended".to_owned(),
    };
    let succeeded = execution.result.as_ref().is_none_or(cause::succeeded);
    Some(json!({
        "timestamp": at,
        "message": format!("{}: {how}", execution.command),
        "level": if succeeded { "info" } else { "warn" },
        "fields": {"execution_id": execution.execution_id},
    }))
}

fn line(entry: &Value) -> Value {
    json!({"timestamp": entry.get("timestamp"), "line": entry.get("message")})
}
