//! The specification of an execution: the fields of the request, the session's values for missing fields, and
//! the limits of the profile. This module does not decide the command.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::CommandSpec;
use airlock_policy::Decision;
use airlock_store::record::{ExecutionSpec, SessionRecord};

use crate::{
    api::{ApiError, FieldViolation, StartExecution},
    decision::{leading_sleep, refused_network, refused_variables},
    profiles::ResolvedProfile,
    shared::violation,
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
    let network = command.network.as_ref();
    violations.extend(refused_network("spec.network", network, profile, session.network.as_ref()));
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
mod tests {
    //! Tests of the specification that a request results in.

    use airlock_domain::{Given, NetworkRules, Shell};
    use airlock_store::testing::records::session;

    use super::*;
    use crate::profiles::{ProfileNetwork, Profiles};

    fn resolved() -> std::sync::Arc<ResolvedProfile> {
        Profiles::builtin().get("demo").unwrap().clone()
    }

    fn request() -> StartExecution {
        let command = CommandSpec { text: b"make".to_vec(), ..CommandSpec::default() };
        StartExecution { command, ..StartExecution::default() }
    }

    #[test]
    fn what_the_client_did_not_set_comes_from_session_and_profile() {
        let (session, profile) = (session("t"), resolved());
        let plain = of(&session, &profile, &request()).unwrap().command;
        assert_eq!((plain.shell, plain.timeout), (session.shell, profile.command.timeout));
        assert_eq!(
            (plain.inline_limit, &plain.directory),
            (profile.command.inline_limit, &session.directory)
        );
        assert_eq!(plain.env, session.env);
        let given = Given { shell: true, timeout: true, inline_limit: true, umask: true };
        let timeout = Duration::from_secs(3);
        let umask = "007".parse().unwrap();
        let command = CommandSpec { shell: Shell::Zsh, timeout, inline_limit: 5, umask, ..request().command };
        let set = of(&session, &profile, &StartExecution { command, given, ..request() }).unwrap();
        assert_eq!(
            (set.command.shell, set.command.timeout, set.command.inline_limit),
            (Shell::Zsh, timeout, 5)
        );
        assert_eq!((plain.umask, set.command.umask), (profile.command.umask, umask));
        assert_eq!(set.given, given, "which is stored");
    }

    #[test]
    fn a_request_can_only_narrow_a_network_that_there_is() {
        let only = |allow: &[&str]| NetworkRules {
            allow: allow.iter().map(|entry| (*entry).to_owned()).collect(),
            ..NetworkRules::default()
        };
        let refused = |profile: &[&str], narrowed: Option<&[&str]>, asked: &[&str]| {
            let profile = ResolvedProfile {
                network: ProfileNetwork::new(only(profile)),
                ..resolved().as_ref().clone()
            };
            let session = SessionRecord { network: narrowed.map(only), ..session("t") };
            let command = CommandSpec { network: Some(only(asked)), ..request().command };
            match of(&session, &profile, &StartExecution { command, ..request() }) {
                Ok(spec) => {
                    assert_eq!(spec.command.network, Some(only(asked)));
                    None
                }
                Err(ApiError::Invalid(violations)) => Some(violations[0].description.clone()),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(refused(&["a.example"], None, &["a.example"]), None);
        assert_eq!(refused(&["a.example"], Some(&["b.example"]), &["c.example"]), None);
        let (host, none) = (&["a.example"][..], &[][..]);
        for (profile, narrowed) in [(host, Some(none)), (none, None), (none, Some(host))] {
            assert_eq!(refused(profile, narrowed, &[]), None, "no network is always possible");
            let said = refused(profile, narrowed, &["a.example"]).unwrap();
            let at_fault =
                if profile.is_empty() { "profile `demo` has no network" } else { "the session's `network`" };
            assert!(said.starts_with(at_fault) && said.ends_with("or remove it"), "{said}");
        }
    }

    /// Each field that a request's hash does not cover. A retry with another value gets the first execution.
    #[test]
    fn a_field_that_no_retry_is_told_apart_by_is_harmless() {
        let (session, profile) = (session("t"), resolved());
        let first = of(&session, &profile, &request()).unwrap();
        for field in StartExecution::UNBOUND {
            let mut other = request();
            match field.field {
                "request_id" => other.request_id = Some("k".to_owned()),
                "description" => other.description = "d".to_owned(),
                "labels" => other.labels = [("a".to_owned(), "b".to_owned())].into(),
                "traceparent" => other.traceparent = "00-".to_owned(),
                name => panic!("no test shows why `{name}` need not be bound"),
            }
            assert_ne!(other, request(), "`{}` was changed", field.field);
            let spec = of(&session, &profile, &other).unwrap();
            let (description, labels) = (first.description.clone(), first.labels.clone());
            assert_eq!(
                ExecutionSpec { description, labels, ..spec },
                first,
                "`{}` changes the launch",
                field.field
            );
        }
    }
}
