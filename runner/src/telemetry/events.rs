//! What happens to jobs: each event is one struct, whose `emit` writes the line of the log and the metrics together.

use airlock_proto::domain::{ExecutionId, ExecutionResult};

use super::Metrics;

/// An offer was not taken.
pub(crate) struct JobRefused {
    pub(crate) execution: ExecutionId,
    /// From a closed set.
    pub(crate) reason: &'static str,
}

impl JobRefused {
    pub(crate) fn emit(self, metrics: &Metrics) {
        tracing::info!(execution = %self.execution, reason = self.reason, "refused a job");
        metrics.refused(self.reason);
    }
}

/// A job is over.
pub(crate) struct JobEnded<'a> {
    pub(crate) execution: ExecutionId,
    pub(crate) result: &'a ExecutionResult,
}

impl JobEnded<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        tracing::info!(execution = %self.execution, cause = self.result.cause.name(), "a job ended");
        metrics.ended(self.result);
    }
}
