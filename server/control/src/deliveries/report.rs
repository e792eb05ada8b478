//! The report of a result for a hook, from the stored execution.

use std::{sync::Arc, time::Duration};

use airlock_domain::HookedExecution;
use airlock_store::{
    Delivery, Store, StoreError,
    record::{ExecutionRecord, SessionRecord},
};

use super::server::{Sender, Sent};
use crate::hooks::{HookReport, Hooks};

/// Sends stored results to the configured hooks.
pub(crate) struct Reports {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) hooks: Arc<dyn Hooks>,
}

#[async_trait::async_trait]
impl Sender for Reports {
    async fn send(&self, delivery: &Delivery) -> Result<Sent, StoreError> {
        let Some(record) = self.store.execution(delivery.execution_id).await? else {
            return Ok(Sent::Gone);
        };
        let Some(report) = self.report(record, delivery.attempt).await? else { return Ok(Sent::Gone) };
        Ok(match self.hooks.after(&delivery.hook, &report).await {
            Ok(()) => Sent::Accepted,
            Err(reply) => Sent::Failed(reply),
        })
    }

    fn longest_wait(&self, hook: &str) -> Option<Duration> {
        self.hooks.longest_wait(hook)
    }
}

impl Reports {
    /// Returns the report of an ended execution. `None` if its session no longer exists.
    async fn report(&self, record: ExecutionRecord, attempt: u32) -> Result<Option<HookReport>, StoreError> {
        let Some(session) = self.store.session(record.session_id).await? else { return Ok(None) };
        let (Some(result), Some(finished)) = (record.result.clone(), record.ended) else { return Ok(None) };
        Ok(Some(HookReport {
            execution: hooked(&record, &session),
            decision: record.decision.encoded.clone(),
            state: record.state,
            result,
            attempt,
            finished,
        }))
    }
}

/// Returns the execution as hooks see it.
fn hooked(record: &ExecutionRecord, session: &SessionRecord) -> HookedExecution {
    let spec = &record.spec;
    HookedExecution {
        execution_id: record.id,
        session_id: record.session_id,
        tenant: record.tenant.clone(),
        principal: record.principal.clone(),
        profile: session.profile.clone(),
        mode: spec.mode,
        command: spec.command.text.clone(),
        shell: spec.command.shell,
        directory: spec.command.directory.clone(),
        description: spec.description.clone(),
        background: spec.background,
        unsandboxed: record.result.as_ref().is_some_and(|result| result.unsandboxed),
        env_names: spec.command.env.keys().cloned().collect(),
    }
}
