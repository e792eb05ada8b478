//! One link: the state of the runner at its other end, and the queue of messages to it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use airlock_domain::{ExecutionId, RunnerHello, SessionId, ToRunner};
use airlock_output::stream::LinkUnavailable;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::hello::LinkError;

/// A link to one epoch of a runner.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) hello: RunnerHello,
    outgoing: mpsc::Sender<ToRunner>,
    ended: CancellationToken,
    why: OnceLock<&'static str>,
    /// The number of reports about draining that the runner has sent.
    drain_words: watch::Sender<u64>,
    body: Mutex<Body>,
}

#[derive(Debug)]
struct Body {
    /// The runner's clock, and the local time at which it was read.
    clock: (u64, Instant),
    heard: Instant,
    draining: bool,
    /// The runner has reported its jobs and may receive new ones.
    reconciled: bool,
    /// Jobs that were sent or reported on this link and have not ended.
    jobs: HashMap<ExecutionId, Job>,
    /// Jobs that are in the background and for which the runner was informed on this link.
    backgrounded: HashSet<ExecutionId>,
    /// The time at which a message was last sent.
    sent: Instant,
    /// Sessions that the runner was asked to open on this link, and that it has not closed.
    opening: HashSet<SessionId>,
    /// Sessions that the runner reported as open, and has not closed. A reconciliation that the store interrupted needs
    /// them again.
    sessions: HashSet<SessionId>,
    /// The new directories of sessions after the old one was removed, until the corresponding refusal arrives.
    set_back: HashMap<SessionId, Vec<u8>>,
    probes: Probes,
}

/// The probes that ask the runner whether it has sent all reports. A report can arrive at another server first. A job
/// or session is therefore missing only if it is still unreported after the response to a probe.
#[derive(Debug, Default)]
struct Probes {
    /// The numbers of the last probe that was sent and the last that was answered.
    sent: u64,
    answered: u64,
    /// Jobs that are in the store but were not reported, each with the number of the probe that settles it.
    jobs: HashMap<ExecutionId, u64>,
    /// Sessions that are in the store but were not reported, with the number of the probe that settles all of
    /// them.
    sessions: (HashSet<SessionId>, u64),
}

/// One offer of a job, with the time at which it was first sent on this link.
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
    /// The job must not start. Earlier offers are void when the runner's clock has passed `void_at`.
    Withdrawn {
        void_at: u64,
    },
}

/// The state of a job on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobOnLink {
    /// Sent, not answered.
    Sent,
    /// Reported by the runner.
    Reported,
    /// Withdrawn.
    Withdrawn {
        /// Whether the job can no longer start, by the runner's clock.
        over: bool,
    },
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

    /// Sends `message`. Waits at most `wait` for room in the queue; if there is none, ends the link.
    pub(crate) async fn send(&self, message: ToRunner, wait: Duration) -> Result<(), LinkUnavailable> {
        let sent = tokio::select! {
            biased;
            () = self.ended.cancelled() => return Err(LinkUnavailable::LinkEnded),
            sent = self.outgoing.send_timeout(message, wait) => sent,
        };
        sent.map_err(|_| {
            self.end("the runner does not read its messages");
            LinkUnavailable::LinkEnded
        })?;
        self.body().sent = Instant::now();
        Ok(())
    }

    /// Sends a heartbeat if no other message was sent for this time. A full queue makes it unnecessary.
    pub(crate) fn keep_alive(&self, interval: Duration) {
        let mut body = self.body();
        if body.sent.elapsed() >= interval && self.outgoing.try_send(ToRunner::Heartbeat).is_ok() {
            body.sent = Instant::now();
        }
    }

    /// Ends the link. Only the first reason is kept.
    pub(crate) fn end(&self, why: &'static str) {
        let _ = self.why.set(why);
        self.ended.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Returns when the link has ended, with the reason.
    pub(crate) async fn ended(&self) -> LinkError {
        self.ended.cancelled().await;
        LinkError::Ended(self.why.get().copied().unwrap_or("the runner disconnected"))
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

    /// Returns the time of the runner's clock after `wait`, in milliseconds.
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

    /// Records that a report about draining was processed.
    pub(crate) fn drain_word_taken(&self) {
        self.drain_words.send_modify(|words| *words = words.wrapping_add(1));
    }

    /// Returns a receiver that changes with each later report about draining.
    pub(crate) fn drain_words(&self) -> watch::Receiver<u64> {
        self.drain_words.subscribe()
    }

    pub(crate) fn set_reconciled(&self) {
        self.body().reconciled = true;
    }

    pub(crate) fn is_reconciled(&self) -> bool {
        self.body().reconciled
    }

    /// Records that the runner has reported this attempt of a job.
    pub(crate) fn set_reported(&self, id: ExecutionId, attempt: u32) {
        let mut body = self.body();
        body.probes.jobs.remove(&id);
        let job = body.jobs.entry(id).or_insert_with(|| Job::now(attempt, Standing::Reported));
        if job.attempt <= attempt {
            job.attempt = attempt;
            job.standing = Standing::Reported;
        }
    }

    /// Records that a job is being sent to the runner. If another server sent this attempt and the runner
    /// reported it, that record is kept.
    pub(crate) fn set_sent(&self, id: ExecutionId, attempt: u32) {
        let mut body = self.body();
        let is_known = |job: &Job| {
            job.attempt > attempt || (job.attempt == attempt && matches!(job.standing, Standing::Reported))
        };
        if !body.jobs.get(&id).is_some_and(is_known) {
            body.jobs.insert(id, Job::now(attempt, Standing::Sent));
        }
    }

    /// Records that a job was not sent. Returns true unless the runner has reported the job, which another
    /// server can have sent in the meantime.
    pub(crate) fn set_unsent(&self, id: ExecutionId) -> bool {
        let mut body = self.body();
        if body.jobs.get(&id).is_some_and(|job| matches!(job.standing, Standing::Sent)) {
            body.jobs.remove(&id);
        }
        !body.jobs.get(&id).is_some_and(|job| matches!(job.standing, Standing::Reported))
    }

    /// Returns the time since a job was first sent.
    pub(crate) fn starting_for(&self, id: ExecutionId) -> Duration {
        self.body().jobs.get(&id).map_or(Duration::ZERO, |job| job.sent.elapsed())
    }

    /// Returns the state of this attempt of a job, or `None` if it was neither sent nor reported on this
    /// link.
    pub(crate) fn job(&self, id: ExecutionId, attempt: u32) -> Option<JobOnLink> {
        let body = self.body();
        let job = body.jobs.get(&id).filter(|job| job.attempt >= attempt);
        job.map(|job| job.on_link(body.clock.0))
    }

    /// Records that an unreported job must not start. An earlier offer from a previous link is void after
    /// `window` on the runner's clock.
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

    /// Forgets a job up to this attempt. Another server can have offered a later attempt that was reported
    /// here.
    pub(crate) fn forget(&self, id: ExecutionId, attempt: u32) {
        let mut body = self.body();
        if body.jobs.get(&id).is_some_and(|job| job.attempt > attempt) {
            return;
        }
        body.jobs.remove(&id);
        body.backgrounded.remove(&id);
        body.probes.jobs.remove(&id);
    }

    /// Reports whether the runner was informed on this link that a job is in the background.
    pub(crate) fn knows_backgrounded(&self, id: ExecutionId) -> bool {
        self.body().backgrounded.contains(&id)
    }

    /// Records that the runner was informed. A job that has ended is ignored.
    pub(crate) fn set_backgrounded(&self, id: ExecutionId) {
        let mut body = self.body();
        if body.jobs.contains_key(&id) {
            body.backgrounded.insert(id);
        }
    }

    /// Reports whether a job was sent more than `wait` ago and not answered.
    pub(crate) fn is_overdue(&self, wait: Duration) -> bool {
        let body = self.body();
        body.jobs.values().any(|job| matches!(job.standing, Standing::Sent) && job.sent.elapsed() > wait)
    }

    /// Records that the runner is asked to open a session. Returns whether it is the first time on this link.
    pub(crate) fn set_opening(&self, id: SessionId) -> bool {
        self.body().opening.insert(id)
    }

    /// Reports whether the runner was asked on this link to open a session and has not failed.
    pub(crate) fn is_opening(&self, id: SessionId) -> bool {
        self.body().opening.contains(&id)
    }

    /// Records that the runner has a session.
    pub(crate) fn set_has_session(&self, id: SessionId) {
        let mut body = self.body();
        body.probes.sessions.0.remove(&id);
        body.sessions.insert(id);
    }

    /// Records that the runner has closed a session, or could not open it.
    pub(crate) fn set_has_no_session(&self, id: SessionId) {
        let mut body = self.body();
        body.opening.remove(&id);
        body.set_back.remove(&id);
        body.sessions.remove(&id);
        body.probes.sessions.0.remove(&id);
    }

    /// Records the new directory of a session after the old one was removed.
    pub(crate) fn set_back(&self, id: SessionId, directory: Vec<u8>) {
        let mut body = self.body();
        if body.reconciled {
            body.set_back.insert(id, directory);
        }
    }

    /// Returns and removes the new directory of a session.
    pub(crate) fn take_set_back(&self, id: SessionId) -> Option<Vec<u8>> {
        self.body().set_back.remove(&id)
    }

    /// Returns the sessions that the runner has reported on this link and not closed.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        self.body().sessions.clone()
    }

    /// Records the sessions that the runner should have and did not report. Returns whether they are
    /// certainly missing.
    pub(crate) fn miss_sessions(&self, missing: Vec<SessionId>) -> bool {
        let mut body = self.body();
        let is_none = missing.is_empty();
        let settles = if is_none { 0 } else { body.probes.sent + 1 };
        body.probes.sessions = (missing.into_iter().collect(), settles);
        is_none || !self.hello.answers_probes
    }

    /// Reports whether the runner has answered the probe about missing sessions.
    pub(crate) fn has_told_of_sessions(&self) -> bool {
        let body = self.body();
        body.probes.answered >= body.probes.sessions.1
    }

    /// Returns and removes the missing sessions.
    pub(crate) fn take_missing_sessions(&self) -> Vec<SessionId> {
        std::mem::take(&mut self.body().probes.sessions.0).into_iter().collect()
    }

    /// Reports whether the runner certainly does not have a job that it did not report. If this is uncertain,
    /// a probe is scheduled.
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

    /// Returns the number of the probe to send, or `None` if no new probe is needed.
    pub(crate) fn next_probe(&self) -> Option<u64> {
        let mut body = self.body();
        let probes = &mut body.probes;
        let last = probes.jobs.values().copied().chain([probes.sessions.1]).max()?;
        (last > probes.sent).then(|| {
            probes.sent = last;
            last
        })
    }

    /// Records that the runner has answered a probe.
    pub(crate) fn set_probed(&self, number: u64) {
        let mut body = self.body();
        body.probes.answered = body.probes.answered.max(number.min(body.probes.sent));
    }

    /// Moves all times of this link into the past by `time`.
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
