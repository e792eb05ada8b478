//! Accepted jobs and their end: running, lost, kept, forgotten.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_domain::{CancelledBy, Cause, ExecutionId, SessionId, Started};
use airlock_faults::{Point, hit};
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::{
    clock,
    job::{self, Job},
    journal::Phase,
    telemetry::JobEnded,
};

/// The interval at which expired jobs are removed.
const EXPIRY_PERIOD: Duration = Duration::from_secs(10);

impl Core {
    /// Runs an accepted job to its end and reports it.
    pub(super) async fn carry_out(self: Arc<Self>, job: Job) {
        let (id, accepted) = (job.id, Instant::now());
        let running = || {
            self.metrics.running(accepted.elapsed());
            self.job_runs(id);
        };
        let result = job::run(Arc::clone(&self.tools), Arc::new(job), running).await;
        let lost = result.cause == Cause::RunnerLost;
        if let Err(error) = self.journal().end(id, lost, &result) {
            tracing::error!(execution = %id, %error, "result not journaled");
        }
        self.keep_until().insert(id, self.keep_deadline());
        self.live().remove(&id);
        self.draining.count_end(&result.cause);
        JobEnded { execution: id, result: &result }.emit(&self.metrics);
        self.report_job(id);
    }

    fn job_runs(&self, id: ExecutionId) {
        if let Err(error) = self.journal().running(id) {
            tracing::error!(execution = %id, %error, "start not journaled");
        }
        self.report_job(id);
    }

    fn keep_deadline(&self) -> u64 {
        clock::now_ms().saturating_add(clock::millis(self.config.spool.keep))
    }

    /// Records the jobs without a result as lost. They ended with the process that ran them.
    pub(super) fn bury_the_lost(&self) {
        let mut journal = self.journal();
        let all: Vec<_> = journal.jobs().map(|(id, job)| (*id, job.clone())).collect();
        for (id, job) in all {
            if job.is_live() {
                let session = job.session.and_then(|session| self.sessions.get(&session));
                let spool = self.tools.spools.find(&id);
                let started = match job.phase {
                    Phase::Running => Started::Yes,
                    // The spool is created before the command starts, and survives unless the host crashes.
                    _ if spool.is_none() && journal.vouches_for(job.epoch) => Started::No,
                    _ => Started::Unknown,
                };
                let result = job::lost(started, session.as_deref(), spool.as_deref());
                if let Err(error) = journal.end(id, true, &result) {
                    tracing::error!(execution = %id, %error, "lost output not journaled");
                }
            }
            self.keep_until().insert(id, self.keep_deadline());
        }
        // Spools without a journal record: the record was lost with the host, or the job was forgotten.
        for id in self.tools.spools.stored().unwrap_or_default() {
            if journal.job(&id).is_none() {
                self.remove_spool(id);
            }
        }
    }

    /// Removes an ended job, because a server has fetched its result and output.
    pub(super) fn forget_job(self: &Arc<Self>, id: ExecutionId) {
        if self.live().contains_key(&id) {
            tracing::warn!(execution = %id, "cannot forget a job that is still running");
            return;
        }
        let mut journal = self.journal();
        if journal.job(&id).is_none() {
            return;
        }
        if let Err(error) = journal.forget(id) {
            tracing::warn!(execution = %id, %error, "forgotten job not journaled; it may be reported again");
        }
        drop(journal);
        self.keep_until().remove(&id);
        let core = Arc::clone(self);
        self.tasks.spawn_blocking(move || core.remove_spool(id));
    }

    fn remove_spool(&self, id: ExecutionId) {
        hit(Point::BeforeSpoolRemove, &"job");
        if let Err(error) = self.tools.spools.remove(&id) {
            tracing::warn!(execution = %id, %error, "cannot delete kept output; the next start deletes it");
        }
        hit(Point::AfterSpoolRemove, &"job");
    }

    /// Removes, periodically, ended jobs that no server fetched within `spool.keep`.
    pub(crate) async fn expire(self: Arc<Self>, cancel: CancellationToken) {
        let period = EXPIRY_PERIOD.min(self.config.spool.keep).max(EXPIRY_PERIOD / 100);
        while cancel.run_until_cancelled(tokio::time::sleep(period)).await.is_some() {
            let now = clock::now_ms();
            let over: Vec<ExecutionId> =
                self.keep_until().iter().filter(|(_, until)| **until <= now).map(|(id, _)| *id).collect();
            for id in over {
                tracing::warn!(execution = %id, "no server took this job's output within `spool.keep`; the \
                                                 job is forgotten");
                self.forget_job(id);
            }
        }
    }

    /// Ends every job with this cause.
    pub(super) fn end_all(&self, cause: &Cause) {
        self.looks.stop_all();
        for live in self.live().values() {
            live.handle.switch.end(cause.clone());
        }
    }

    /// Ends the jobs of a session, and waits for them.
    pub(super) async fn end_session_jobs(&self, session: SessionId) {
        loop {
            let left = {
                // Once the journal is free, an offer that found the session open is in the table.
                let _journal = self.journal();
                let live = self.live();
                let of_session = live.values().filter(|live| live.session == session);
                of_session.map(|live| live.handle.switch.end(Cause::Cancelled(CancelledBy::Session))).count()
            };
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
