//! Reports on their way to the servers: each link has a bounded queue of its own.
//!
//! A link that does not keep up is cut and made anew; on a new link everything is reported again, so
//! that nothing is lost by it. Must not wait for a server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_proto::domain::FromRunner;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One link's end.
#[derive(Debug, Clone)]
pub(crate) struct Exit {
    queue: mpsc::Sender<FromRunner>,
    cut: CancellationToken,
}

/// All links that are up.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Vec<Exit>>);

impl Reports {
    /// Tells every server.
    pub(crate) fn send(&self, message: &FromRunner) {
        self.lock().retain(|exit| {
            let sent = exit.queue.try_send(message.clone()).is_ok();
            if !sent {
                exit.cut.cancel();
            }
            sent
        });
    }

    /// Begins to tell one more server. `snapshot` is what it has to be told first; whatever changes
    /// after it goes through the queue.
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

    /// Tells one server something, after all that any server was told before.
    pub(crate) fn answer(&self, exit: &Exit, message: FromRunner) {
        // What is being told to all is told to this one, too, before it is let go.
        let _told = self.lock();
        if exit.queue.try_send(message).is_err() {
            exit.cut.cancel();
        }
    }

    /// Whether nothing waits on any link.
    pub(crate) fn all_sent(&self) -> bool {
        self.lock().iter().all(|exit| exit.queue.capacity() == exit.queue.max_capacity())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Exit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
