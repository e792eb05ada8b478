//! Tickets that connect a stream from a runner to the task that requested it. A ticket is random, valid once,
//! and invalid when the task no longer waits. It does not reveal the purpose of the stream.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::RunnerId;
use tokio::sync::oneshot;
use uuid::Uuid;

/// The reason why a stream of a runner is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketRefused {
    /// No task waits for a stream with this ticket: it was never issued, was used, or has expired.
    #[error("the ticket is unknown, used or expired")]
    UnknownTicket,
    /// The ticket was issued to another runner.
    #[error("the ticket was issued to another runner")]
    OtherRunner,
    /// The ticket was issued for another subject.
    #[error("the ticket was issued for another purpose")]
    OtherSubject,
}

struct Waiting<S, T> {
    subject: S,
    runner: RunnerId,
    opened: oneshot::Sender<T>,
}

/// The issued tickets. Each has a subject `S` and is answered with a `T`.
pub struct Tickets<S, T> {
    waiting: Arc<Mutex<HashMap<String, Waiting<S, T>>>>,
}

/// A ticket, valid until it is dropped or used.
pub struct Ticket<S, T> {
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

    /// Issues a ticket. The receiver returns the value that the ticket is answered with.
    #[must_use]
    pub fn issue(&self, subject: S, runner: RunnerId) -> (Ticket<S, T>, oneshot::Receiver<T>) {
        let text = Uuid::new_v4().simple().to_string();
        let (opened, receiver) = oneshot::channel();
        self.lock().insert(text.clone(), Waiting { subject, runner, opened });
        (Ticket { text, tickets: self.clone() }, receiver)
    }
}

impl<S: PartialEq, T> Tickets<S, T> {
    /// Redeems a ticket.
    ///
    /// # Errors
    /// Returns an error if the ticket is not valid for this runner and subject. A ticket that another runner
    /// presents stays valid.
    pub fn redeem(
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
    /// Returns the text that the runner presents.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<S, T> Drop for Ticket<S, T> {
    fn drop(&mut self) {
        self.tickets.lock().remove(&self.text);
    }
}
