//! The answer to an offer of a job: accepted or refused. It is journaled before the fork. An accepted job is run to its
//! end and reported.

use std::sync::Arc;
use std::time::Instant;

use airlock_domain::{BoundFile, Cause, ExecutionId, Grant, SessionSnapshot, StartJob};
use airlock_runner_lifecycle::jobs::{OfferKey, Room, Terms};
use airlock_sandbox::Profile;
use tokio_util::task::TaskTracker;

use super::{
    draining::Draining,
    file_checks::{Begin, FileChecks},
    jobs::{Jobs, Rejection},
    links::LinkState,
};
use crate::{
    clock,
    config::RunnerConfig,
    egress::{self, LiveLayers},
    environ::Environ,
    floor::{self, Below, Outside, Refusal},
    job::{self, DISK_SHORT, DiskSpace, Handle, Job, Tools},
    secrets::Secrets,
    session::{OpenSession, SessionTable},
    stdin::Input,
    telemetry::{JobEnded, Metrics},
    trust,
};

/// The maximum number of variables that a refusal names.
const VARIABLES_NAMED: usize = 16;

/// Answers offers, and starts the accepted jobs.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(super) config: Arc<RunnerConfig>,
    /// The sandbox profile with the minimal root of the host system.
    pub(super) root: Arc<Profile>,
    /// Whether this host lacks a layer that the floor requires.
    pub(super) below: Below,
    pub(super) outside: Outside,
    pub(super) environ: Arc<Environ>,
    pub(super) secrets: Secrets,
    pub(super) disk_space: DiskSpace,
    pub(super) links: Arc<LinkState>,
    pub(super) draining: Arc<Draining>,
    pub(super) sessions: Arc<SessionTable>,
    pub(super) jobs: Arc<Jobs>,
    pub(super) executor: Arc<Executor>,
    pub(super) file_checks: FileChecks,
    pub(super) tasks: TaskTracker,
}

impl Admission {
    /// Answers an offer. If its answer depends on files of the session, they are read first on another task.
    pub(crate) fn offer(self: &Arc<Self>, offer: StartJob) {
        let key = OfferKey::of(&offer);
        let depends_on_files = trust::bound::matter(&offer.grant) && self.jobs.is_new(key);
        match self.sessions.get(&offer.grant.session_id).filter(|_| depends_on_files) {
            Some(session) => self.check_files_and_answer(offer, session),
            None => self.answer(key, Some(&offer), || self.admit(&offer, &[])),
        }
    }

    /// Answers an offer of which only the ID and the attempt are valid.
    pub(crate) fn refuse_malformed(&self, id: ExecutionId, attempt: u32, problem: &str) {
        let key = OfferKey { id, attempt };
        self.answer(key, None, || Err(Refusal::new("malformed_grant", problem).into()));
    }

    /// Ends a job, or an offer that is not answered yet.
    pub(crate) fn end(&self, id: &ExecutionId, cause: Cause) {
        // The pending offers are checked first, because an offer becomes live before it leaves that list.
        self.file_checks.stop(id, &cause);
        self.jobs.end(id, cause);
    }

    /// Ends every job with this cause, and cancels the checks of offers.
    pub(crate) fn end_all(&self, cause: &Cause) {
        self.file_checks.stop_all();
        self.jobs.end_all(cause);
    }

    /// Answers an offer, and starts the job if it is accepted. `offer` is missing if `admit` refuses it in any case.
    fn answer(
        &self,
        key: OfferKey,
        offer: Option<&StartJob>,
        admit: impl FnOnce() -> Result<(Job, Room), Rejection>,
    ) {
        let situation = || (self.links.epoch(), offer.map(|offer| self.terms(offer)));
        if let Some(job) = self.jobs.answer(key, situation, admit) {
            self.executor.start(job);
        }
    }

    /// Returns the conditions of an offer, and the current situation.
    fn terms(&self, offer: &StartJob) -> Terms {
        Terms {
            epoch: offer.epoch,
            not_after_ms: offer.not_after_clock_ms,
            now_ms: clock::now_ms(),
            draining: self.draining.is_on(),
        }
    }

    /// Reads the files of an offer and then answers it. An offer that is already being checked is answered once.
    fn check_files_and_answer(self: &Arc<Self>, offer: StartJob, session: Arc<OpenSession>) {
        let key = OfferKey::of(&offer);
        let most = usize::try_from(self.config.slots).unwrap_or(usize::MAX);
        let stop = match self.file_checks.begin(key, most) {
            Begin::New(stop) => stop,
            Begin::Known => return,
            Begin::Full => {
                let refusal =
                    Refusal::new("no_slots", "this runner already checks as many offers as it has slots");
                return self.answer(key, None, || Err(refusal.into()));
            }
        };
        let admission = Arc::clone(self);
        self.tasks.spawn(async move {
            let found = admission.file_checks.read(&offer.grant, &session, &stop).await;
            let checked = found.is_some().then_some(&offer);
            admission.answer(key, checked, || match &found {
                Some(found) => admission.admit(&offer, found),
                None => {
                    Err(Refusal::new("ended", "the execution was ended before its files were checked").into())
                }
            });
            // The offer was ended between the read and the answer.
            if let Some(cause) = admission.file_checks.end(key) {
                admission.jobs.end(&key.id, cause);
            }
        });
    }

    /// Checks the contents of an offer. The machine checks the rest: epoch, time and capacity.
    fn admit(&self, offer: &StartJob, found: &[BoundFile]) -> Result<(Job, Room), Rejection> {
        let refuse = |reason, message: &str| Err(Refusal::new(reason, message).into());
        let grant = &offer.grant;
        if grant.binding() != offer.binding {
            return refuse("binding_mismatch", "the grant does not match its hash");
        }
        self.below.check()?;
        self.outside.check(grant)?;
        floor::check(grant, &self.config.floor)?;
        let network = floor::Network::of(grant, &self.config.floor)?;
        if matches!(network, floor::Network::Open(_)) {
            egress::check_inspection(&grant.profile.inspection, &self.config.egress)
                .map_err(|problem| Refusal::new("secrets", problem.to_string()))?;
        }
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
            let said: Vec<String> = errors.iter().take(VARIABLES_NAMED).map(ToString::to_string).collect();
            Refusal::new("environment", said.join("; "))
        })?;
        let replacer = self.secrets.replacer(&grant.profile.secrets);
        let replacer = replacer.map_err(|what| Refusal::new("secrets", what))?;
        if !session.has_directory(&grant.command.directory) {
            session.keep_directory(&grant.command.directory);
            let refusal =
                Refusal::new("no_such_directory", "the working directory no longer exists in the workspace");
            return Err(Rejection { refusal, changed_session: Some(session) });
        }
        trust::check(grant, &profile, &env, session.directories(), session.owner())
            .and_then(|()| trust::bound::check(grant, found))
            .map_err(|refusal| Refusal { files: found.to_vec(), ..refusal })?;
        let has_input = grant.command.stdin || grant.command.pty.is_some();
        let input = has_input.then(|| Input::new(self.config.limits.stdin_turn));
        let live = network.layers().cloned().map(LiveLayers::new);
        let questions = live.as_ref().map(|_| self.jobs.questions(offer.execution_id, &grant.questions));
        let job = Job {
            id: offer.execution_id,
            grant: grant.clone(),
            profile,
            network,
            scrubbed,
            replacer,
            snapshot,
            session,
            traceparent: offer.traceparent.clone(),
            handle: Arc::new(Handle::new(input, live, questions)),
        };
        Ok((job, self.room()))
    }

    /// Returns the capacity for one more job.
    fn room(&self) -> Room {
        Room {
            slots: usize::try_from(self.config.slots).unwrap_or(usize::MAX),
            jobs_kept: usize::try_from(self.config.limits.jobs_kept).unwrap_or(usize::MAX),
            disk_short: self.disk_space.is_short().then_some(DISK_SHORT),
        }
    }
}

/// Returns the snapshot that the grant was decided with. Without exactly this snapshot, the command could have a
/// different meaning.
fn snapshot(grant: &Grant, session: &Arc<OpenSession>) -> Result<Option<Vec<u8>>, Rejection> {
    if grant.snapshot_digest.is_empty() {
        return Ok(None);
    }
    let found = session.verified_snapshot(&grant.snapshot_digest);
    let fits = |text: &Vec<u8>| SessionSnapshot::shell(text) == grant.command.shell;
    found.filter(fits).map(Some).ok_or_else(|| {
        let refusal = Refusal::new(
            "no_snapshot",
            "the session does not have the shell snapshot that the decision names",
        );
        Rejection { refusal, changed_session: Some(Arc::clone(session)) }
    })
}

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
