//! Requests about executions, approvals and checks of commands.

use std::time::Duration;

use airlock_control::{
    api::{ApiError, CheckCommand, StartExecution},
    approval::ApproverAnswer,
};
use airlock_domain::{ApprovalId, ExecutionId, cursor::Cursor, limits};
use airlock_output::stream::AttachFrom;
use airlock_proto::v1;
use airlock_store::record::RuleScope;
use v1::{approval_service_decide_request::Answer, execution_service_attach_request::From as WireFrom};

use super::checker::{Checker, LONGEST};

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The request for the service.
    pub request: StartExecution,
    /// End the command if the stream that started it ends early.
    pub kill_on_disconnect: bool,
}

/// A request to attach to an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attach {
    /// The execution.
    pub execution: ExecutionId,
    /// The position to begin at.
    pub from: AttachFrom,
}

/// A command to decide.
pub type Check = CheckCommand;

/// Validates the specification of Run and Start.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn start(spec: Option<v1::ExecutionSpec>) -> Result<Start, ApiError> {
    let mut checker = Checker::default();
    let start = checker.required("spec", spec).map(|spec| checker.spec(spec));
    checker.finish(start)
}

impl Checker {
    fn spec(&mut self, mut spec: v1::ExecutionSpec) -> Start {
        let in_session = !spec.session_id.is_empty();
        for (field, is_empty) in [
            ("spec.profile", spec.profile.is_empty()),
            ("spec.base", spec.base.is_empty()),
            ("spec.runner_labels", spec.runner_labels.is_empty()),
        ] {
            if in_session && !is_empty {
                self.bad(field, "is only valid without a session");
            }
        }
        let wait_for_approval = match v1::OnAsk::try_from(spec.on_ask) {
            Ok(on_ask) => on_ask == v1::OnAsk::Wait,
            Err(_) => {
                self.bad("spec.on_ask", format!("{} is not a known value", spec.on_ask));
                false
            }
        };
        if spec.background && spec.yield_after.is_some_and(|time| time.seconds != 0 || time.nanos != 0) {
            self.bad(
                "spec.yield_after",
                "is only valid without `background`, with which the command starts in the background",
            );
        }
        self.at_most("spec.description", spec.description.len(), limits::DESCRIPTION_BYTES);
        self.no_nul("spec.description", spec.description.as_bytes());
        let (command, given) = self.command_spec(&mut spec);
        let request = StartExecution {
            command,
            given,
            session_id: self.optional_id("spec.session_id", &spec.session_id),
            request_id: self.text("spec.request_id", spec.request_id, limits::REQUEST_ID_BYTES),
            background: spec.background,
            yield_after: self.duration("spec.yield_after", spec.yield_after, LONGEST),
            description: spec.description,
            wait_for_approval,
            mode: self.mode("spec.mode", spec.mode),
            profile: self.name("spec.profile", spec.profile),
            base: self.name("spec.base", spec.base),
            allow_concurrent: spec.allow_concurrent,
            dangerously_disable_sandbox: spec.dangerously_disable_sandbox,
            labels: self.labels("spec.labels", spec.labels),
            runner_labels: self.labels("spec.runner_labels", spec.runner_labels),
            traceparent: String::new(),
        };
        Start { request, kill_on_disconnect: spec.kill_on_disconnect }
    }
}

/// Validates the ID of an execution as the only field of a request.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn execution_id(text: &str) -> Result<ExecutionId, ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", text);
    checker.finish(id)
}

/// Validates Get. Returns the execution, and whether the view is FULL.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn get_execution(request: &v1::ExecutionServiceGetRequest) -> Result<(ExecutionId, bool), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", &request.execution_id);
    let full = checker.full_view(request.view);
    checker.finish(id.map(|id| (id, full)))
}

/// Validates Wait. Returns the execution and the timeout.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn wait(request: &v1::ExecutionServiceWaitRequest) -> Result<(ExecutionId, Duration), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("execution_id", &request.execution_id);
    let timeout = checker.duration("timeout", request.timeout, limits::WAIT_MAX);
    checker.finish(id.map(|id| (id, timeout.unwrap_or(limits::WAIT_DEFAULT))))
}

/// Validates Attach.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn attach(request: v1::ExecutionServiceAttachRequest) -> Result<Attach, ApiError> {
    let mut checker = Checker::default();
    let execution = checker.id("execution_id", &request.execution_id);
    let from = match request.from {
        None => AttachFrom::Offsets { stdout: 0, stderr: 0 },
        Some(WireFrom::Offsets(offsets)) => {
            AttachFrom::Offsets { stdout: offsets.stdout, stderr: offsets.stderr }
        }
        Some(WireFrom::Cursor(bytes)) => {
            checker.at_most("cursor", bytes.len(), limits::CURSOR_BYTES);
            let cursor = Cursor::decode(&bytes).map_err(|error| checker.bad("cursor", error.to_string()));
            AttachFrom::Cursor(cursor.unwrap_or_default())
        }
    };
    checker.finish(execution.map(|execution| Attach { execution, from }))
}

/// Validates Check.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn check(request: v1::PolicyServiceCheckRequest) -> Result<Check, ApiError> {
    let mut checker = Checker::default();
    if !request.session_id.is_empty() && !request.profile.is_empty() {
        checker.bad("profile", "is only valid without a session");
    }
    let directory = checker.joined("directory", request.directory, request.directory_bytes);
    checker.at_most("directory", directory.len(), limits::DIRECTORY_BYTES);
    checker.no_nul("directory", &directory);
    if !directory.is_empty() && !directory.starts_with(b"/") {
        checker.bad("directory", "is not absolute");
    }
    let command = Check {
        command: checker.command("command", request.command, request.command_bytes),
        shell: checker.shell("shell", request.shell),
        session_id: checker.optional_id("session_id", &request.session_id),
        profile: checker.name("profile", request.profile),
        directory: (!directory.is_empty()).then_some(directory),
        mode: checker.mode("mode", request.mode),
    };
    checker.finish(Some(command))
}

/// Validates Decide. Returns the approval, its binding and the answer.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn decide(
    request: v1::ApprovalServiceDecideRequest,
) -> Result<(ApprovalId, [u8; 32], ApproverAnswer), ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("approval_id", &request.approval_id);
    let binding = <[u8; 32]>::try_from(&request.binding[..])
        .map_err(|_| checker.bad("binding", format!("has {} bytes, must be 32", request.binding.len())))
        .ok();
    let answer = checker.required("answer", request.answer).map(|answer| match answer {
        Answer::AllowOnce(_) => ApproverAnswer::AllowOnce,
        Answer::AllowAndRemember(remember) => {
            let scope = match v1::RuleScope::try_from(remember.scope) {
                Ok(v1::RuleScope::Session) => RuleScope::Session,
                Ok(v1::RuleScope::Tenant) => RuleScope::Tenant,
                Ok(v1::RuleScope::Unspecified) | Err(_) => {
                    checker.bad("allow_and_remember.scope", "must be SESSION or TENANT");
                    RuleScope::Session
                }
            };
            checker.at_most("allow_and_remember.rules", remember.rules.len(), limits::RULES);
            for (index, rule) in remember.rules.iter().take(limits::RULES).enumerate() {
                let field = format!("allow_and_remember.rules[{index}]");
                checker.at_most(&field, rule.len(), limits::RULE_BYTES);
                if rule.chars().any(char::is_control) {
                    checker.bad(&field, "has control characters");
                }
            }
            ApproverAnswer::AllowAndRemember { scope, rules: remember.rules }
        }
        Answer::Deny(deny) => {
            checker.at_most("deny.reason", deny.reason.len(), limits::REASON_BYTES);
            checker.no_nul("deny.reason", deny.reason.as_bytes());
            ApproverAnswer::Deny { reason: deny.reason }
        }
    });
    let all = match (id, binding, answer) {
        (Some(id), Some(binding), Some(answer)) => Some((id, binding, answer)),
        _ => None,
    };
    checker.finish(all)
}
