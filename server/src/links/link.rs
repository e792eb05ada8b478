//! One link: what is known of the runner at its other end, and the way to it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use airlock_proto::domain::{Capability, Epoch, ExecutionId, RunnerHello, SessionId, Shell, ToRunner};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::LinkError;
use crate::stream_door::DoorError;

/// The capability by which a runner says whether its journal survived its host.
const JOURNAL_INTACT: &str = "journal_intact";
/// The capability of a runner without which it takes no command.
pub(crate) const FLOOR: &str = "floor";
/// The capability by which a runner says that its own floor lets commands run outside the sandbox.
pub(crate) const UNSANDBOXED: &str = "unsandboxed";

/// One link to one epoch of a runner.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) hello: RunnerHello,
    outgoing: mpsc::Sender<ToRunner>,
    ended: CancellationToken,
    why: OnceLock<&'static str>,
    /// How often the runner has said whether it drains.
    drain_words: watch::Sender<u64>,
    body: Mutex<Body>,
}

#[derive(Debug)]
struct Body {
    /// The runner's clock, and when it was read here.
    clock: (u64, Instant),
    heard: Instant,
    draining: bool,
    /// Its jobs are known; it may be given new ones.
    reconciled: bool,
    /// Jobs that were sent or reported on this link and have not ended.
    jobs: HashMap<ExecutionId, Job>,
    /// Jobs that the runner was told on this link to have in the background.
    backgrounded: HashSet<ExecutionId>,
    /// When something was last sent.
    sent: Instant,
    /// Sessions that it was asked on this link to open, and that it has not closed.
    opening: HashSet<SessionId>,
    /// Sessions that it reported open before it was reconciled.
    sessions: HashSet<SessionId>,
    /// Where it has set back sessions whose directory had vanished, until the refusal that goes with it.
    set_back: HashMap<SessionId, Vec<u8>>,
    probes: Probes,
}

/// Questions to the runner whether it has said everything. What another server was told may be on its way here: only
/// what is still missing after the answer is missing.
#[derive(Debug, Default)]
struct Probes {
    /// The number of the last that was sent, and of the last that was answered.
    sent: u64,
    answered: u64,
    /// Jobs that the store has and the runner has not reported, each with the probe that settles it.
    jobs: HashMap<ExecutionId, u64>,
    /// Sessions likewise, all with the same.
    sessions: (HashSet<SessionId>, u64),
}

/// One offer of a job, and when it was first sent on this link.
#[derive(Debug)]
struct Job {
    attempt: u32,
    sent: Instant,
    standing: Standing,
}

#[derive(Debug)]
enum Standing {
    Sent,
    Reported,
    /// Not to be started; earlier offers are void when the runner's clock has passed this.
    Withdrawn {
        void_at: u64,
    },
}

/// How a job stands on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobOnLink {
    /// Sent, not answered.
    Sent,
    /// The runner knows of it.
    Reported,
    /// It is not to be started; `over` when it cannot be any more.
    Withdrawn {
        /// By the runner's clock.
        over: bool,
    },
}

/// Whether a host's own root is known not to have a shell.
pub(crate) fn lacks(shells: &BTreeMap<String, String>, shell: Shell) -> bool {
    !shells.is_empty() && !shells.contains_key(shell.name())
}

impl Job {
    fn now(attempt: u32, standing: Standing) -> Self {
        Self { attempt, sent: Instant::now(), standing }
    }

    fn on_link(&self, clock_ms: u64) -> JobOnLink {
        match self.standing {
            Standing::Sent => JobOnLink::Sent,
            Standing::Reported => JobOnLink::Reported,
            Standing::Withdrawn { void_at } => JobOnLink::Withdrawn { over: clock_ms > void_at },
        }
    }
}

impl Link {
    pub(super) fn new(hello: RunnerHello, outgoing: mpsc::Sender<ToRunner>) -> Self {
        let now = Instant::now();
        let body = Body {
            clock: (hello.clock_ms, now),
            heard: now,
            draining: false,
            reconciled: false,
            jobs: HashMap::new(),
            backgrounded: HashSet::new(),
            sent: now,
            opening: HashSet::new(),
            sessions: HashSet::new(),
            set_back: HashMap::new(),
            probes: Probes::default(),
        };
        Self {
            hello,
            outgoing,
            ended: CancellationToken::new(),
            why: OnceLock::new(),
            drain_words: watch::Sender::new(0),
            body: Mutex::new(body),
        }
    }

    /// Sends `message`, waiting at most `wait` for room; ends the link if there is none.
    pub(crate) async fn send(&self, message: ToRunner, wait: Duration) -> Result<(), DoorError> {
        let sent = tokio::select! {
            biased;
            () = self.ended.cancelled() => return Err(DoorError::LinkEnded),
            sent = self.outgoing.send_timeout(message, wait) => sent,
        };
        sent.map_err(|_| {
            self.end("the runner takes no messages");
            DoorError::LinkEnded
        })?;
        self.body().sent = Instant::now();
        Ok(())
    }

    /// Says that the server is there, if nothing else was said for so long. A full queue says it, too.
    pub(crate) fn keep_alive(&self, interval: Duration) {
        let mut body = self.body();
        if body.sent.elapsed() >= interval && self.outgoing.try_send(ToRunner::Heartbeat).is_ok() {
            body.sent = Instant::now();
        }
    }

    /// Ends the link. The first reason counts.
    pub(crate) fn end(&self, why: &'static str) {
        let _ = self.why.set(why);
        self.ended.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Returns when the link has ended, and why.
    pub(crate) async fn ended(&self) -> LinkError {
        self.ended.cancelled().await;
        LinkError::Ended(self.why.get().copied().unwrap_or("the other side is gone"))
    }

    /// Whether the runner's own floor lets commands run outside the sandbox.
    pub(crate) fn permits_unsandboxed(&self) -> bool {
        self.hello.capabilities.iter().any(|found| found.name == UNSANDBOXED && found.enforced)
    }

    /// Whether what the runner does not report was never accepted by this life of it. It is not so after
    /// its host went down: then the end of its journal may be missing.
    pub(crate) fn vouches_for(&self, epoch: Epoch) -> bool {
        let is_broken = |found: &Capability| found.name == JOURNAL_INTACT && !found.enforced;
        self.hello.vouched_epochs.contains(&epoch) || !self.hello.capabilities.iter().any(is_broken)
    }

    /// Whether the runner was seen to hold its own floor. One that does not refuses every session.
    pub(crate) fn holds_floor(&self) -> bool {
        !self.hello.capabilities.iter().any(|found| found.name == FLOOR && !found.enforced)
    }

    /// Whether the host's own root is known not to have a shell.
    pub(crate) fn lacks(&self, shell: Shell) -> bool {
        lacks(&self.hello.shells, shell)
    }

    pub(crate) fn heard(&self) {
        self.body().heard = Instant::now();
    }

    pub(crate) fn silent_for(&self) -> Duration {
        self.body().heard.elapsed()
    }

    pub(crate) fn set_clock(&self, clock_ms: u64) {
        self.body().clock = (clock_ms, Instant::now());
    }

    /// The runner's clock so much from now.
    pub(crate) fn clock_in(&self, wait: Duration) -> u64 {
        let (clock_ms, read) = self.body().clock;
        let ahead = (read.elapsed() + wait).as_millis();
        clock_ms.saturating_add(u64::try_from(ahead).unwrap_or(u64::MAX))
    }

    pub(crate) fn set_draining(&self, draining: bool) {
        self.body().draining = draining;
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.body().draining
    }

    /// What the runner has said of draining is taken in.
    pub(crate) fn drain_word_taken(&self) {
        self.drain_words.send_modify(|words| *words = words.wrapping_add(1));
    }

    /// Changes with each word of the runner on draining from now on.
    pub(crate) fn drain_words(&self) -> watch::Receiver<u64> {
        self.drain_words.subscribe()
    }

    pub(crate) fn set_reconciled(&self) {
        self.body().reconciled = true;
    }

    pub(crate) fn is_reconciled(&self) -> bool {
        self.body().reconciled
    }

    /// Notes that the runner knows of a job, by its report of this attempt.
    pub(crate) fn set_reported(&self, id: ExecutionId, attempt: u32) {
        let mut body = self.body();
        body.probes.jobs.remove(&id);
        let job = body.jobs.entry(id).or_insert_with(|| Job::now(attempt, Standing::Reported));
        if job.attempt <= attempt {
            job.attempt = attempt;
            job.standing = Standing::Reported;
        }
    }

    /// Notes that a job is on its way to the runner. A report of this attempt, which another server sent, stays noted.
    pub(crate) fn set_sent(&self, id: ExecutionId, attempt: u32) {
        let mut body = self.body();
        let is_known = |job: &Job| {
            job.attempt > attempt || (job.attempt == attempt && matches!(job.standing, Standing::Reported))
        };
        if !body.jobs.get(&id).is_some_and(is_known) {
            body.jobs.insert(id, Job::now(attempt, Standing::Sent));
        }
    }

    /// Notes that a job was not sent after all. Returns whether the runner is not known to have it: another server may
    /// have sent it meanwhile, and the runner may have reported that here.
    pub(crate) fn set_unsent(&self, id: ExecutionId) -> bool {
        let mut body = self.body();
        if body.jobs.get(&id).is_some_and(|job| matches!(job.standing, Standing::Sent)) {
            body.jobs.remove(&id);
        }
        !body.jobs.get(&id).is_some_and(|job| matches!(job.standing, Standing::Reported))
    }

    /// How long ago a job was first sent.
    pub(crate) fn starting_for(&self, id: ExecutionId) -> Duration {
        self.body().jobs.get(&id).map_or(Duration::ZERO, |job| job.sent.elapsed())
    }

    /// How this attempt of a job stands; none if it was neither sent nor reported on this link.
    pub(crate) fn job(&self, id: ExecutionId, attempt: u32) -> Option<JobOnLink> {
        let body = self.body();
        let job = body.jobs.get(&id).filter(|job| job.attempt >= attempt);
        job.map(|job| job.on_link(body.clock.0))
    }

    /// Notes that a job which was not reported is not to be started. An offer of before, sent on an
    /// earlier link, is void after `window` by the runner's clock.
    pub(crate) fn withdraw(&self, id: ExecutionId, attempt: u32, window: Duration) -> JobOnLink {
        let void_at = self.clock_in(window);
        let mut body = self.body();
        let clock = body.clock.0;
        let withdrawn = || Job::now(attempt, Standing::Withdrawn { void_at });
        let job = body.jobs.entry(id).or_insert_with(withdrawn);
        if job.attempt < attempt {
            *job = withdrawn();
        }
        job.on_link(clock)
    }

    /// Forgets a job up to this attempt. A later one may have been offered by another server, and reported here.
    pub(crate) fn forget(&self, id: ExecutionId, attempt: u32) {
        let mut body = self.body();
        if body.jobs.get(&id).is_some_and(|job| job.attempt > attempt) {
            return;
        }
        body.jobs.remove(&id);
        body.backgrounded.remove(&id);
        body.probes.jobs.remove(&id);
    }

    /// Whether the runner was told on this link that a job is in the background.
    pub(crate) fn knows_backgrounded(&self, id: ExecutionId) -> bool {
        self.body().backgrounded.contains(&id)
    }

    /// Notes that it was. One that has ended meanwhile needs no note.
    pub(crate) fn set_backgrounded(&self, id: ExecutionId) {
        let mut body = self.body();
        if body.jobs.contains_key(&id) {
            body.backgrounded.insert(id);
        }
    }

    /// Whether a job was sent so long ago and not answered.
    pub(crate) fn is_overdue(&self, wait: Duration) -> bool {
        let body = self.body();
        body.jobs.values().any(|job| matches!(job.standing, Standing::Sent) && job.sent.elapsed() > wait)
    }

    /// Whether this is the first time that it is to be asked on this link.
    pub(crate) fn set_opening(&self, id: SessionId) -> bool {
        self.body().opening.insert(id)
    }

    /// Whether it was asked on this link, and has not failed.
    pub(crate) fn is_opening(&self, id: SessionId) -> bool {
        self.body().opening.contains(&id)
    }

    /// Notes that the runner has a session. Only up to the reconciliation does it matter which.
    pub(crate) fn set_has_session(&self, id: SessionId) {
        let mut body = self.body();
        body.probes.sessions.0.remove(&id);
        if !body.reconciled {
            body.sessions.insert(id);
        }
    }

    /// Notes where the runner says that it has set back a session.
    pub(crate) fn set_back(&self, id: SessionId, directory: Vec<u8>) {
        let mut body = self.body();
        if body.reconciled {
            body.set_back.insert(id, directory);
        }
    }

    /// Where it has set back a session, once.
    pub(crate) fn take_set_back(&self, id: SessionId) -> Option<Vec<u8>> {
        self.body().set_back.remove(&id)
    }

    /// The sessions that the runner reported before it was reconciled.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        self.body().sessions.clone()
    }

    /// Notes the sessions that the runner should have and has not reported. Whether that is already sure.
    pub(crate) fn miss_sessions(&self, missing: Vec<SessionId>) -> bool {
        let mut body = self.body();
        body.sessions.clear();
        let is_none = missing.is_empty();
        let settles = if is_none { 0 } else { body.probes.sent + 1 };
        body.probes.sessions = (missing.into_iter().collect(), settles);
        is_none || !self.hello.answers_probes
    }

    /// Whether it has had the time to report every session that was missing.
    pub(crate) fn has_told_of_sessions(&self) -> bool {
        let body = self.body();
        body.probes.answered >= body.probes.sessions.1
    }

    /// The sessions that are missing, once.
    pub(crate) fn take_missing_sessions(&self) -> Vec<SessionId> {
        std::mem::take(&mut self.body().probes.sessions.0).into_iter().collect()
    }

    /// Whether it is sure that the runner does not have a job that it has not reported. If not, a probe is due.
    pub(crate) fn is_surely_absent(&self, id: ExecutionId) -> bool {
        if !self.hello.answers_probes {
            return true;
        }
        let mut body = self.body();
        let probes = &mut body.probes;
        let next = probes.sent + 1;
        let settles = *probes.jobs.entry(id).or_insert(next);
        probes.answered >= settles
    }

    /// The number of a probe to send now, if one is waited for that was not sent.
    pub(crate) fn next_probe(&self) -> Option<u64> {
        let mut body = self.body();
        let probes = &mut body.probes;
        let last = probes.jobs.values().copied().chain([probes.sessions.1]).max()?;
        (last > probes.sent).then(|| {
            probes.sent = last;
            last
        })
    }

    /// Notes that the runner has answered a probe.
    pub(crate) fn set_probed(&self, number: u64) {
        let mut body = self.body();
        body.probes.answered = body.probes.answered.max(number.min(body.probes.sent));
    }

    pub(crate) fn clear_opening(&self, id: SessionId) {
        let mut body = self.body();
        body.opening.remove(&id);
        body.set_back.remove(&id);
        body.probes.sessions.0.remove(&id);
    }

    /// Has everything that is measured on this link begun so much earlier.
    #[cfg(test)]
    pub(crate) fn pass(&self, time: Duration) {
        let mut body = self.body();
        body.heard -= time;
        body.sent -= time;
        for job in body.jobs.values_mut() {
            job.sent -= time;
        }
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
