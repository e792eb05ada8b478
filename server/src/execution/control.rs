//! What is done to a command while it runs: signals, the size of its terminal, and sending it to the background.

use std::{sync::Arc, time::Duration};

use airlock_proto::domain::{BackgroundedBy, ExecutionId, ExecutionState, Signal, TerminalSize, ToRunner};

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
    /// Has a signal sent to every process of a command that runs. Nothing is kept of it: where it could
    /// not be sent, it is not.
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

    /// An execution whose input is open, once it runs; one that has no input is given as it is. The caller must be
    /// able to run commands in its session: what is typed into a shell runs.
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

    /// Has the size of a command's terminal changed. Nothing is kept of it.
    pub(crate) async fn resize(
        &self,
        who: &Principal,
        id: ExecutionId,
        size: TerminalSize,
    ) -> Result<ExecutionRecord, ApiError> {
        let record = self.running_execution(who, id).await?;
        if record.spec.pty.is_none() {
            let message = format!("execution `{id}` has no terminal: its request asked for none");
            return Err(ApiError::FailedPrecondition { reason: "NO_TERMINAL", message });
        }
        self.tell_runner(&record, ToRunner::ResizeJob { execution_id: id, size }).await?;
        Ok(record)
    }

    /// Tells its runner something about a command that runs, now or not at all.
    async fn tell_runner(&self, record: &ExecutionRecord, message: ToRunner) -> Result<(), ApiError> {
        let Some(runner) = &record.runner_id else {
            return Err(ApiError::Internal(format!("`{}` runs on no runner", record.id)));
        };
        // Another life of the runner does not have the job any more; that it is lost is said in a moment.
        let link = self.parts.links.get(runner);
        if link.is_some_and(|link| Some(link.hello.epoch) != record.runner_epoch) {
            return Err(runner_unreachable(runner));
        }
        self.parts.fleet.tell(runner, message).await.map_err(|_| runner_unreachable(runner))
    }

    /// Sends a command that runs to the background. The first writer wins against its end.
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

    /// Sends a command whose time in the foreground is over to the background, if its profile still permits
    /// that.
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
                tracing::debug!(execution_id = %record.id, %error, "the poll tells its runner");
            }
        }
        Ok(advanced)
    }

    /// Tells its runner that a command is in the background, once on each link. Whoever finds that it was
    /// not told does it: the poll, and the next report of the job.
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
        // Not sent means that the link has ended; then the next one is told.
        if link.send(message, self.parts.limits.send_wait).await.is_ok() {
            link.set_backgrounded(record.id);
        }
        Ok(())
    }

    /// Its wall time, from its start, in the background: what the request gave, else what its profile
    /// permits at most.
    async fn background_timeout(&self, record: &ExecutionRecord) -> Result<Duration, StoreError> {
        if record.spec.timeout_given {
            return Ok(record.spec.timeout);
        }
        let profile = self.profile_of_execution(record).await?;
        Ok(profile.map_or(record.spec.timeout, |profile| profile.timeout_max))
    }

    /// The profile of its session; none if it is gone.
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
        message: format!("profile `{}` does not permit runs in the background", profile.name()),
    }
}
