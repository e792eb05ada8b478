//! The report of a result for a hook, from the stored execution.

use std::{sync::Arc, time::Duration};

use airlock_store::{Delivery, Store, StoreError, record::ExecutionRecord};

use super::server::{Sender, Sent};
use crate::hooks::{self, HookReport, Hooks};

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
        let spec = &record.spec;
        let of = (&session, record.principal.as_str());
        let how = (spec.mode, spec.command.directory.as_slice(), result.unsandboxed);
        Ok(Some(HookReport {
            execution: hooks::hooked(record.id, of, spec, how),
            decision: record.decision.encoded.clone(),
            state: record.state,
            result,
            attempt,
            finished,
        }))
    }
}
