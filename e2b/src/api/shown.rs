//! A sandbox in the responses of the API.

use std::time::SystemTime;

use http::StatusCode;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::call::{Answer, Call};
use crate::{
    body,
    sandbox::{OnTimeout, Sandbox},
};

/// The version of E2B's services that the front implements. The SDKs enable features by it.
const ENVD: &str = "0.6.4";
/// The client of a sandbox, which E2B no longer uses.
const CLIENT: &str = "airlock";

/// Returns the response for a caller that gets the access token.
pub(super) fn created(sandbox: &Sandbox) -> Value {
    json!({
        "templateID": sandbox.template,
        "sandboxID": sandbox.id,
        "clientID": CLIENT,
        "envdVersion": ENVD,
        "envdAccessToken": sandbox.token.text(),
        "trafficAccessToken": sandbox.traffic_token.text(),
        "domain": null,
    })
}

/// Returns a sandbox of a list. Airlock reports no processors, memory or disk of a session.
pub(super) fn listed(sandbox: &Sandbox) -> Value {
    let life = *sandbox.life.borrow();
    json!({
        "templateID": sandbox.template,
        "sandboxID": sandbox.id,
        "clientID": CLIENT,
        "startedAt": time(sandbox.started),
        "endAt": time(life.end_at),
        "envdVersion": ENVD,
        "cpuCount": 0,
        "memoryMB": 0,
        "diskSizeMB": 0,
        "state": state(sandbox),
        "metadata": sandbox.metadata,
    })
}

/// Returns a sandbox with everything that is known of it.
pub(super) fn detail(call: &Call, id: &str) -> Answer {
    let sandbox = call.sandbox(id)?;
    let mut value = listed(&sandbox);
    let on_timeout = match sandbox.on_timeout {
        OnTimeout::Kill => "kill",
        OnTimeout::Pause => "pause",
    };
    if let Value::Object(fields) = &mut value {
        fields.insert("lifecycle".to_owned(), json!({"autoResume": false, "onTimeout": on_timeout}));
        fields.insert("envdAccessToken".to_owned(), sandbox.token.text().into());
        if sandbox.life.borrow().is_paused {
            fields.insert("pauseMode".to_owned(), "filesystem".into());
        }
    }
    Ok(body::json(StatusCode::OK, &value))
}

/// Returns the state of a sandbox.
pub(super) fn state(sandbox: &Sandbox) -> &'static str {
    if sandbox.life.borrow().is_paused { "paused" } else { "running" }
}

/// Returns a time as text.
pub(super) fn time(time: SystemTime) -> String {
    OffsetDateTime::from(time).format(&Rfc3339).unwrap_or_default()
}
