//! The events of jobs. Each is a struct with an `emit` that writes the log line and the metrics together.

use airlock_domain::{ExecutionId, ExecutionResult};

use super::Metrics;

/// An offer was refused.
pub(crate) struct JobRefused {
    pub(crate) execution: ExecutionId,
    /// One of a closed set.
    pub(crate) reason: &'static str,
}

impl JobRefused {
    pub(crate) fn emit(self, metrics: &Metrics) {
        tracing::info!(execution = %self.execution, reason = self.reason, "refused a job");
        metrics.refused(self.reason);
    }
}

/// A job has ended.
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
