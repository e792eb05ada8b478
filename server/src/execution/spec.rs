//! The specification of an execution: the fields of the request, the session's values for missing fields, and
//! the limits of the profile. This module does not decide the command.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::CommandSpec;
use airlock_policy::Decision;
use airlock_store::record::{ExecutionSpec, SessionRecord};

use crate::{
    api::{ApiError, FieldViolation, StartExecution},
    control::violation,
    decision::{leading_sleep, refused_variables},
    profiles::ResolvedProfile,
};

/// The duration from which a profile can refuse a sleep in the foreground.
const LONG_SLEEP: Duration = Duration::from_secs(2);

/// Returns the specification of a request in a session.
///
/// # Errors
/// Returns `Invalid` with every field that the session or the profile does not permit.
pub(super) fn of(
    session: &SessionRecord,
    profile: &ResolvedProfile,
    request: &StartExecution,
) -> Result<ExecutionSpec, ApiError> {
    let violations = violations(session, profile, request);
    if !violations.is_empty() {
        return Err(ApiError::Invalid(violations));
    }
    // An interactive terminal needs the longer timeout.
    let is_long = request.background || request.command.pty.is_some();
    let timeout = if is_long { profile.timeout_max } else { profile.command.timeout };
    let defaults = CommandSpec { shell: session.shell, timeout, ..profile.command.clone() };
    let mut env: BTreeMap<_, _> = session.env.clone();
    let term = request.command.pty.as_ref().map(|pty| pty.term.clone().into_bytes());
    env.extend(term.map(|term| ("TERM".to_owned(), term)));
    env.extend(request.command.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    let directory = session.directory.clone();
    Ok(ExecutionSpec {
        command: CommandSpec {
            env,
            directory,
            ..request.command.clone().completed(request.given, &defaults)
        },
        given: request.given,
        background: request.background,
        yield_after: request.yield_after,
        description: request.description.clone(),
        wait_for_approval: request.wait_for_approval,
        mode: request.mode.unwrap_or(session.mode),
        allow_concurrent: request.allow_concurrent,
        dangerously_disable_sandbox: request.dangerously_disable_sandbox,
        labels: request.labels.clone(),
    })
}

fn violations(
    session: &SessionRecord,
    profile: &ResolvedProfile,
    request: &StartExecution,
) -> Vec<FieldViolation> {
    let name = profile.name();
    let mut violations = refused_variables("spec.env", &request.command.env, profile);
    let mode = request.mode.unwrap_or(session.mode);
    if mode < session.mode {
        let (asked, own) = (mode.name(), session.mode.name());
        violations.push(violation(
            "spec.mode",
            format!("`{asked}` is less strict than the session's mode `{own}`"),
        ));
    } else if !profile.permits(mode) {
        let message = format!("profile `{name}` does not permit mode `{}`", mode.name());
        violations.push(violation("spec.mode", message));
    }
    let command = &request.command;
    let timeout = request.given.timeout.then_some(command.timeout);
    for (field, time) in [("spec.timeout", timeout), ("spec.idle_timeout", command.idle_timeout)] {
        if time.is_some_and(|time| time > profile.timeout_max) {
            let at_most = profile.timeout_max.as_secs();
            violations.push(violation(field, format!("profile `{name}` permits at most {at_most} s")));
        }
    }
    let asks = [("spec.background", request.background), ("spec.yield_after", request.yield_after.is_some())];
    for (field, _) in asks.into_iter().filter(|(_, asked)| *asked && !profile.background) {
        let message = format!("profile `{name}` does not permit background commands; remove it");
        violations.push(violation(field, message));
    }
    violations
}

/// Handles a command that begins with `sleep`: `yield_after` does not apply, because the wait is intended,
/// and a profile can refuse it in the foreground.
///
/// # Errors
/// Returns `FailedPrecondition` (`FOREGROUND_SLEEP`).
pub(super) fn consider_sleep(
    spec: &mut ExecutionSpec,
    decision: &Decision,
    profile: &ResolvedProfile,
) -> Result<(), ApiError> {
    let Some(sleep) = leading_sleep(decision) else { return Ok(()) };
    spec.yield_after = None;
    if spec.background || profile.foreground_sleep || sleep.is_none_or(|time| time < LONG_SLEEP) {
        return Ok(());
    }
    let name = profile.name();
    Err(ApiError::FailedPrecondition {
        reason: "FOREGROUND_SLEEP",
        message: format!(
            "profile `{name}` refuses a command that begins with a `sleep` of {} s or more in the \
             foreground; start the command that you wait for with `background`, and wait for its end or its \
             output",
            LONG_SLEEP.as_secs()
        ),
    })
}

#[cfg(test)]
mod tests;
