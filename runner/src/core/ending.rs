//! Jobs on their way and at their end: run, kept, lost, forgotten.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_faults::{Point, hit};
use airlock_proto::domain::{CancelledBy, Cause, ExecutionId, SessionId, Started};
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::{
    clock,
    job::{self, Job},
    journal::Phase,
    telemetry::JobEnded,
};

/// How often kept jobs are looked through for those whose time is over.
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
            tracing::error!(execution = %id, %error, "an end stands in memory only");
        }
        self.keep_until().insert(id, self.keep_deadline());
        self.live().remove(&id);
        self.draining.count_end(&result.cause);
        JobEnded { execution: id, result: &result }.emit(&self.metrics);
        self.report_job(id);
    }

    fn job_runs(&self, id: ExecutionId) {
        if let Err(error) = self.journal().running(id) {
            tracing::error!(execution = %id, %error, "a start stands in memory only");
        }
        self.report_job(id);
    }

    fn keep_deadline(&self) -> u64 {
        clock::now_ms().saturating_add(clock::millis(self.config.spool.keep))
    }

    /// Jobs without an end in the journal went with the process that ran them.
    pub(super) fn bury_the_lost(&self) {
        let mut journal = self.journal();
        let all: Vec<_> = journal.jobs().map(|(id, job)| (*id, job.clone())).collect();
        for (id, job) in all {
            if job.is_live() {
                let session = job.session.and_then(|session| self.sessions.get(&session));
                let spool = self.tools.spools.find(&id);
                let started = match job.phase {
                    Phase::Running => Started::Yes,
                    // The spool is made before anything is started, and only the host's death takes it away.
                    _ if spool.is_none() && journal.vouches_for(job.epoch) => Started::No,
                    _ => Started::Unknown,
                };
                let result = job::lost(started, session.as_deref(), spool.as_deref());
                if let Err(error) = journal.end(id, true, &result) {
                    tracing::error!(execution = %id, %error, "a loss stands in memory only");
                }
            }
            self.keep_until().insert(id, self.keep_deadline());
        }
        // Output of jobs that the journal does not know: it was lost with the host, or they were forgotten.
        for id in self.tools.spools.stored().unwrap_or_default() {
            if journal.job(&id).is_none() {
                self.remove_spool(id);
            }
        }
    }

    /// The server has what it needs of an ended job.
    pub(super) fn forget_job(self: &Arc<Self>, id: ExecutionId) {
        if self.live().contains_key(&id) {
            tracing::warn!(execution = %id, "asked to forget a job that has no end yet");
            return;
        }
        let mut journal = self.journal();
        if journal.job(&id).is_none() {
            return;
        }
        if let Err(error) = journal.forget(id) {
            tracing::warn!(execution = %id, %error, "a forgotten job may be reported again");
        }
        drop(journal);
        self.keep_until().remove(&id);
        let core = Arc::clone(self);
        self.tasks.spawn_blocking(move || core.remove_spool(id));
    }

    fn remove_spool(&self, id: ExecutionId) {
        hit(Point::BeforeSpoolRemove, &"job");
        if let Err(error) = self.tools.spools.remove(&id) {
            tracing::warn!(execution = %id, %error, "kept output stays until the next start");
        }
        hit(Point::AfterSpoolRemove, &"job");
    }

    /// Forgets, from time to time, ended jobs that no server has asked for in `spool.keep`.
    pub(crate) async fn expire(self: Arc<Self>, cancel: CancellationToken) {
        let period = EXPIRY_PERIOD.min(self.config.spool.keep).max(EXPIRY_PERIOD / 100);
        while cancel.run_until_cancelled(tokio::time::sleep(period)).await.is_some() {
            let now = clock::now_ms();
            let over: Vec<ExecutionId> =
                self.keep_until().iter().filter(|(_, until)| **until <= now).map(|(id, _)| *id).collect();
            for id in over {
                tracing::warn!(execution = %id, "no server has taken this job in `spool.keep`; it is forgotten");
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

    /// Ends what runs in a session, and waits for it.
    pub(super) async fn end_session_jobs(&self, session: SessionId) {
        loop {
            let left = {
                // An offer that found the session open is in the table once the journal is free.
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
