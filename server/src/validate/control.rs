//! Requests that control existing objects: signals, terminal sizes, watches, session updates and drains.

use airlock_control::api::{ApiError, CreateSession, UpdateSession, WatchExecutions};
use airlock_domain::{ExecutionId, RunnerId, SessionId, Signal, TerminalSize, limits};
use airlock_proto::v1;
use airlock_store::NetworkChange;

use super::checker::Checker;

/// Validates Signal. Returns the execution and the signal.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn signal(request: &v1::ExecutionServiceSignalRequest) -> Result<(ExecutionId, Signal), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", &request.execution_id);
    if request.signal == v1::Signal::Unspecified as i32 {
        checker.bad("signal", "is missing");
    }
    let signal = checker.choice::<v1::Signal, Signal>("signal", request.signal);
    checker.finish(id.zip(signal))
}

/// Validates Resize. Returns the execution and the size.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn resize(request: &v1::ExecutionServiceResizeRequest) -> Result<(ExecutionId, TerminalSize), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", &request.execution_id);
    let size = checker.required("size", request.size);
    let size = size.map(|size| TerminalSize {
        rows: checker.side("size.rows", size.rows, None),
        cols: checker.side("size.cols", size.cols, None),
    });
    checker.finish(id.zip(size))
}

/// Validates Watch.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn watch(request: &v1::ExecutionServiceWatchRequest) -> Result<WatchExecutions, ApiError> {
    let mut checker = Checker::default();
    checker.at_most("cursor", request.cursor.len(), limits::CURSOR_BYTES);
    let watch = WatchExecutions {
        session_id: checker.optional_id("session_id", &request.session_id),
        cursor: (!request.cursor.is_empty()).then(|| request.cursor.to_vec()),
    };
    checker.finish(Some(watch))
}

/// Validates Update. Returns the session and the change.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn update_session(
    request: &v1::SessionServiceUpdateRequest,
) -> Result<(SessionId, UpdateSession), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("session_id", &request.session_id);
    if request.idle_timeout.is_some_and(|idle| idle.seconds == 0 && idle.nanos == 0) {
        checker.bad("idle_timeout", "is 0; omit it to keep the current value");
    }
    if request.reset_network && request.network.is_some() {
        checker.bad("reset_network", "is only valid without `network`");
    }
    let rules = checker.network("network", request.network.as_ref());
    let reset = request.reset_network.then_some(NetworkChange::Reset);
    let update = UpdateSession {
        mode: checker.mode("mode", request.mode),
        idle_timeout: checker.duration("idle_timeout", request.idle_timeout, limits::IDLE_TIMEOUT_MAX),
        network: rules.map(NetworkChange::Set).or(reset),
    };
    checker.finish(id.map(|id| (id, update)))
}

/// Validates DrainRunner. Returns the runner, and whether to undo the drain.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn drain_runner(request: &v1::AdminServiceDrainRunnerRequest) -> Result<(RunnerId, bool), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("runner_id", &request.runner_id);
    checker.finish(id.map(|id| (id, request.undo)))
}

/// Validates Create.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn create_session(request: v1::SessionServiceCreateRequest) -> Result<CreateSession, ApiError> {
    let mut checker = Checker::default();
    let session = CreateSession {
        request_id: checker.text("request_id", request.request_id, limits::REQUEST_ID_BYTES),
        profile: checker.name("profile", request.profile),
        mode: checker.mode("mode", request.mode),
        shell: checker.shell("shell", request.shell),
        base: checker.name("base", request.base),
        env: checker.env("env", request.env, request.env_bytes),
        labels: checker.labels("labels", request.labels),
        runner_labels: checker.labels("runner_labels", request.runner_labels),
        idle_timeout: checker.duration("idle_timeout", request.idle_timeout, limits::IDLE_TIMEOUT_MAX),
        network: checker.network("network", request.network.as_ref()),
    };
    checker.finish(Some(session))
}

/// Validates the ID of a session as the only field of a request.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn session_id(text: &str) -> Result<SessionId, ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("session_id", text);
    checker.finish(id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use airlock_domain::{Mode, NetworkRules};
    use prost_types::Duration as WireDuration;

    use super::*;

    fn fields<T: std::fmt::Debug>(refused: Result<T, ApiError>) -> Vec<String> {
        match refused {
            Err(ApiError::Invalid(violations)) => violations.into_iter().map(|bad| bad.field).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_signal_names_its_execution_and_itself() {
        let id = ExecutionId::new();
        let request = |execution_id: &str, signal| v1::ExecutionServiceSignalRequest {
            execution_id: execution_id.to_owned(),
            signal,
        };
        let int = v1::Signal::Int as i32;
        assert_eq!(signal(&request(&id.to_string(), int)).unwrap(), (id, Signal::Int));
        assert_eq!(fields(signal(&request(&id.to_string(), 0))), ["signal"]);
        assert_eq!(fields(signal(&request("x", 99))), ["execution_id", "signal"]);
    }

    #[test]
    fn a_size_has_two_sides_within_bounds() {
        let id = ExecutionId::new();
        let request = |execution_id: &str, size: Option<(u32, u32)>| v1::ExecutionServiceResizeRequest {
            execution_id: execution_id.to_owned(),
            size: size.map(|(rows, cols)| v1::TerminalSize { rows, cols }),
        };
        let largest = (id, TerminalSize { rows: 1, cols: 4096 });
        assert_eq!(resize(&request(&id.to_string(), Some((1, 4096)))).unwrap(), largest);
        assert_eq!(fields(resize(&request(&id.to_string(), None))), ["size"]);
        for sides in [(0, 0), (4097, 65_537), (u32::MAX, 0)] {
            let found = fields(resize(&request("x", Some(sides))));
            assert_eq!(found, ["execution_id", "size.rows", "size.cols"], "{sides:?}");
        }
    }

    #[test]
    fn an_update_says_what_changes_and_zero_is_not_as_it_is() {
        let id = SessionId::new();
        let request = |mode, idle: Option<i64>| v1::SessionServiceUpdateRequest {
            session_id: id.to_string(),
            mode,
            idle_timeout: idle.map(|seconds| WireDuration { seconds, nanos: 0 }),
            ..v1::SessionServiceUpdateRequest::default()
        };
        assert_eq!(update_session(&request(0, None)).unwrap(), (id, UpdateSession::default()));
        let plan = UpdateSession {
            mode: Some(Mode::Plan),
            idle_timeout: Some(Duration::from_secs(9)),
            ..UpdateSession::default()
        };
        assert_eq!(update_session(&request(v1::Mode::Plan as i32, Some(9))).unwrap(), (id, plan));
        for idle in [0, -1, 24 * 3600 + 1] {
            let mut found = fields(update_session(&request(99, Some(idle))));
            found.sort();
            assert_eq!(found, ["idle_timeout", "mode"], "{idle}");
        }
    }

    #[test]
    fn an_update_sets_or_resets_the_network() {
        let update = |allow: Option<&str>, reset_network| {
            let network = allow.map(|allow| v1::NetworkRules {
                allow: vec![allow.to_owned()],
                ..v1::NetworkRules::default()
            });
            let session_id = SessionId::new().to_string();
            let request =
                v1::SessionServiceUpdateRequest { session_id, network, reset_network, ..Default::default() };
            update_session(&request).map(|(_, update)| update.network)
        };
        let rules = NetworkRules { allow: vec!["pypi".to_owned()], ..NetworkRules::default() };
        assert_eq!(update(None, false).unwrap(), None);
        assert_eq!(update(Some("pypi"), false).unwrap(), Some(NetworkChange::Set(rules)));
        assert_eq!(update(None, true).unwrap(), Some(NetworkChange::Reset));
        assert_eq!(fields(update(Some("pypi"), true)), ["reset_network"]);
        assert_eq!(fields(update(Some("*"), false)), ["network.allow[0]"]);
    }

    #[test]
    fn watches_and_drains_are_checked_by_form() {
        let request = |session_id: &str, cursor: usize| v1::ExecutionServiceWatchRequest {
            session_id: session_id.to_owned(),
            cursor: vec![1; cursor].into(),
        };
        assert_eq!(watch(&request("", 0)).unwrap(), WatchExecutions::default());
        assert_eq!(fields(watch(&request("x", 65))), ["cursor", "session_id"]);
        let drain = |runner_id: &str| v1::AdminServiceDrainRunnerRequest {
            runner_id: runner_id.to_owned(),
            undo: true,
        };
        assert_eq!(drain_runner(&drain("r")).unwrap(), ("r".parse().unwrap(), true));
        assert_eq!(fields(drain_runner(&drain(""))), ["runner_id"]);
    }
}
