//! The creation of a sandbox.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{
    call::{Answer, Call},
    network::{Network, rules},
    shown,
};
use crate::{
    body::json,
    refusal::{Kind, Refusal},
    registry::New,
    sandbox::{OnTimeout, Sandbox},
};

/// The template that the SDKs name by default.
const DEFAULT_TEMPLATE: &str = "base";
/// The entries and the bytes of the metadata.
const METADATA: (usize, usize) = (64, 16 * 1024);
/// The longest idempotency key in bytes, as at E2B.
const IDEMPOTENCY_BYTES: usize = 255;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSandbox {
    #[serde(rename = "templateID")]
    template: Option<String>,
    timeout: Option<u64>,
    #[serde(default)]
    auto_pause: Option<bool>,
    auto_pause_memory: Option<bool>,
    auto_resume: Option<AutoResume>,
    #[serde(rename = "allow_internet_access")]
    internet: Option<bool>,
    network: Option<Network>,
    metadata: Option<BTreeMap<String, String>>,
    env_vars: Option<BTreeMap<String, String>>,
    mcp: Option<Value>,
    iam: Option<Value>,
    volume_mounts: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct AutoResume {
    #[serde(default)]
    enabled: bool,
}

impl NewSandbox {
    /// Refuses what Airlock has no counterpart for.
    fn is_supported(&self) -> Result<(), Refusal> {
        let mcp = self.mcp.as_ref().is_some_and(|value| !value.is_null());
        let iam = self.iam.as_ref().is_some_and(|value| !value.is_null());
        let volumes = self.volume_mounts.as_ref().is_some_and(|list| !list.is_empty());
        let memory = self.auto_pause == Some(true) && self.auto_pause_memory != Some(false);
        let resume = self.auto_resume.as_ref().is_some_and(|resume| resume.enabled);
        let unsupported = [
            (mcp, "the MCP gateway of a sandbox"),
            (iam, "workload identities of a sandbox"),
            (volumes, "volumes"),
            (memory, "a pause that keeps the memory; let the timeout pause with the mode `filesystem`"),
            (resume, "resuming a paused sandbox by traffic; connect to it"),
        ];
        unsupported
            .iter()
            .find(|(is_set, _)| *is_set)
            .map_or(Ok(()), |(_, what)| Err(Refusal::unsupported(what)))
    }
}

/// Creates a sandbox, or returns the one that an equal request created.
pub(super) async fn create(call: Call) -> Answer {
    let (front, account) = (Arc::clone(&call.front), Arc::clone(&call.account));
    let request = call.idempotency.clone().filter(|key| !key.is_empty());
    if request.as_ref().is_some_and(|key| key.len() > IDEMPOTENCY_BYTES) {
        return Err(Refusal::invalid(format!(
            "the idempotency key is longer than {IDEMPOTENCY_BYTES} bytes"
        )));
    }
    let body: NewSandbox = call.body().await?;
    // Two equal requests at the same time would create two sandboxes.
    let turn = match &request {
        Some(_) => Some(Arc::clone(&account.creating).lock_owned().await),
        None => None,
    };
    let same = |sandbox: &Arc<Sandbox>| request.is_some() && sandbox.request == request;
    if let Some(sandbox) = front.registry.of(&account).into_iter().find(same) {
        return Ok(json(StatusCode::CREATED, &shown::created(&sandbox)));
    }
    body.is_supported()?;
    let limits = front.registry.limits();
    let timeout = timeout(body.timeout, limits.timeout_default, limits.timeout_max)?;
    let template = body.template.unwrap_or_else(|| DEFAULT_TEMPLATE.to_owned());
    let Some(base) = front.templates.get(&template).cloned() else {
        return Err(Refusal::new(Kind::NotFound, format!("template '{template}' not found")));
    };
    let new = New {
        template,
        base,
        timeout,
        on_timeout: if body.auto_pause == Some(true) { OnTimeout::Pause } else { OnTimeout::Kill },
        metadata: metadata(body.metadata.unwrap_or_default())?,
        envs: body.env_vars.unwrap_or_default(),
        network: rules(body.network.unwrap_or_default(), body.internet)?,
        request,
    };
    let registry = Arc::clone(&front.registry);
    // A caller that repeats a request that it has given up gets the sandbox of the first one.
    let creating = front.registry.tasks().spawn(async move {
        let _turn = turn;
        registry.create(&account, new).await
    });
    let sandbox = creating.await.map_err(|error| Refusal::internal(error.to_string()))??;
    Ok(json(StatusCode::CREATED, &shown::created(&sandbox)))
}

/// Returns a timeout in seconds, within the limits.
pub(super) fn timeout(seconds: Option<u64>, default: Duration, most: Duration) -> Result<Duration, Refusal> {
    let time = seconds.map_or(default, Duration::from_secs);
    if time > most {
        let most = most.as_secs();
        return Err(Refusal::invalid(format!("the timeout of a sandbox is at most {most} seconds")));
    }
    Ok(time)
}

fn metadata(given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Refusal> {
    let (entries, bytes) = METADATA;
    let size: usize = given.iter().map(|(key, value)| key.len() + value.len()).sum();
    match given.len() <= entries && size <= bytes {
        true => Ok(given),
        false => {
            Err(Refusal::invalid(format!("the metadata has more than {entries} entries or {bytes} bytes")))
        }
    }
}
