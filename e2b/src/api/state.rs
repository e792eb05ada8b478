//! Changes of a sandbox's state: its timeout, pause and end.

use http::{Response, StatusCode};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    call::{Answer, Call},
    create::timeout,
    shown,
};
use crate::{
    body::{empty, json},
    refusal::{Kind, Refusal},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timeout {
    timeout: Option<u64>,
    /// The name of a refresh.
    duration: Option<u64>,
    /// Whether the memory is kept.
    memory: Option<bool>,
}

/// Ends a sandbox.
pub(super) async fn kill(call: &Call, id: &str) -> Answer {
    let sandbox = call.sandbox(id)?;
    call.front.registry.end(&sandbox).await;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Sets the timeout, counted from now.
pub(super) async fn set_timeout(call: Call, id: &str) -> Answer {
    let (sandbox, registry) = (call.sandbox(id)?.running()?, call.front.registry.clone());
    let body: Timeout = call.body().await?;
    let seconds = body.timeout.ok_or_else(|| Refusal::invalid("the body has no timeout"))?;
    let limits = registry.limits();
    let time = timeout(Some(seconds), limits.timeout_default, limits.timeout_max)?;
    registry.run_for(&sandbox, time).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Extends the timeout. It is never shortened.
pub(super) async fn refresh(call: Call, id: &str) -> Answer {
    let (sandbox, registry) = (call.sandbox(id)?.running()?, call.front.registry.clone());
    let body: Timeout = call.body().await?;
    let limits = registry.limits();
    let time = timeout(body.duration, limits.timeout_default, limits.timeout_max)?;
    let end = sandbox.life.borrow().end;
    if Instant::now() + time > end {
        registry.run_for(&sandbox, time).await?;
    }
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Returns the access token of a sandbox, extends its timeout, and lets a paused one run again.
pub(super) async fn connect(call: Call, id: &str, resumed: StatusCode) -> Answer {
    let (sandbox, registry) = (call.sandbox(id)?, call.front.registry.clone());
    let body: Timeout = call.body().await?;
    let limits = registry.limits();
    let time = timeout(body.timeout, limits.timeout_default, limits.timeout_max)?;
    let life = *sandbox.life.borrow();
    if life.is_paused || Instant::now() + time > life.end {
        registry.run_for(&sandbox, time).await?;
    }
    let status = if life.is_paused { StatusCode::CREATED } else { resumed };
    let response: Response<_> = json(status, &shown::created(&sandbox));
    Ok(response)
}

/// Ends the commands of a sandbox, and keeps its files.
pub(super) async fn pause(call: Call, id: &str) -> Answer {
    let (sandbox, registry) = (call.sandbox(id)?, call.front.registry.clone());
    let body: Timeout = call.body().await?;
    if sandbox.life.borrow().is_paused {
        return Err(Refusal::new(Kind::State, "the sandbox is already paused"));
    }
    if body.memory != Some(false) {
        return Err(Refusal::unsupported(
            "a pause that keeps the memory; a pause with the mode `filesystem` (without memory) ends the commands and keeps \
             the files",
        ));
    }
    registry.pause(&sandbox).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}
