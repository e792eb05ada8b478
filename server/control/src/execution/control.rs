//! Control of a running command: signals, terminal size, and the move to the background.

use airlock_domain::{BackgroundedBy, ExecutionId, ExecutionState, Signal, TerminalSize, ToRunner};
use airlock_store::record::ExecutionRecord;

use super::Executions;
use crate::{
    api::ApiError,
    model::Principal,
    profiles::ResolvedProfile,
    shared::{no_such_execution, not_running, runner_unreachable},
    transition::Advanced,
};

impl Executions {
    /// Sends a signal to every process of a running command. It is not stored: if it cannot be sent, the call
    /// fails.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`), `Unavailable` (`RUNNER_UNREACHABLE`).
    pub async fn signal(
        &self,
        who: &Principal,
        id: ExecutionId,
        signal: Signal,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.running(who, id).await?;
        self.tell_runner(&record, ToRunner::SignalJob { execution_id: id, signal }).await?;
        Ok(record)
    }

    /// Waits until an execution with an open input runs, and returns it. An execution without an input is
    /// returned at once. The caller must be permitted to run commands in its session, because input to a
    /// shell is executed.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden`, `FailedPrecondition` (`NOT_RUNNING`) once it has ended or the server stops.
    pub async fn execution_to_write_to(
        &self,
        who: &Principal,
        id: ExecutionId,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.get(who, id).await?;
        let session = self.sessions.get(who, record.session_id).await?;
        self.decisions.profile_to_use(who, &session)?;
        let has_none = !record.spec.command.stdin && record.state != ExecutionState::Finished;
        if has_none { Ok(record) } else { self.started(who, id).await }
    }

    /// Sets the size of a command's terminal. It is not stored.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`, `NO_TERMINAL`), `Unavailable` (`RUNNER_UNREACHABLE`).
    pub async fn resize(
        &self,
        who: &Principal,
        id: ExecutionId,
        size: TerminalSize,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.running(who, id).await?;
        if record.spec.command.pty.is_none() {
            let message = format!("execution `{id}` has no terminal: it was started without `pty`");
            return Err(ApiError::FailedPrecondition { reason: "NO_TERMINAL", message });
        }
        self.tell_runner(&record, ToRunner::ResizeJob { execution_id: id, size }).await?;
        Ok(record)
    }

    /// Sends a message to the runner of a running command. It is not retried.
    async fn tell_runner(&self, record: &ExecutionRecord, message: ToRunner) -> Result<(), ApiError> {
        let Some(runner) = &record.runner_id else {
            return Err(ApiError::Internal(format!("execution `{}` has no runner", record.id)));
        };
        // A runner with another epoch no longer has the job, which is reported as lost soon.
        let link = self.links.get(runner);
        if link.is_some_and(|link| Some(link.hello.epoch) != record.runner_epoch) {
            return Err(runner_unreachable(runner));
        }
        self.fleet.tell(runner, message).await.map_err(|_| runner_unreachable(runner))
    }

    /// Moves a running command to the background. If the command ends at the same time, the first writer
    /// wins.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`, `NO_BACKGROUND`).
    pub async fn detach(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        let record = self.running(who, id).await?;
        if record.backgrounded.is_none()
            && let Some(profile) = self.background.profile_of_execution(&record).await?
            && !profile.background
        {
            return Err(no_background(&profile));
        }
        match self.background.send_to_background(record, BackgroundedBy::Client).await? {
            Some(Advanced { record, is_changed, .. })
                if is_changed || record.state == ExecutionState::Running =>
            {
                Ok(record)
            }
            Some(Advanced { record, .. }) => Err(not_running(&record)),
            None => Err(no_such_execution(id)),
        }
    }
}

fn no_background(profile: &ResolvedProfile) -> ApiError {
    ApiError::FailedPrecondition {
        reason: "NO_BACKGROUND",
        message: format!("profile `{}` does not permit background commands", profile.name()),
    }
}
