//! The tickets by which a runner's output stream finds the task that asked for it. Random, used once,
//! and void when the task no longer waits.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::{ExecutionId, RunnerId};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::push::Push;

/// What the runner's answer to `OpenOutput` was.
pub(super) enum Opened {
    /// An output stream.
    Push(Push),
    /// The runner holds nothing for the execution.
    Missing,
}

/// Why an output stream is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PushRefused {
    /// Nobody waits for a stream with this ticket: it was never given out, was used, or is too old.
    #[error("the ticket is not valid (any more)")]
    UnknownTicket,
    /// The ticket was given to another runner.
    #[error("the ticket was given to another runner")]
    OtherRunner,
    /// The ticket was given for another execution.
    #[error("the ticket was given for another execution")]
    OtherExecution,
}

struct Waiting {
    execution: ExecutionId,
    runner: RunnerId,
    opened: oneshot::Sender<Opened>,
}

/// The tickets that somebody waits for. At most one for each execution.
#[derive(Clone, Default)]
pub(super) struct Tickets {
    waiting: Arc<Mutex<HashMap<String, Waiting>>>,
}

/// A ticket, valid until it is dropped or used.
pub(super) struct Ticket {
    text: String,
    tickets: Tickets,
}

impl Tickets {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new ticket, and what will come of it.
    pub(super) fn issue(
        &self,
        execution: ExecutionId,
        runner: RunnerId,
    ) -> (Ticket, oneshot::Receiver<Opened>) {
        let text = Uuid::new_v4().simple().to_string();
        let (opened, receiver) = oneshot::channel();
        self.lock().insert(text.clone(), Waiting { execution, runner, opened });
        (Ticket { text, tickets: self.clone() }, receiver)
    }

    /// Uses a ticket up.
    ///
    /// # Errors
    /// If it is not valid for this runner and execution; a ticket that another runner shows stays valid.
    pub(super) fn redeem(
        &self,
        text: &str,
        runner: &RunnerId,
        execution: ExecutionId,
    ) -> Result<oneshot::Sender<Opened>, PushRefused> {
        let mut waiting = self.lock();
        let found = waiting.get(text).ok_or(PushRefused::UnknownTicket)?;
        if found.runner != *runner {
            return Err(PushRefused::OtherRunner);
        }
        if found.execution != execution {
            return Err(PushRefused::OtherExecution);
        }
        waiting.remove(text).map(|found| found.opened).ok_or(PushRefused::UnknownTicket)
    }
}

impl Ticket {
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.tickets.lock().remove(&self.text);
    }
}
