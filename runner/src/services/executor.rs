//! Runs accepted jobs to their end and reports them.

use std::{sync::Arc, time::Instant};

use tokio_util::task::TaskTracker;

use super::{draining::Draining, jobs::Jobs};
use crate::{
    job::{self, Job, Tools},
    telemetry::{JobEnded, Metrics},
};

/// Runs accepted jobs.
#[derive(Debug)]
pub(super) struct Executor {
    pub(super) tools: Arc<Tools>,
    pub(super) jobs: Arc<Jobs>,
    pub(super) draining: Arc<Draining>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) tasks: TaskTracker,
}

impl Executor {
    /// Starts an accepted job on a task of its own.
    pub(super) fn start(self: &Arc<Self>, job: Job) {
        self.tasks.spawn(Arc::clone(self).run(job));
    }

    async fn run(self: Arc<Self>, job: Job) {
        let (id, accepted) = (job.id, Instant::now());
        let running = || {
            self.metrics.running(accepted.elapsed());
            self.jobs.started(id);
        };
        let result = job::run(Arc::clone(&self.tools), Arc::new(job), running).await;
        let effects = self.jobs.ended(id, result.clone());
        self.draining.count_end(&result.cause);
        JobEnded { execution: id, result: &result }.emit(&self.metrics);
        self.jobs.perform(effects);
    }
}
