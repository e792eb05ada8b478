//! Conversion of causes and results.
//!
//! A cause that this version does not recognize becomes [`Cause::Internal`], so that it counts as a failure.

use std::sync::Arc;

use super::error::{ConvertError, joined, required, wire_duration};
use crate::v1::{self, cause::Detail};
use airlock_domain::{Cause, ExecutionResult, Started, Violation, limits::VIOLATIONS};

impl From<Cause> for v1::Cause {
    fn from(cause: Cause) -> Self {
        use v1::cause as wire;
        let (code, message, detail) = match cause {
            Cause::Exited { code } => (
                v1::CauseCode::Exited,
                String::new(),
                Some(Detail::Exited(wire::Exited { code: code.into() })),
            ),
            Cause::Signaled { signal, core } => (
                v1::CauseCode::Signaled,
                String::new(),
                Some(Detail::Signaled(wire::Signaled { signal, core })),
            ),
            Cause::TimedOut(kind) => (
                v1::CauseCode::TimedOut,
                String::new(),
                Some(Detail::TimedOut(wire::TimedOut { kind: v1::TimeoutKind::from(kind).into() })),
            ),
            Cause::Cancelled(by) => (
                v1::CauseCode::Cancelled,
                String::new(),
                Some(Detail::Cancelled(wire::Cancelled { by: v1::CancelledBy::from(by).into() })),
            ),
            Cause::Denied { by, reason } => (
                v1::CauseCode::Denied,
                String::new(),
                Some(Detail::Denied(wire::Denied { by: v1::DeniedBy::from(by).into(), reason })),
            ),
            Cause::Refused { reason, message, files } => {
                let files = files.into_iter().map(Into::into).collect();
                (v1::CauseCode::Refused, message, Some(Detail::Refused(wire::Refused { reason, files })))
            }
            Cause::SandboxFailed { step, message, hint } => (
                v1::CauseCode::SandboxFailed,
                message,
                Some(Detail::SandboxFailed(wire::SandboxFailed { step, hint })),
            ),
            plain => plain_cause(plain),
        };
        Self { code: code.into(), message, detail }
    }
}

/// Converts the causes without a detail. The caller handles the others.
fn plain_cause(cause: Cause) -> (v1::CauseCode, String, Option<Detail>) {
    let (code, message) = match cause {
        Cause::OomKilled => (v1::CauseCode::OomKilled, String::new()),
        Cause::OutputLimit => (v1::CauseCode::OutputLimit, String::new()),
        Cause::DiskLimit => (v1::CauseCode::DiskLimit, String::new()),
        Cause::ApprovalExpired => (v1::CauseCode::ApprovalExpired, String::new()),
        Cause::QueueExpired => (v1::CauseCode::QueueExpired, String::new()),
        Cause::ShellUnavailable { message } => (v1::CauseCode::ShellUnavailable, message),
        Cause::RunnerLost => (v1::CauseCode::RunnerLost, String::new()),
        Cause::Internal { message } => (v1::CauseCode::Internal, message),
        Cause::Exited { .. }
        | Cause::Signaled { .. }
        | Cause::TimedOut(_)
        | Cause::Cancelled(_)
        | Cause::Denied { .. }
        | Cause::Refused { .. }
        | Cause::SandboxFailed { .. } => (v1::CauseCode::Unspecified, String::new()),
    };
    (code, message, None)
}

impl TryFrom<v1::Cause> for Cause {
    type Error = ConvertError;

    fn try_from(wire: v1::Cause) -> Result<Self, ConvertError> {
        let code = wire.code();
        let message = wire.message;
        if let Some(detail) = wire.detail {
            return from_detail(code, message, detail);
        }
        Ok(match code {
            v1::CauseCode::OomKilled => Self::OomKilled,
            v1::CauseCode::OutputLimit => Self::OutputLimit,
            v1::CauseCode::DiskLimit => Self::DiskLimit,
            v1::CauseCode::ApprovalExpired => Self::ApprovalExpired,
            v1::CauseCode::QueueExpired => Self::QueueExpired,
            v1::CauseCode::ShellUnavailable => Self::ShellUnavailable { message },
            v1::CauseCode::RunnerLost => Self::RunnerLost,
            v1::CauseCode::Internal => Self::Internal { message },
            v1::CauseCode::Unspecified => {
                Self::Internal { message: "is a cause that this version does not support".to_owned() }
            }
            other => {
                let problem = format!("`{}` without its detail", other.as_str_name());
                return Err(ConvertError::new("cause", problem));
            }
        })
    }
}

fn from_detail(code: v1::CauseCode, message: String, detail: Detail) -> Result<Cause, ConvertError> {
    Ok(match (code, detail) {
        (v1::CauseCode::Exited, Detail::Exited(exited)) => Cause::Exited {
            code: u8::try_from(exited.code)
                .map_err(|_| ConvertError::new("cause.exited.code", "is not 0 to 255"))?,
        },
        (v1::CauseCode::Signaled, Detail::Signaled(signaled)) => {
            Cause::Signaled { signal: signaled.signal, core: signaled.core }
        }
        (v1::CauseCode::TimedOut, Detail::TimedOut(detail)) => Cause::TimedOut(detail.kind().try_into()?),
        (v1::CauseCode::Cancelled, Detail::Cancelled(detail)) => Cause::Cancelled(detail.by().try_into()?),
        (v1::CauseCode::Denied, Detail::Denied(detail)) => {
            Cause::Denied { by: detail.by().try_into()?, reason: detail.reason }
        }
        (v1::CauseCode::Refused, Detail::Refused(detail)) => {
            let files = super::exchange::files("cause.refused.files", detail.files)?;
            Cause::Refused { reason: detail.reason, message, files }
        }
        (v1::CauseCode::SandboxFailed, Detail::SandboxFailed(detail)) => {
            Cause::SandboxFailed { step: detail.step, message, hint: detail.hint }
        }
        (code, _) => {
            let problem = format!("`{}` with the detail of another cause", code.as_str_name());
            return Err(ConvertError::new("cause", problem));
        }
    })
}

impl From<ExecutionResult> for v1::Result {
    fn from(result: ExecutionResult) -> Self {
        Self {
            cause: Some(result.cause.into()),
            started: v1::Started::from(result.started).into(),
            directory_report: v1::DirectoryReport::from(result.directory_report).into(),
            leftovers_killed: result.leftovers_killed,
            cpu_time: Some(wire_duration(result.cpu_time)),
            peak_memory: result.peak_memory,
            run_time: Some(wire_duration(result.run_time)),
            stdout_bytes: result.stdout_bytes,
            stderr_bytes: result.stderr_bytes,
            stdout_cut_bytes: result.stdout_cut_bytes,
            stderr_cut_bytes: result.stderr_cut_bytes,
            violations: result.violations.into_iter().map(Into::into).collect(),
            scrubbed_env: result.scrubbed_env,
            limits_not_enforced: result.limits_not_enforced,
            unsandboxed: result.unsandboxed,
            landlock_abi: result.landlock_abi,
            // The server derives these fields from the decision.
            interpretation: None,
            no_output_expected: false,
            interrupted: false,
            notes: Vec::new(),
            inline: result.inline.map(|inline| Arc::unwrap_or_clone(inline).into()),
            snapshot_problem: result.snapshot_problem,
            network_problem: result.network_problem,
            connections: result.connections.into_iter().map(Into::into).collect(),
            connections_left_out: result.connections_left_out,
            ..Self::default()
        }
        .with_directory(result.directory)
    }
}

impl TryFrom<v1::Result> for ExecutionResult {
    type Error = ConvertError;

    fn try_from(wire: v1::Result) -> Result<Self, ConvertError> {
        let started = Started::from(wire.started());
        let directory_report = wire.directory_report().try_into()?;
        Ok(Self {
            cause: required("result.cause", wire.cause)?.try_into()?,
            started,
            directory: joined("result.directory", wire.directory, wire.directory_bytes)?,
            directory_report,
            leftovers_killed: wire.leftovers_killed,
            cpu_time: super::error::duration("result.cpu_time", wire.cpu_time)?,
            peak_memory: wire.peak_memory,
            run_time: super::error::duration("result.run_time", wire.run_time)?,
            stdout_bytes: wire.stdout_bytes,
            stderr_bytes: wire.stderr_bytes,
            stdout_cut_bytes: wire.stdout_cut_bytes,
            stderr_cut_bytes: wire.stderr_cut_bytes,
            violations: violations(wire.violations)?,
            scrubbed_env: wire.scrubbed_env,
            limits_not_enforced: wire.limits_not_enforced,
            unsandboxed: wire.unsandboxed,
            landlock_abi: wire.landlock_abi,
            inline: wire.inline.map(|inline| inline.try_into().map(Arc::new)).transpose()?,
            snapshot_problem: wire.snapshot_problem,
            network_problem: wire.network_problem,
            connections: super::connection::connections(wire.connections)?,
            connections_left_out: wire.connections_left_out,
        })
    }
}

/// Converts violations and drops those beyond the limit of the contract, because a hostile runner can send
/// any number.
fn violations(wire: Vec<v1::Violation>) -> Result<Vec<Violation>, ConvertError> {
    wire.into_iter().take(VIOLATIONS).map(TryInto::try_into).collect()
}

impl From<Violation> for v1::Violation {
    fn from(violation: Violation) -> Self {
        Self {
            layer: violation.layer,
            kind: violation.kind,
            action: v1::ViolationAction::from(violation.action).into(),
            detail: violation.detail,
            quarantine_id: violation.quarantine_id,
            ..Self::default()
        }
        .with_path(violation.path)
    }
}

impl TryFrom<v1::Violation> for Violation {
    type Error = ConvertError;

    fn try_from(wire: v1::Violation) -> Result<Self, ConvertError> {
        let action = wire.action().try_into()?;
        Ok(Self {
            layer: wire.layer,
            kind: wire.kind,
            path: joined("violation.path", wire.path, wire.path_bytes)?,
            action,
            detail: wire.detail,
            quarantine_id: wire.quarantine_id,
        })
    }
}
