//! One link: what is known of the runner at its other end, and the way to it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use airlock_proto::domain::{ExecutionId, RunnerHello, SessionId, ToRunner};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::LinkError;
use crate::stream_door::DoorError;

/// The capability by which a runner says whether its journal survived its host.
const JOURNAL_INTACT: &str = "journal_intact";

/// One link to one epoch of a runner.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) hello: RunnerHello,
    outgoing: mpsc::Sender<ToRunner>,
    ended: CancellationToken,
    why: OnceLock<&'static str>,
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
    /// Jobs that it reported on this link.
    reported: HashSet<ExecutionId>,
    /// Jobs sent on this link that it has not answered, and since when.
    unanswered: HashMap<ExecutionId, Instant>,
    /// Sessions that it was asked on this link to open.
    opening: HashSet<SessionId>,
}

impl Link {
    pub(super) fn new(hello: RunnerHello, outgoing: mpsc::Sender<ToRunner>) -> Self {
        let now = Instant::now();
        let body = Body {
            clock: (hello.clock_ms, now),
            heard: now,
            draining: false,
            reconciled: false,
            reported: HashSet::new(),
            unanswered: HashMap::new(),
            opening: HashSet::new(),
        };
        Self {
            hello,
            outgoing,
            ended: CancellationToken::new(),
            why: OnceLock::new(),
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
        })
    }

    /// Returns when everything sent so far was taken by the edge, or the link has ended.
    pub(crate) async fn flushed(&self) {
        while self.outgoing.capacity() < self.outgoing.max_capacity() && !self.ended.is_cancelled() {
            tokio::time::sleep(Duration::from_millis(1)).await;
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

    pub(super) async fn ended(&self) -> LinkError {
        self.ended.cancelled().await;
        LinkError::Ended(self.why.get().copied().unwrap_or("the other side is gone"))
    }

    /// Whether what the runner does not report was never accepted. It is not so after its host went
    /// down: then the end of its journal may be missing.
    pub(crate) fn journal_is_intact(&self) -> bool {
        !self.hello.capabilities.iter().any(|found| found.name == JOURNAL_INTACT && !found.enforced)
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

    pub(crate) fn drain(&self) {
        self.body().draining = true;
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.body().draining
    }

    pub(crate) fn set_reconciled(&self) {
        self.body().reconciled = true;
    }

    pub(crate) fn is_reconciled(&self) -> bool {
        self.body().reconciled
    }

    /// Notes that the runner knows of a job.
    pub(crate) fn set_reported(&self, id: ExecutionId) {
        let mut body = self.body();
        body.unanswered.remove(&id);
        // Only up to the reconciliation does it matter who was reported.
        if !body.reconciled {
            body.reported.insert(id);
        }
    }

    /// The jobs that were reported up to now; asked once.
    pub(crate) fn take_reported(&self) -> HashSet<ExecutionId> {
        std::mem::take(&mut self.body().reported)
    }

    pub(crate) fn set_unanswered(&self, id: ExecutionId) {
        self.body().unanswered.insert(id, Instant::now());
    }

    /// Whether a job was sent so long ago and not answered.
    pub(crate) fn is_overdue(&self, wait: Duration) -> bool {
        self.body().unanswered.values().any(|sent| sent.elapsed() > wait)
    }

    /// Whether this is the first time that it is to be asked on this link.
    pub(crate) fn set_opening(&self, id: SessionId) -> bool {
        self.body().opening.insert(id)
    }

    pub(crate) fn clear_opening(&self, id: SessionId) {
        self.body().opening.remove(&id);
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
