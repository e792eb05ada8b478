//! The jobs of this runner: which are accepted, running, ended and kept. Their states are journaled before they are
//! reported. The machine of `airlock_runner_lifecycle::jobs` decides; this service passes it the events, and performs
//! its effects.
//!
//! Must not start or check a job.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{
    ApprovalId, CancelledBy, Cause, ConnectionAnswer, ConnectionQuestions, Epoch, ExecutionId,
    ExecutionResult, FromRunner, JobPhase, JobReport, NetworkRules, SessionId, Signal, TerminalSize,
};
use airlock_faults::{Point, hit};
use airlock_runner_lifecycle::jobs::{Effect, Event, Known, OfferKey, Room, Terms};
use tokio_util::task::TaskTracker;

use crate::{
    clock,
    egress::{ExecutionQuestions, session_rules},
    floor::Refusal,
    job::{self, Handle, Job},
    journal::{Journal, JournalError},
    reports::Reports,
    session::{OpenSession, SessionTable},
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
        let all: Vec<_> = journal.state().jobs().map(|(id, job)| (*id, job.session)).collect();
        for (id, session) in all {
            let spool = self.spools.find(&id);
            let keep_until_ms = self.keep_deadline();
            let event = match journal.state().started_before_loss(&id, spool.is_some()) {
                None => Event::Kept { id, until_ms: keep_until_ms },
                Some(started) => {
                    let session = session.and_then(|session| sessions.get(&session));
                    let result = job::lost(started, session.as_deref(), spool.as_deref());
                    Event::Ended { id, result, keep_until_ms }
                }
            };
            // No server is linked yet, so nothing is reported.
            if let Err(error) = journal.step(event).written {
                tracing::error!(execution = %id, %error, "lost output not journaled");
            }
        }
        // Spools without a journal record: the record was lost with the host, or the job was forgotten.
        for id in self.spools.stored().unwrap_or_default() {
            if journal.state().job(&id).is_none() {
                self.remove_spool(id);
            }
        }
    }

    /// Answers an offer, and reports the answer. Returns the job if it was accepted now; the caller starts it.
    ///
    /// `situation` returns the current epoch and the terms of the offer. This function and `check` are called while the
    /// journal is locked. The end of an epoch or the start of a drain therefore precedes the offer, or finds its job in
    /// the table. Nothing is reported while the journal is locked, because a new link locks the reports while it reads
    /// the journal.
    pub(super) fn answer(
        self: &Arc<Self>,
        offer: OfferKey,
        situation: impl FnOnce() -> (Epoch, Option<Terms>),
        check: impl FnOnce() -> Result<(Job, Room), Rejection>,
    ) -> Option<Job> {
        let mut journal = self.journal();
        let (epoch, terms) = situation();
        let mut outcome = journal.step(Event::Offered { offer, epoch, terms });
        let (mut admitted, mut changed_session) = (None, None);
        if outcome.effects == [Effect::Check(offer)] {
            outcome = journal.step(match check() {
                Ok((job, room)) => {
                    let session = admitted.insert(job).session.id;
                    Event::Checked { offer, epoch, session, room }
                }
                Err(Rejection { refusal, changed_session: changed }) => {
                    changed_session = changed;
                    let reason = refusal.reason;
                    Event::Rejected { offer, epoch, reason, result: refusal.into_result() }
                }
            });
        }
        let accepted = admitted.filter(|_| outcome.effects.contains(&Effect::Start(offer.id)));
        if let Some(job) = &accepted {
            let live = Live { session: job.session.id, handle: Arc::clone(&job.handle) };
            self.live().insert(offer.id, live);
            self.metrics.accepted();
        }
        drop(journal);
        if let Err(error) = outcome.written {
            tracing::error!(%error, "refusal not journaled");
        }
        if let Some(session) = changed_session {
            self.reports.session(session.id, session.phase());
        }
        self.perform(outcome.effects);
        accepted
    }

    /// Performs effects, in order. Must not be called while the journal is locked.
    pub(super) fn perform(self: &Arc<Self>, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                // The journal appends records, and the caller of `answer` checks and starts jobs.
                Effect::Append(_) | Effect::Check(_) | Effect::Start(_) => {}
                Effect::Refuse { id, reason } => JobRefused { execution: id, reason }.emit(&self.metrics),
                Effect::Report(id) => {
                    let report = self.journal().state().report(id);
                    if let Some(report) = report {
                        self.reports.send(&FromRunner::Job(report));
                    }
                }
                Effect::Answer(report) => self.reports.send(&FromRunner::Job(report)),
                Effect::DeleteOutput(id) => {
                    let jobs = Arc::clone(self);
                    self.tasks.spawn_blocking(move || jobs.remove_spool(id));
                }
            }
        }
    }

    /// Reports whether an offer has no answer yet.
    pub(super) fn is_new(&self, offer: OfferKey) -> bool {
        self.journal().state().known(offer) == Known::New
    }

    /// Records that a command runs, and reports it.
    pub(super) fn started(self: &Arc<Self>, id: ExecutionId) {
        let outcome = self.journal().step(Event::Started { id });
        if let Err(error) = outcome.written {
            tracing::error!(execution = %id, %error, "start not journaled");
        }
        self.perform(outcome.effects);
    }

    /// Records the result of a job. Returns the effects, which report it.
    pub(super) fn ended(&self, id: ExecutionId, result: ExecutionResult) -> Vec<Effect> {
        let event = Event::Ended { id, result, keep_until_ms: self.keep_deadline() };
        let outcome = self.journal().step(event);
        if let Err(error) = outcome.written {
            tracing::error!(execution = %id, %error, "result not journaled");
        }
        self.live().remove(&id);
        outcome.effects
    }

    /// Removes an ended job, because a server has fetched its result and output.
    pub(crate) fn forget(self: &Arc<Self>, id: ExecutionId) {
        if self.live().contains_key(&id) {
            tracing::warn!(execution = %id, "cannot forget a job that is still running");
            return;
        }
        let outcome = self.journal().step(Event::Forget { id });
        if let Err(error) = outcome.written {
            tracing::warn!(execution = %id, %error, "forgotten job not journaled; it may be reported again");
        }
        self.perform(outcome.effects);
    }

    /// Removes the ended jobs that no server fetched within `spool.keep`.
    pub(crate) fn forget_expired(self: &Arc<Self>) {
        let over = self.journal().state().expired(clock::now_ms());
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

    /// Returns whether the journal certainly holds every job of earlier epochs, and the epochs that it covers
    /// completely.
    pub(crate) fn vouched(&self) -> (bool, Vec<Epoch>) {
        let journal = self.journal();
        (journal.state().intact(), journal.state().vouched().to_vec())
    }

    /// Records that every server has read the reports about earlier epochs. The next start then no longer reports that
    /// the journal may be incomplete.
    pub(crate) fn all_servers_told(&self) {
        if let Err(error) = self.journal().told() {
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

    /// Replaces a session's network rules for its jobs that have not ended.
    pub(crate) fn set_session_network(
        &self,
        session: SessionId,
        version: u64,
        network: Option<&NetworkRules>,
    ) {
        let rules = network.map(session_rules);
        for live in self.live().values().filter(|live| live.session == session) {
            if let Some(layers) = &live.handle.network {
                layers.set_session(version, rules.clone());
            }
        }
    }

    /// Creates the questions of a job about its connections.
    pub(super) fn questions(&self, id: ExecutionId, given: &ConnectionQuestions) -> Arc<ExecutionQuestions> {
        Arc::new(ExecutionQuestions::new(id, given, Arc::clone(&self.reports)))
    }

    /// Passes on the answer to a question about a connection.
    pub(crate) fn answer_connection(
        &self,
        id: &ExecutionId,
        approval: ApprovalId,
        answer: &ConnectionAnswer,
    ) {
        if let Some(questions) = self.running_job(id).and_then(|job| job.questions.clone()) {
            questions.answer(approval, answer);
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
        self.journal().state().knows(id)
    }

    /// Waits until every offer that was admitted before a change of draining is in the table of live jobs.
    pub(crate) fn wait_for_offers(&self) {
        drop(self.journal());
    }

    /// Reports whether servers have fetched every result.
    pub(crate) fn all_fetched(&self) -> bool {
        self.journal().state().all_fetched()
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

    /// Returns the reports of all jobs, and then their open questions.
    pub(crate) fn all_reports(&self) -> Vec<FromRunner> {
        let mut reports: Vec<_> = self.journal().state().reports().map(FromRunner::Job).collect();
        let live = self.live();
        let questions = live.values().filter_map(|live| live.handle.questions.as_ref());
        reports.extend(questions.flat_map(|questions| questions.open()));
        reports
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
}

/// A refusal, and the session if its directory or snapshot was found missing. The session is reported first, so that
/// the next decision uses its current state.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) refusal: Refusal,
    pub(super) changed_session: Option<Arc<OpenSession>>,
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, changed_session: None }
    }
}
