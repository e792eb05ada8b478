//! The reports to the servers. Each link has its own bounded queue.
//!
//! A link with a full queue is closed and reconnected. A new link reports everything again, so that no report is lost.
//! Must not wait for a server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_domain::{FromRunner, SessionId, SessionPhase, SessionReport};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The sending side of one link's queue.
#[derive(Debug, Clone)]
pub(crate) struct Exit {
    queue: mpsc::Sender<FromRunner>,
    cut: CancellationToken,
}

/// The queues of all links.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Vec<Exit>>);

impl Reports {
    /// Sends a message to every server.
    pub(crate) fn send(&self, message: &FromRunner) {
        self.lock().retain(|exit| {
            let sent = exit.queue.try_send(message.clone()).is_ok();
            if !sent {
                exit.cut.cancel();
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
    ) -> (Exit, Vec<FromRunner>, mpsc::Receiver<FromRunner>) {
        let (queue, receiver) = mpsc::channel(capacity);
        let exit = Exit { queue, cut };
        let mut exits = self.lock();
        exits.push(exit.clone());
        (exit, snapshot(), receiver)
    }

    /// Sends a message to one server, after all messages that were sent to every server before.
    pub(crate) fn answer(&self, exit: &Exit, message: FromRunner) {
        // Holding the lock keeps the order: a message that `send` is distributing reaches this queue first.
        let _told = self.lock();
        if exit.queue.try_send(message).is_err() {
            exit.cut.cancel();
        }
    }

    /// Reports whether the queues of all links are empty.
    pub(crate) fn all_sent(&self) -> bool {
        self.lock().iter().all(|exit| exit.queue.capacity() == exit.queue.max_capacity())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Exit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
