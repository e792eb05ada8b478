//! The jobs of this runner: which are accepted, running, ended and kept. Their states are journaled before they are
//! reported.
//!
//! Must not start or check a job.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{
    CancelledBy, Cause, Epoch, ExecutionId, ExecutionResult, FromRunner, JobPhase, JobReport, SessionId,
    Signal, Started, TerminalSize,
};
use airlock_faults::{Point, hit};
use tokio_util::task::TaskTracker;

use super::offers::{self, Known, OfferKey, Rejection};
use crate::{
    clock,
    floor::Refusal,
    job::{self, Handle, Job},
    journal::{JobRecord, Journal, JournalError, Phase},
    reports::Reports,
    session::SessionTable,
    spool::{JobSpool, Spools},
    telemetry::{JobRefused, Metrics},
};

/// A job that has not ended.
#[derive(Debug)]
struct Live {
    session: SessionId,
    handle: Arc<Handle>,
}

/// The parts from which [`Jobs`] are built.
#[derive(Debug)]
pub(super) struct JobParts {
    pub(super) journal: Journal,
    pub(super) spools: Arc<Spools>,
    pub(super) reports: Arc<Reports>,
    pub(super) metrics: Arc<Metrics>,
    /// The time for which the result of a job is kept for a server.
    pub(super) keep: Duration,
    /// The longest wall time of a job.
    pub(super) max_timeout: Duration,
    pub(super) tasks: TaskTracker,
}

/// The jobs of this runner.
#[derive(Debug)]
pub(crate) struct Jobs {
    journal: Mutex<Journal>,
    live: Mutex<HashMap<ExecutionId, Live>>,
    /// The time at which an ended job that no server fetched is forgotten, on the runner's clock.
    keep_until: Mutex<HashMap<ExecutionId, u64>>,
    keep: Duration,
    max_timeout: Duration,
    spools: Arc<Spools>,
    reports: Arc<Reports>,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
}

impl Jobs {
    /// Loads the jobs of earlier epochs. Those without a result become lost.
    pub(super) fn restore(parts: JobParts, sessions: &SessionTable) -> Self {
        let jobs = Self {
            journal: Mutex::new(parts.journal),
            live: Mutex::default(),
            keep_until: Mutex::default(),
            keep: parts.keep,
            max_timeout: parts.max_timeout,
            spools: parts.spools,
            reports: parts.reports,
            metrics: parts.metrics,
            tasks: parts.tasks,
        };
        jobs.record_lost_jobs(sessions);
        jobs
    }

    /// Records the jobs without a result as lost. They ended with the process that ran them.
    fn record_lost_jobs(&self, sessions: &SessionTable) {
        let mut journal = self.journal();
        let all: Vec<_> = journal.jobs().map(|(id, job)| (*id, job.clone())).collect();
        for (id, job) in all {
            if job.is_live() {
                let session = job.session.and_then(|session| sessions.get(&session));
                let spool = self.spools.find(&id);
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
        for id in self.spools.stored().unwrap_or_default() {
            if journal.job(&id).is_none() {
                self.remove_spool(id);
            }
        }
    }

    /// Answers an offer, and reports the answer. Returns the job if it was accepted now; the caller starts it. The
    /// answer is final: a repeated offer gets the answer from the journal. Nothing is reported while the journal is
    /// locked, because a new link locks the reports while it reads the journal.
    pub(super) fn answer(
        &self,
        offer: OfferKey,
        epoch: Epoch,
        admit: impl FnOnce(&mut Journal) -> Result<Job, Rejection>,
    ) -> Option<Job> {
        let OfferKey { id, attempt } = offer;
        let mut journal = self.journal();
        match offers::known(&journal, offer) {
            Known::New => {}
            Known::Answered => {
                drop(journal);
                self.report(id);
                return None;
            }
            Known::Conflict(refusal) => {
                // The conflicting journal entry stays unchanged.
                drop(journal);
                let (phase, result) = (JobPhase::Refused, Some(refusal.into_result()));
                let report = JobReport { execution_id: id, attempt, epoch, phase, result };
                self.reports.send(&FromRunner::Job(report));
                return None;
            }
        }
        let answer = admit(&mut journal).and_then(|job| {
            let accepted = journal.accept(id, attempt, epoch, job.session.id);
            accepted.map_err(|error| Refusal::new("journal", error.to_string()))?;
            Ok(job)
        });
        match answer {
            Ok(job) => {
                let live = Live { session: job.session.id, handle: Arc::clone(&job.handle) };
                self.live().insert(id, live);
                drop(journal);
                self.metrics.accepted();
                self.report(id);
                Some(job)
            }
            Err(Rejection { refusal, changed_session }) => {
                JobRefused { execution: id, reason: refusal.reason }.emit(&self.metrics);
                if let Err(error) = journal.refuse(id, attempt, epoch, &refusal.into_result()) {
                    tracing::error!(%error, "refusal not journaled");
                }
                drop(journal);
                if let Some(session) = changed_session {
                    self.reports.session(session.id, session.phase());
                }
                self.report(id);
                None
            }
        }
    }

    /// Reports whether an offer has no answer yet.
    pub(super) fn is_new(&self, offer: OfferKey) -> bool {
        matches!(offers::known(&self.journal(), offer), Known::New)
    }

    /// Records that a command runs, and reports it.
    pub(super) fn started(&self, id: ExecutionId) {
        if let Err(error) = self.journal().running(id) {
            tracing::error!(execution = %id, %error, "start not journaled");
        }
        self.report(id);
    }

    /// Records the result of a job. Does not report it.
    pub(super) fn ended(&self, id: ExecutionId, result: &ExecutionResult) {
        let lost = result.cause == Cause::RunnerLost;
        if let Err(error) = self.journal().end(id, lost, result) {
            tracing::error!(execution = %id, %error, "result not journaled");
        }
        self.keep_until().insert(id, self.keep_deadline());
        self.live().remove(&id);
    }

    /// Removes an ended job, because a server has fetched its result and output.
    pub(crate) fn forget(self: &Arc<Self>, id: ExecutionId) {
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
        let jobs = Arc::clone(self);
        self.tasks.spawn_blocking(move || jobs.remove_spool(id));
    }

    /// Removes the ended jobs that no server fetched within `spool.keep`.
    pub(crate) fn forget_expired(self: &Arc<Self>) {
        let now = clock::now_ms();
        let over: Vec<ExecutionId> =
            self.keep_until().iter().filter(|(_, until)| **until <= now).map(|(id, _)| *id).collect();
        for id in over {
            tracing::warn!(execution = %id, "no server took this job's output within `spool.keep`; the \
                                             job is forgotten");
            self.forget(id);
        }
    }

    fn remove_spool(&self, id: ExecutionId) {
        hit(Point::BeforeSpoolRemove, &"job");
        if let Err(error) = self.spools.remove(&id) {
            tracing::warn!(execution = %id, %error, "cannot delete kept output; the next start deletes it");
        }
        hit(Point::AfterSpoolRemove, &"job");
    }

    /// Records a new epoch. It ends no job.
    pub(crate) fn begin_epoch(&self, epoch: Epoch) -> Result<(), JournalError> {
        self.journal().begin(epoch)
    }

    /// Returns whether the journal certainly holds every job of earlier epochs, and the epochs that it vouches for.
    pub(crate) fn vouched(&self) -> (bool, Vec<Epoch>) {
        let journal = self.journal();
        (journal.intact(), journal.vouched().to_vec())
    }

    /// Records that every server has read the reports about earlier epochs, so that the next start does not report
    /// again that the journal may be incomplete.
    pub(crate) fn all_servers_told(&self) {
        let mut journal = self.journal();
        if journal.intact() {
            return;
        }
        if let Err(error) = journal.told() {
            tracing::warn!(%error, "cannot write the journal");
        }
    }

    /// Ends a job.
    pub(super) fn end(&self, id: &ExecutionId, cause: Cause) {
        if let Some(live) = self.live().get(id) {
            live.handle.switch.end(cause);
        }
    }

    /// Ends every job.
    pub(super) fn end_all(&self, cause: &Cause) {
        for live in self.live().values() {
            live.handle.switch.end(cause.clone());
        }
    }

    /// Ends the jobs of a session, and waits for them.
    pub(super) async fn end_session(&self, session: SessionId) {
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

    /// Sends a signal to a job.
    pub(crate) fn signal(&self, id: &ExecutionId, signal: Signal) {
        if self.running_job(id).is_some_and(|job| !job.signal(signal)) {
            tracing::debug!(execution = %id, "signal queue full; signal dropped");
        }
    }

    /// Changes the size of a job's terminal.
    pub(crate) fn resize(&self, id: &ExecutionId, size: TerminalSize) {
        if let Some(Err(error)) = self.running_job(id).map(|job| job.resize(size)) {
            tracing::warn!(execution = %id, %error, "cannot resize the command's terminal");
        }
    }

    /// Sends a job to the background.
    pub(crate) fn detach(&self, id: &ExecutionId, timeout: Duration) {
        if let Some(job) = self.running_job(id) {
            job.detach(timeout.min(self.max_timeout));
        }
    }

    /// Returns the handle of a job that has not ended.
    pub(crate) fn running_job(&self, id: &ExecutionId) -> Option<Arc<Handle>> {
        self.live().get(id).map(|live| Arc::clone(&live.handle))
    }

    /// Returns the number of jobs that were accepted and have not ended.
    pub(crate) fn running(&self) -> usize {
        self.live().len()
    }

    /// Reports whether the journal has a record that the job was offered to this runner.
    pub(crate) fn knows(&self, id: &ExecutionId) -> bool {
        let journal = self.journal();
        journal.job(id).is_some() || journal.was_forgotten(id)
    }

    /// Waits until every offer that was admitted before a change of draining is in the table of live jobs.
    pub(crate) fn wait_for_offers(&self) {
        drop(self.journal());
    }

    /// Reports whether servers have fetched every result.
    pub(crate) fn all_fetched(&self) -> bool {
        let journal = self.journal();
        journal.jobs().all(|(_, job)| matches!(job.phase, Phase::Refused(_)))
    }

    /// Returns the spool of a job, if it is kept.
    pub(crate) fn output(&self, id: &ExecutionId) -> Option<Arc<JobSpool>> {
        self.spools.find(id)
    }

    /// Adds the inline output to a message that reports the end of a job. The output is read just before the message
    /// is sent, so that no queue holds it.
    pub(crate) async fn with_inline(&self, mut message: FromRunner) -> FromRunner {
        if let FromRunner::Job(JobReport { execution_id, phase, result: Some(result), .. }) = &mut message
            && matches!(phase, JobPhase::Ended | JobPhase::Lost)
            && let Some(spool) = self.output(execution_id)
        {
            let inline = tokio::task::spawn_blocking(move || job::inline(&spool)).await;
            result.inline = inline.ok().flatten().map(Arc::new);
        }
        message
    }

    /// Returns the reports of all jobs.
    pub(crate) fn all_reports(&self) -> Vec<FromRunner> {
        self.journal().jobs().map(|(id, job)| FromRunner::Job(report(*id, job))).collect()
    }

    /// Reports the job's state from the journal.
    pub(super) fn report(&self, id: ExecutionId) {
        let report = self.journal().job(&id).map(|job| report(id, job));
        if let Some(report) = report {
            self.reports.send(&FromRunner::Job(report));
        }
    }

    fn keep_deadline(&self) -> u64 {
        clock::now_ms().saturating_add(clock::millis(self.keep))
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<ExecutionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_until(&self) -> MutexGuard<'_, HashMap<ExecutionId, u64>> {
        self.keep_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(execution_id: ExecutionId, job: &JobRecord) -> JobReport {
    let (phase, result) = match &job.phase {
        Phase::Accepted => (JobPhase::Accepted, None),
        Phase::Refused(result) => (JobPhase::Refused, Some(result.clone())),
        Phase::Running => (JobPhase::Running, None),
        Phase::Ended(result) => (JobPhase::Ended, Some(result.clone())),
        Phase::Lost(result) => (JobPhase::Lost, Some(result.clone())),
    };
    JobReport { execution_id, attempt: job.attempt, epoch: job.epoch, phase, result }
}
