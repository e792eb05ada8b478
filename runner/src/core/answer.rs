//! The answer to an offer of a job: accepted or refused. It is journaled before the fork.

use std::sync::Arc;

use airlock_domain::{
    BoundFile, Cause, ExecutionId, ExecutionResult, FromRunner, Grant, JobPhase, JobReport, StartJob,
};

use super::{Core, Live};
use crate::{
    clock,
    floor::{self, Refusal},
    job::{self, Handle, Job},
    journal::{JobRecord, Journal, Phase},
    session::OpenSession,
    stdin::Input,
    telemetry::JobRefused,
    trust,
};

/// The refusal of new work while free disk space is at or below the reserve.
pub(super) const NO_ROOM: &str =
    "less than `limits.disk_reserve_bytes` is free under this runner's `state_dir`";

/// The maximum number of variables that a refusal names.
const SAID: usize = 16;

/// The state of an offer in the journal.
enum Known {
    /// The offer is new.
    New,
    /// The offer was answered before. Repeat the answer.
    Answered,
    /// Another attempt of the execution was answered.
    Conflict(Refusal),
}

/// A refusal, and the session if its directory or snapshot was found missing. Servers are told about the session first,
/// so that the next decision uses the current state.
pub(super) struct No {
    refusal: Refusal,
    moved: Option<Arc<OpenSession>>,
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, moved: None }
    }
}

impl Core {
    /// Answers an offer.
    pub(super) fn start_job(self: &Arc<Self>, offer: StartJob) {
        let (id, attempt) = (offer.execution_id, offer.attempt);
        let looks =
            trust::bound::matter(&offer.grant) && matches!(known(&self.journal(), id, attempt), Known::New);
        match self.sessions.get(&offer.grant.session_id).filter(|_| looks) {
            Some(session) => self.look_and_answer(offer, session),
            None => self.answer(id, attempt, |journal| self.admit(&offer, &[], journal)),
        }
    }

    /// Answers an offer of which only the ID and the attempt are valid.
    pub(crate) fn refuse_malformed(self: &Arc<Self>, id: ExecutionId, attempt: u32, problem: &str) {
        self.answer(id, attempt, |_| Err(Refusal::new("malformed_grant", problem).into()));
    }

    /// Answers an offer. The answer is final: a repeated offer gets the answer from the journal. Nothing is reported
    /// while the journal is locked, because a new link locks the reports while it reads the journal.
    pub(super) fn answer(
        self: &Arc<Self>,
        id: ExecutionId,
        attempt: u32,
        admit: impl FnOnce(&mut Journal) -> Result<Job, No>,
    ) {
        let epoch = self.clock.epoch();
        let mut journal = self.journal();
        match known(&journal, id, attempt) {
            Known::New => {}
            Known::Answered => {
                drop(journal);
                self.report_job(id);
                return;
            }
            Known::Conflict(refusal) => {
                // The conflicting journal entry stays unchanged.
                drop(journal);
                let result = Some(refused(&refusal));
                let phase = JobPhase::Refused;
                let report = JobReport { execution_id: id, attempt, epoch, phase, result };
                self.reports.send(&FromRunner::Job(report));
                return;
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
                self.report_job(id);
                self.tasks.spawn(Arc::clone(self).carry_out(job));
            }
            Err(No { refusal, moved }) => {
                JobRefused { execution: id, reason: refusal.reason }.emit(&self.metrics);
                if let Err(error) = journal.refuse(id, attempt, epoch, &refused(&refusal)) {
                    tracing::error!(%error, "refusal not journaled");
                }
                drop(journal);
                if let Some(session) = moved {
                    self.tell_open(&session);
                }
                self.report_job(id);
            }
        }
    }

    /// Checks everything that can prevent the acceptance of an offer.
    pub(super) fn admit(
        &self,
        offer: &StartJob,
        found: &[BoundFile],
        journal: &mut Journal,
    ) -> Result<Job, No> {
        let refuse = |reason, message: &str| Err(Refusal::new(reason, message).into());
        let grant = &offer.grant;
        if offer.epoch != self.clock.epoch() {
            return refuse("stale_epoch", "the offer names another epoch of this runner");
        }
        if clock::now_ms() > offer.not_after_clock_ms {
            return refuse("past_not_after", "the offer has expired");
        }
        if self.draining.is_on() {
            return refuse("draining", "this runner takes no new work");
        }
        if grant.binding() != offer.binding {
            return refuse("binding_mismatch", "the grant does not match its hash");
        }
        self.below.check()?;
        self.outside.check(grant)?;
        floor::check(grant, &self.config.floor)?;
        let mut profile = floor::profile(&self.root, &grant.profile, &self.config)?;
        let Some(session) = self.sessions.get(&grant.session_id) else {
            return refuse("no_such_session", "the session is not open on this runner");
        };
        let snapshot = snapshot(grant, &session)?;
        if let Some(path) = snapshot.as_deref().and_then(job::search_path) {
            path.clone_into(&mut profile.path);
        }
        let scrubbed = self.environ.scrubbed(&grant.profile.pass_env);
        let env = job::environment(grant, &profile, &scrubbed.passed, None).map_err(|errors| {
            let said: Vec<String> = errors.iter().take(SAID).map(ToString::to_string).collect();
            Refusal::new("environment", said.join("; "))
        })?;
        let replacer = self.secrets.replacer(&grant.profile.secrets);
        let replacer = replacer.map_err(|what| Refusal::new("secrets", what))?;
        if !session.has_directory(&grant.directory) {
            session.keep_directory(&grant.directory);
            let refusal =
                Refusal::new("no_such_directory", "the working directory no longer exists in the workspace");
            return Err(No { refusal, moved: Some(session) });
        }
        trust::check(grant, &profile, &env, session.folders(), session.owner())
            .and_then(|()| trust::bound::check(grant, found))
            .map_err(|refusal| Refusal { files: found.to_vec(), ..refusal })?;
        self.room(journal)?;
        let has_input = grant.stdin || grant.pty.is_some();
        let input = has_input.then(|| Input::new(self.config.limits.stdin_turn));
        Ok(Job {
            id: offer.execution_id,
            grant: grant.clone(),
            profile,
            scrubbed,
            replacer,
            snapshot,
            session,
            traceparent: offer.traceparent.clone(),
            handle: Arc::new(Handle::new(input)),
        })
    }

    /// Checks that slots, disk space and memory allow one more job.
    fn room(&self, journal: &mut Journal) -> Result<(), Refusal> {
        let slots = usize::try_from(self.config.slots).unwrap_or(usize::MAX);
        if self.live().len() >= slots {
            return Err(Refusal::new("no_slots", "every slot of this runner is in use"));
        }
        let kept = usize::try_from(self.config.limits.jobs_kept).unwrap_or(usize::MAX);
        if journal.job_count() >= kept && !forget_a_refusal(journal) {
            return Err(Refusal::new("jobs_kept", "this runner has reached `limits.jobs_kept`"));
        }
        if self.tools.room.is_short() {
            return Err(Refusal::new("disk", NO_ROOM));
        }
        Ok(())
    }
}

/// Returns the snapshot that the grant was decided with. Without exactly this snapshot, the command could have a
/// different meaning.
fn snapshot(grant: &Grant, session: &Arc<OpenSession>) -> Result<Option<Vec<u8>>, No> {
    if grant.snapshot_digest.is_empty() {
        return Ok(None);
    }
    let found = session.verified_snapshot(&grant.snapshot_digest);
    found.map(Some).ok_or_else(|| {
        let refusal = Refusal::new(
            "no_snapshot",
            "the session does not have the shell snapshot that the decision names",
        );
        No { refusal, moved: Some(Arc::clone(session)) }
    })
}

fn known(journal: &Journal, id: ExecutionId, attempt: u32) -> Known {
    let conflict = |reason, message: &str| Known::Conflict(Refusal::new(reason, message));
    if journal.was_forgotten(&id) {
        return conflict("already_accepted", "this runner has already run the execution");
    }
    match journal.job(&id) {
        None => Known::New,
        Some(job) if job.attempt == attempt => Known::Answered,
        Some(job) if matches!(job.phase, Phase::Refused(_)) && job.attempt < attempt => Known::New,
        Some(JobRecord { phase: Phase::Refused(_), .. }) => {
            conflict("stale_attempt", "a later attempt was already answered")
        }
        Some(_) => conflict("already_accepted", "this runner accepted another attempt of the execution"),
    }
}

/// Frees a journal slot by forgetting the oldest refusal. Its offer is past its `not_after`, or of an older epoch.
fn forget_a_refusal(journal: &mut Journal) -> bool {
    let refused = |job: &JobRecord| matches!(job.phase, Phase::Refused(_));
    let oldest: Option<ExecutionId> = journal.jobs().find(|(_, job)| refused(job)).map(|(id, _)| *id);
    oldest.is_some_and(|id| journal.forget(id).is_ok())
}

fn refused(refusal: &Refusal) -> ExecutionResult {
    let (reason, message) = (refusal.reason.to_owned(), refusal.message.clone());
    ExecutionResult::not_started(Cause::Refused { reason, message, files: refusal.files.clone() })
}
