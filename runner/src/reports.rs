//! The reports to the servers. Each link has its own bounded queue.
//!
//! A link with a full queue is closed and reconnected. A new link reports everything again, so that no report is lost.
//! Must not wait for a server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_domain::{FromRunner, SessionId, SessionPhase, SessionReport};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The sending end of one link's queue.
#[derive(Debug, Clone)]
pub(crate) struct ReportQueue {
    queue: mpsc::Sender<FromRunner>,
    cut: CancellationToken,
}

/// The queues of all links.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Vec<ReportQueue>>);

impl Reports {
    /// Sends a message to every server.
    pub(crate) fn send(&self, message: &FromRunner) {
        self.lock().retain(|link| {
            let sent = link.queue.try_send(message.clone()).is_ok();
            if !sent {
                link.cut.cancel();
            }
            sent
        });
    }

    /// Sends the state of a session to every server.
    pub(crate) fn session(&self, session_id: SessionId, phase: SessionPhase) {
        self.send(&FromRunner::Session(SessionReport { session_id, phase }));
    }

    /// Adds a link. `snapshot` returns the messages to send first. Every later change goes through the queue.
    pub(crate) fn attach(
        &self,
        capacity: usize,
        cut: CancellationToken,
        snapshot: impl FnOnce() -> Vec<FromRunner>,
    ) -> (ReportQueue, Vec<FromRunner>, mpsc::Receiver<FromRunner>) {
        let (queue, receiver) = mpsc::channel(capacity);
        let link = ReportQueue { queue, cut };
        let mut queues = self.lock();
        queues.push(link.clone());
        (link, snapshot(), receiver)
    }

    /// Sends a message to one server, after all messages that were sent to every server before.
    pub(crate) fn answer(&self, link: &ReportQueue, message: FromRunner) {
        // Holding the lock keeps the order: a message that `send` is distributing reaches this queue first.
        let _told = self.lock();
        if link.queue.try_send(message).is_err() {
            link.cut.cancel();
        }
    }

    /// Reports whether the queues of all links are empty.
    pub(crate) fn all_sent(&self) -> bool {
        self.lock().iter().all(|link| link.queue.capacity() == link.queue.max_capacity())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ReportQueue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
