//! Control of a running command: signals, terminal size, and the move to the background.

use std::{sync::Arc, time::Duration};

use airlock_domain::{BackgroundedBy, ExecutionId, ExecutionState, Signal, TerminalSize, ToRunner};

use super::{Advanced, no_such_execution, not_running};
use crate::{
    api::ApiError,
    engine::{Core, runner_unreachable},
    links::Link,
    model::{ExecutionRecord, Principal},
    profiles::ResolvedProfile,
    store::{StoreError, Transition},
};

impl Core {
    /// Sends a signal to every process of a running command. It is not stored: if it cannot be sent, the call
    /// fails.
    pub(crate) async fn signal(
        &self,
        who: &Principal,
        id: ExecutionId,
        signal: Signal,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.running_execution(who, id).await?;
        self.tell_runner(&record, ToRunner::SignalJob { execution_id: id, signal }).await?;
        Ok(record)
    }

    /// Waits until an execution with an open input runs, and returns it. An execution without an input is
    /// returned at once. The caller must be permitted to run commands in its session, because input to a
    /// shell is executed.
    pub(crate) async fn execution_to_write_to(
        &self,
        who: &Principal,
        id: ExecutionId,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.execution(who, id).await?;
        let session = self.session(who, record.session_id).await?;
        self.profile_to_use(who, &session)?;
        let has_none = !record.spec.stdin && record.state != ExecutionState::Finished;
        if has_none { Ok(record) } else { self.started_execution(who, id).await }
    }

    /// Sets the size of a command's terminal. It is not stored.
    pub(crate) async fn resize(
        &self,
        who: &Principal,
        id: ExecutionId,
        size: TerminalSize,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.running_execution(who, id).await?;
        if record.spec.pty.is_none() {
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
        let link = self.parts.links.get(runner);
        if link.is_some_and(|link| Some(link.hello.epoch) != record.runner_epoch) {
            return Err(runner_unreachable(runner));
        }
        self.parts.fleet.tell(runner, message).await.map_err(|_| runner_unreachable(runner))
    }

    /// Moves a running command to the background. If the command ends at the same time, the first writer
    /// wins.
    pub(crate) async fn detach(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        let record = self.running_execution(who, id).await?;
        if record.backgrounded.is_none()
            && let Some(profile) = self.profile_of_execution(&record).await?
            && !profile.background
        {
            return Err(no_background(&profile));
        }
        match self.send_to_background(record, BackgroundedBy::Client).await? {
            Advanced::Taken(record) => Ok(record),
            Advanced::Left(record) if record.state == ExecutionState::Running => Ok(record),
            Advanced::Left(record) => Err(not_running(&record)),
            Advanced::Missing => Err(no_such_execution(id)),
        }
    }

    /// Moves a command to the background after its time in the foreground, if its profile still permits this.
    pub(crate) async fn yield_to_session(&self, id: ExecutionId) -> Result<(), StoreError> {
        let Some(record) = self.store().execution(id).await? else { return Ok(()) };
        if self.profile_of_execution(&record).await?.is_none_or(|profile| profile.background) {
            self.send_to_background(record, BackgroundedBy::Budget).await?;
        }
        Ok(())
    }

    async fn send_to_background(
        &self,
        record: ExecutionRecord,
        by: BackgroundedBy,
    ) -> Result<Advanced, StoreError> {
        let advanced = self
            .advance_from(record, |record| {
                let in_foreground = record.state == ExecutionState::Running && record.backgrounded.is_none();
                in_foreground.then(|| Transition { backgrounded: Some(by), ..Transition::default() })
            })
            .await?;
        if let Advanced::Taken(record) = &advanced {
            let link = record.runner_id.as_ref().and_then(|runner| self.parts.links.get(runner));
            if let Some(link) = link
                && let Err(error) = self.tell_backgrounded(&link, record).await
            {
                tracing::debug!(execution_id = %record.id, %error, "runner not told that its job is in the background; retrying");
            }
        }
        Ok(advanced)
    }

    /// Tells the runner once on each link that a command is in the background. The reconcile loop and the
    /// next report of the job call this.
    pub(crate) async fn tell_backgrounded(
        &self,
        link: &Link,
        record: &ExecutionRecord,
    ) -> Result<(), StoreError> {
        let is_due = record.state == ExecutionState::Running && record.backgrounded.is_some();
        if !is_due || link.knows_backgrounded(record.id) {
            return Ok(());
        }
        let timeout = self.background_timeout(record).await?;
        let message = ToRunner::DetachJob { execution_id: record.id, timeout };
        // If sending fails, the link has ended, and the next link is told.
        if link.send(message, self.parts.limits.send_wait).await.is_ok() {
            link.set_backgrounded(record.id);
        }
        Ok(())
    }

    /// Returns the timeout in the background, counted from the start: the request's timeout, or else the
    /// profile's maximum.
    async fn background_timeout(&self, record: &ExecutionRecord) -> Result<Duration, StoreError> {
        if record.spec.timeout_given {
            return Ok(record.spec.timeout);
        }
        let profile = self.profile_of_execution(record).await?;
        Ok(profile.map_or(record.spec.timeout, |profile| profile.timeout_max))
    }

    /// Returns the profile of the execution's session, or `None` if it no longer exists.
    async fn profile_of_execution(
        &self,
        record: &ExecutionRecord,
    ) -> Result<Option<Arc<ResolvedProfile>>, StoreError> {
        let session = self.store().session(record.session_id).await?;
        Ok(session.and_then(|session| self.parts.profiles.get(&session.profile)))
    }
}

fn no_background(profile: &ResolvedProfile) -> ApiError {
    ApiError::FailedPrecondition {
        reason: "NO_BACKGROUND",
        message: format!("profile `{}` does not permit background commands", profile.name()),
    }
}
