//! Converts the observed end of a command into the result for servers.

use std::{fmt::Display, os::unix::ffi::OsStrExt, time::Duration};

use airlock_domain::{
    Cause, DirectoryReport, ExecutionResult, InlineOutput, Started, Violation, ViolationAction,
    limits::VIOLATIONS,
};
use airlock_sandbox::{
    self as sandbox, Ended, LaunchError, PathRuleError, env::EnvError, protect::ProtectError,
};

use super::{
    disk::DiskWatch,
    edit::{self, EditRun},
    handle::Job,
};
use crate::{
    edit::EditError,
    egress::{Connections, EgressError, InspectError},
    guard::{GuardError, Watch, failed},
    inline,
    session::OpenSession,
    spool::{JobSpool, SpoolError},
};

/// The reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    PathRules(Box<PathRuleError>),
    #[error(transparent)]
    Planted(ProtectError),
    #[error("{0}, and this command must not run programs that commands have put into repositories")]
    Open(String),
    #[error("the session's directories cannot be checked with the permissions of its user")]
    Rights,
    #[error("the environment cannot be built")]
    Environment,
    #[error("the credential for the network cannot be created: {0}")]
    Credential(getrandom::Error),
    #[error(transparent)]
    Inspect(InspectError),
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl From<EgressError> for Failure {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::Listener(error) => Self::Launch(error),
            EgressError::Credential(error) => Self::Credential(error),
            EgressError::Inspect(error) => Self::Inspect(error),
        }
    }
}

impl From<Vec<EnvError>> for Failure {
    fn from(_: Vec<EnvError>) -> Self {
        // The environment was checked before the job was accepted.
        Self::Environment
    }
}

pub(super) fn spool_cause(error: &SpoolError) -> Cause {
    match error {
        SpoolError::Full { .. } | SpoolError::NoSpace => Cause::DiskLimit,
        SpoolError::Io { .. } => Cause::Internal { message: "the output could not be kept".to_owned() },
    }
}

pub(super) fn not_launched(job: &Job, failure: Failure) -> ExecutionResult {
    let mut started = Started::No;
    let cause = match failure {
        Failure::Spool(error) => spool_cause(&error),
        Failure::Guard(error) => failed(error.to_string()),
        Failure::Planted(_) | Failure::Open(_) => Cause::SandboxFailed {
            step: "protected_names".to_owned(),
            message: failure.to_string(),
            hint: "remove it, or have the command approved".to_owned(),
        },
        Failure::PathRules(error) => Cause::SandboxFailed {
            step: "path_rules".to_owned(),
            message: error.to_string(),
            hint: "change the profile's path rules, or the files that they match".to_owned(),
        },
        Failure::Inspect(error) => {
            let (step, hint) = error.step_and_hint();
            let (step, hint) = (step.to_owned(), hint.to_owned());
            Cause::SandboxFailed { step, message: error.to_string(), hint }
        }
        Failure::Edit(error) => edit::cause(&error),
        Failure::Environment | Failure::Rights | Failure::Credential(_) => {
            Cause::Internal { message: failure.to_string() }
        }
        Failure::Launch(error) if error.is_shell_unavailable() => {
            Cause::ShellUnavailable { message: error.to_string() }
        }
        Failure::Launch(error) => {
            started = from_sandbox(error.started());
            Cause::SandboxFailed {
                step: error.step().to_owned(),
                message: error.to_string(),
                hint: error.hint().unwrap_or_default().into_owned(),
            }
        }
    };
    let result = ExecutionResult::not_started(job.handle.switch.settle(cause));
    ExecutionResult { started, directory: job.session.directory(), ..result }
}

fn from_sandbox(started: sandbox::Started) -> Started {
    match started {
        sandbox::Started::No => Started::No,
        sandbox::Started::Yes => Started::Yes,
        sandbox::Started::Unknown => Started::Unknown,
    }
}

/// Returns the result for an internal error. The details go to the runner's log.
pub(super) fn internal(job: &Job, fault: &dyn Display) -> ExecutionResult {
    tracing::error!(execution = %job.id, %fault, "a job failed inside the runner");
    internal_text(fault)
}

pub(super) fn internal_text(fault: &dyn Display) -> ExecutionResult {
    tracing::error!(%fault, "cannot assemble a job's result");
    let message = "internal error of the runner; see its log".to_owned();
    let result = ExecutionResult::not_started(Cause::Internal { message });
    ExecutionResult { started: Started::Unknown, ..result }
}

/// Returns the result for output that cannot be drained. The sandbox ends when its handles are dropped.
pub(super) fn no_drain(job: &Job, spool: &JobSpool, error: &SpoolError) -> ExecutionResult {
    let cause = job.handle.switch.settle(spool_cause(error));
    let result = ExecutionResult { started: Started::Yes, ..ExecutionResult::not_started(cause) };
    with_output(result, spool)
}

/// Returns the result of a job that ended. `refused` are the refusals of the sandbox. Reads the session's directory and
/// scans its workspace.
pub(super) fn of(
    job: &Job,
    spool: &JobSpool,
    (ended, edit): (Ended, Option<EditRun>),
    watch: Watch,
    (disk, refused): (Option<&DiskWatch>, Vec<Violation>),
) -> ExecutionResult {
    // Before the end of the watch, which also applies to the written files.
    let unwritten = edit.and_then(|edit| edit.finish(job, &ended));
    let (directory, directory_report) = directory(job, &ended);
    let (mut violations, failure) = watch.finish();
    violations.splice(0..0, refused);
    violations.splice(0..0, disk.map(DiskWatch::violations).unwrap_or_default());
    violations.splice(0..0, job.handle.unkept().map(unkept));
    // The last violation states how many more there were.
    while violations.len() > VIOLATIONS {
        violations.remove(VIOLATIONS - 1);
    }
    let cause = unwritten.or(failure).unwrap_or_else(|| own_cause(ended.cause));
    let cause = job.handle.switch.settle(cause);
    let result = ExecutionResult {
        started: Started::Yes,
        directory,
        directory_report,
        leftovers_killed: ended.leftovers,
        cpu_time: ended.user + ended.system,
        peak_memory: ended.peak_memory.map_or(0, |peak| peak.bytes),
        run_time: ended.elapsed,
        violations,
        ..ExecutionResult::not_started(cause)
    };
    with_output(result, spool)
}

/// Adds the connections of the command to a result.
pub(super) fn with_connections(mut result: ExecutionResult, found: Connections) -> ExecutionResult {
    result.connections = found.kept;
    result.connections_left_out = found.left_out;
    result.violations.extend(found.violations);
    result.violations.truncate(VIOLATIONS);
    result
}

/// Returns the violation for output that could not be kept.
fn unkept(why: &str) -> Violation {
    Violation {
        layer: "disk".to_owned(),
        kind: "spool".to_owned(),
        path: Vec::new(),
        action: ViolationAction::Failed,
        detail: format!("its output could no longer be kept, so the command was ended: {why}"),
        quarantine_id: String::new(),
    }
}

fn own_cause(cause: sandbox::Cause) -> Cause {
    match cause {
        sandbox::Cause::Exited(code) => Cause::Exited { code },
        sandbox::Cause::Signaled { signal, core } => Cause::Signaled { signal: signal.into(), core },
        sandbox::Cause::OomKilled => Cause::OomKilled,
        // A process is killed only after a cause was set.
        sandbox::Cause::Killed => Cause::Internal { message: "killed without a cause".to_owned() },
        sandbox::Cause::SandboxFailed { step, detail } => {
            Cause::SandboxFailed { step: step.to_owned(), message: detail, hint: String::new() }
        }
    }
}

fn directory(job: &Job, ended: &Ended) -> (Vec<u8>, DirectoryReport) {
    let report = match &ended.cwd {
        _ if !job.grant.keep_directory || job.handle.is_detached() => DirectoryReport::NotKept,
        None => DirectoryReport::Unchanged,
        Some(claimed) => job.session.keep_directory(claimed.as_os_str().as_bytes()),
    };
    (job.session.directory(), report)
}

/// Adds the output's numbers to a result. The inline output is stored next to the spool, so that it uses no memory.
fn with_output(result: ExecutionResult, spool: &JobSpool) -> ExecutionResult {
    if let Err(error) = inline::of(spool).and_then(|inline| spool.keep_inline(&inline)) {
        tracing::error!(%error, "result reported without its output");
    }
    let stderr = spool.stderr.as_ref();
    ExecutionResult {
        stdout_bytes: spool.stdout.state().total,
        stderr_bytes: stderr.map_or(0, |stderr| stderr.state().total),
        stdout_cut_bytes: spool.stdout.cut_bytes(),
        stderr_cut_bytes: stderr.map_or(0, |stderr| stderr.cut_bytes()),
        ..result
    }
}

/// Returns the inline output of a result. If it could not be stored, it is computed again.
pub(crate) fn inline(spool: &JobSpool) -> Option<InlineOutput> {
    spool.inline().or_else(|| inline::of(spool).ok())
}

/// Returns the result of a job that ended with an earlier epoch of this runner.
pub(crate) fn lost(
    started: Started,
    session: Option<&OpenSession>,
    spool: Option<&JobSpool>,
) -> ExecutionResult {
    let result = ExecutionResult {
        started,
        directory: session.map(OpenSession::directory).unwrap_or_default(),
        directory_report: DirectoryReport::Unchanged,
        run_time: Duration::ZERO,
        ..ExecutionResult::not_started(Cause::RunnerLost)
    };
    match spool {
        Some(spool) => with_output(result, spool),
        None => result,
    }
}
