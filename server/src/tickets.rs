//! The tickets by which a stream that a runner opens finds the task that asked for it. Random, used once,
//! and void when the task no longer waits. They say nothing of what the stream is for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::RunnerId;
use tokio::sync::oneshot;
use uuid::Uuid;

/// Why a stream of a runner is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketRefused {
    /// Nobody waits for a stream with this ticket: it was never given out, was used, or is too old.
    #[error("the ticket is not valid (any more)")]
    UnknownTicket,
    /// The ticket was given to another runner.
    #[error("the ticket was given to another runner")]
    OtherRunner,
    /// The ticket was given for something else.
    #[error("the ticket was given for something else")]
    OtherSubject,
}

struct Waiting<S, T> {
    subject: S,
    runner: RunnerId,
    opened: oneshot::Sender<T>,
}

/// The tickets that somebody waits for: each about an `S`, and answered with a `T`.
pub(crate) struct Tickets<S, T> {
    waiting: Arc<Mutex<HashMap<String, Waiting<S, T>>>>,
}

/// A ticket, valid until it is dropped or used.
pub(crate) struct Ticket<S, T> {
    text: String,
    tickets: Tickets<S, T>,
}

impl<S, T> Default for Tickets<S, T> {
    fn default() -> Self {
        Self { waiting: Arc::default() }
    }
}

impl<S, T> Clone for Tickets<S, T> {
    fn clone(&self) -> Self {
        Self { waiting: self.waiting.clone() }
    }
}

impl<S, T> Tickets<S, T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting<S, T>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new ticket, and what will come of it.
    pub(crate) fn issue(&self, subject: S, runner: RunnerId) -> (Ticket<S, T>, oneshot::Receiver<T>) {
        let text = Uuid::new_v4().simple().to_string();
        let (opened, receiver) = oneshot::channel();
        self.lock().insert(text.clone(), Waiting { subject, runner, opened });
        (Ticket { text, tickets: self.clone() }, receiver)
    }
}

impl<S: PartialEq, T> Tickets<S, T> {
    /// Uses a ticket up.
    ///
    /// # Errors
    /// If it is not valid for this runner and subject; a ticket that another runner shows stays valid.
    pub(crate) fn redeem(
        &self,
        text: &str,
        runner: &RunnerId,
        subject: &S,
    ) -> Result<oneshot::Sender<T>, TicketRefused> {
        let mut waiting = self.lock();
        let found = waiting.get(text).ok_or(TicketRefused::UnknownTicket)?;
        if found.runner != *runner {
            return Err(TicketRefused::OtherRunner);
        }
        if found.subject != *subject {
            return Err(TicketRefused::OtherSubject);
        }
        waiting.remove(text).map(|found| found.opened).ok_or(TicketRefused::UnknownTicket)
    }
}

impl<S, T> Ticket<S, T> {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl<S, T> Drop for Ticket<S, T> {
    fn drop(&mut self) {
        self.tickets.lock().remove(&self.text);
    }
}
