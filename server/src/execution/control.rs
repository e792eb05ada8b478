//! What is done to a command while it runs: signals, and sending it to the background.

use std::time::Duration;

use airlock_proto::domain::{BackgroundedBy, ExecutionId, ExecutionState, Signal, ToRunner};

use super::{Advanced, no_such_execution, not_running};
use crate::{
    api::ApiError,
    engine::{Core, runner_unreachable},
    faults::{self, Fault},
    links::Link,
    model::{ExecutionRecord, Principal},
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
        let Some(runner) = &record.runner_id else {
            return Err(ApiError::Internal(format!("`{id}` runs on no runner")));
        };
        // Another life of the runner does not have the job any more; that it is lost is said in a moment.
        let link = self.parts.links.get(runner);
        let link = link.filter(|link| Some(link.hello.epoch) == record.runner_epoch);
        let link = link.ok_or_else(|| runner_unreachable(runner))?;
        let message = ToRunner::SignalJob { execution_id: id, signal };
        let sent = link.send(message, self.parts.limits.send_wait).await;
        sent.map(|()| record).map_err(|_| runner_unreachable(&link.hello.runner_id))
    }

    /// Sends a command that runs to the background. The first writer wins against its end.
    pub(crate) async fn detach(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        let record = self.running_execution(who, id).await?;
        let advanced = self
            .advance_from(record, |record| {
                let in_foreground = record.state == ExecutionState::Running && record.backgrounded.is_none();
                in_foreground.then(|| Transition {
                    backgrounded: Some(BackgroundedBy::Client),
                    ..Transition::default()
                })
            })
            .await?;
        match advanced {
            Advanced::Taken(record) => {
                faults::hit(Fault::AfterDetach);
                let link = record.runner_id.as_ref().and_then(|runner| self.parts.links.get(runner));
                if let Some(link) = link
                    && let Err(error) = self.tell_backgrounded(&link, &record).await
                {
                    tracing::debug!(execution_id = %id, %error, "the poll tells its runner");
                }
                Ok(record)
            }
            Advanced::Left(record) if record.state == ExecutionState::Running => Ok(record),
            Advanced::Left(record) => Err(not_running(&record)),
            Advanced::Missing => Err(no_such_execution(id)),
        }
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
        let session = self.store().session(record.session_id).await?;
        let profile = session.and_then(|session| self.parts.profiles.get(&session.profile));
        Ok(profile.map_or(record.spec.timeout, |profile| profile.timeout_max))
    }
}
