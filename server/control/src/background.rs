//! The move of running commands to the background.

use std::{sync::Arc, time::Duration};

use airlock_domain::{BackgroundedBy, ExecutionId, ExecutionState, ToRunner};
use airlock_lifecycle::{Event, JobEffect};
use airlock_store::{Store, StoreError, record::ExecutionRecord};

use crate::{
    limits::ServiceLimits,
    links::{Link, Links},
    profiles::{LiveProfiles, ResolvedProfile},
    transition::{Advanced, Transitions},
};

/// Moves commands to the background, and informs their runners.
pub(crate) struct Background {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) profiles: LiveProfiles,
    pub(crate) links: Links,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) limits: ServiceLimits,
}

impl Background {
    /// Moves a command to the background after its time in the foreground, if its profile still permits this.
    pub(crate) async fn yield_to_session(&self, id: ExecutionId) -> Result<(), StoreError> {
        let Some(record) = self.store.execution(id).await? else { return Ok(()) };
        if self.profile_of_execution(&record).await?.is_none_or(|profile| profile.background) {
            self.send_to_background(record, BackgroundedBy::Budget).await?;
        }
        Ok(())
    }

    /// Moves a running command to the background unless it is there.
    pub(crate) async fn send_to_background(
        &self,
        record: ExecutionRecord,
        by: BackgroundedBy,
    ) -> Result<Option<Advanced>, StoreError> {
        let advanced = self.transitions.advance_from(record, &Event::Backgrounded { by }).await?;
        if let Some(Advanced { record, job, .. }) = &advanced
            && job.contains(&JobEffect::TellBackgrounded)
        {
            let link = record.runner_id.as_ref().and_then(|runner| self.links.get(runner));
            if let Some(link) = link
                && let Err(error) = self.tell_backgrounded(&link, record).await
            {
                tracing::debug!(execution_id = %record.id, %error, "runner not told that its job is in the background; retrying");
            }
        }
        Ok(advanced)
    }

    /// Informs the runner once on each link that a command is in the background. The reconcile loop and the next report
    /// of the job call this.
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
        // If sending fails, the link has ended. The runner is informed on the next link.
        if link.send(message, self.limits.send_wait).await.is_ok() {
            link.set_backgrounded(record.id);
        }
        Ok(())
    }

    /// Returns the timeout in the background, counted from the start: the request's timeout, or else the
    /// profile's maximum.
    async fn background_timeout(&self, record: &ExecutionRecord) -> Result<Duration, StoreError> {
        if record.spec.given.timeout {
            return Ok(record.spec.command.timeout);
        }
        let profile = self.profile_of_execution(record).await?;
        Ok(profile.map_or(record.spec.command.timeout, |profile| profile.timeout_max))
    }

    /// Returns the profile of the execution's session, or `None` if it no longer exists.
    pub(crate) async fn profile_of_execution(
        &self,
        record: &ExecutionRecord,
    ) -> Result<Option<Arc<ResolvedProfile>>, StoreError> {
        let session = self.store.session(record.session_id).await?;
        Ok(session.and_then(|session| self.profiles.get(&session.profile)))
    }
}
