//! The task that owns an execution's output stream. It asks the runner for a stream while there is
//! demand, converts the demand to credit, and receives the data.
//!
//! There is at most one such task per execution. It ends when there is no demand, so an idle reader
//! does not keep it busy. It never waits for a reader.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use airlock_domain::{ExecutionId, PushFromRunner, PushToRunner, RunnerId};
use futures::{Stream, StreamExt};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    hub::{Hub, Way},
    link::{LentOutput, LinkUnavailable, NotLent, OUTGOING, Opened, OutputLink, Push, PushBroken, PushHello},
    reads::Violation,
    state::{Inner, Streams},
};
use crate::tickets::TicketRefused;

/// The reason why an output stream could not be opened.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("the runner of the output is unknown")]
    NoRunner,
    #[error(transparent)]
    Unavailable(#[from] LinkUnavailable),
    #[error("the runner did not open an output stream in time")]
    TooLate,
    #[error("the runner has no output")]
    Missing,
}

/// The end of an output stream.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// There is no demand.
    Unwanted,
    /// The transport or the runner ended it.
    Broken,
    /// The runner violated the protocol.
    Misbehaved(Violation),
}

impl Streams {
    /// Accepts an output stream that a runner opened and returns the messages to send on it. When these messages
    /// end, the caller must close the stream; `incoming` is not read any further.
    ///
    /// # Errors
    /// [`TicketRefused`] if the ticket is not valid for this stream.
    pub fn accept_push<S>(
        &self,
        hello: &PushHello,
        incoming: S,
    ) -> Result<mpsc::Receiver<PushToRunner>, TicketRefused>
    where
        S: Stream<Item = Result<PushFromRunner, PushBroken>> + Send + 'static,
    {
        let opened = self.inner.tickets.redeem(&hello.ticket, &hello.runner_id, &hello.execution_id)?;
        let (outgoing, messages) = mpsc::channel(OUTGOING);
        let answer = if hello.missing {
            Opened::Missing
        } else {
            Opened::Push(Push { incoming: incoming.boxed(), outgoing })
        };
        opened.send(answer).map_err(|_| TicketRefused::UnknownTicket)?;
        Ok(messages)
    }

    /// Opens an output stream on one of `links` on behalf of another server, which requests the reads. Returns `None`
    /// if the runner holds no output. The runner sends only the data that the other server requests.
    ///
    /// # Errors
    /// [`NotLent`] if the runner has no link here or does not open the stream in time.
    pub async fn lend(
        &self,
        links: &dyn OutputLink,
        runner: &RunnerId,
        execution: ExecutionId,
    ) -> Result<Option<LentOutput>, NotLent> {
        self.inner.lend(links, runner, execution).await
    }
}

impl Inner {
    /// Starts the task for an output stream if there is demand and no task yet.
    pub(super) fn drive(self: &Arc<Self>, hub: &Arc<Hub>) {
        if self.cancel.is_cancelled() || !hub.begin_driving() {
            return;
        }
        let (inner, hub) = (Arc::clone(self), Arc::clone(hub));
        self.tasks.spawn(async move {
            tokio::select! {
                () = inner.cancel.cancelled() => {}
                () = inner.keep_open(&hub) => {}
            }
            hub.cut();
            hub.end_driving();
        });
    }

    async fn keep_open(&self, hub: &Hub) {
        let mut wait = self.limits.retry_first;
        while hub.go_on_driving() {
            match self.open(hub).await {
                Ok(push) => {
                    hub.set_way(Way::Usable);
                    self.observer.push_opened();
                    let (end, answered) = self.serve(hub, push).await;
                    hub.cut();
                    self.report(hub, &end);
                    if answered {
                        wait = self.limits.retry_first;
                    }
                    if end == End::Unwanted {
                        continue;
                    }
                }
                Err(error) => {
                    tracing::debug!(execution_id = %hub.id, %error, "cannot open an output stream");
                    match error {
                        OpenError::Missing => hub.set_way(Way::Missing),
                        OpenError::NoRunner | OpenError::Unavailable(_) | OpenError::TooLate => hub.fail(),
                    }
                }
            }
            sleep(wait).await;
            wait = (wait * 2).min(self.limits.retry_most);
        }
    }

    fn report(&self, hub: &Hub, end: &End) {
        match end {
            End::Unwanted => {}
            End::Broken => tracing::debug!(execution_id = %hub.id, "the output stream was interrupted"),
            End::Misbehaved(violation) => {
                self.observer.push_misbehaved();
                tracing::warn!(execution_id = %hub.id, %violation, "a runner violated the protocol of an output stream");
            }
        }
    }

    async fn open(&self, hub: &Hub) -> Result<Push, OpenError> {
        let runner = hub.runner().ok_or(OpenError::NoRunner)?;
        self.open_by(self.link.as_ref(), &runner, hub.id).await
    }

    /// Opens an output stream on a link of this server on behalf of another.
    pub(super) async fn lend(
        &self,
        links: &dyn OutputLink,
        runner: &RunnerId,
        id: ExecutionId,
    ) -> Result<Option<LentOutput>, NotLent> {
        match self.open_by(links, runner, id).await {
            Ok(Push { incoming, outgoing }) => Ok(Some(LentOutput { incoming, outgoing })),
            Err(OpenError::Missing) => Ok(None),
            Err(OpenError::NoRunner | OpenError::Unavailable(_) | OpenError::TooLate) => Err(NotLent),
        }
    }

    async fn open_by(
        &self,
        link: &dyn OutputLink,
        runner: &RunnerId,
        id: ExecutionId,
    ) -> Result<Push, OpenError> {
        let (ticket, opened) = self.tickets.issue(id, runner.clone());
        link.open_output(runner, id, ticket.text()).await?;
        match timeout(self.limits.open_wait, opened).await {
            Ok(Ok(Opened::Push(push))) => Ok(push),
            Ok(Ok(Opened::Missing)) => Err(OpenError::Missing),
            Ok(Err(oneshot::error::RecvError { .. })) | Err(_) => Err(OpenError::TooLate),
        }
    }

    /// Serves the demand until the stream ends. Also returns whether the runner has answered any read.
    async fn serve(&self, hub: &Hub, push: Push) -> (End, bool) {
        let Push { mut incoming, outgoing } = push;
        let mut waiting = VecDeque::new();
        let mut idle_since = None;
        let mut answered = false;
        loop {
            let now = Instant::now();
            // Do not request more while the transport is blocked.
            if waiting.len() < OUTGOING {
                match hub.plan(now) {
                    Ok(messages) => waiting.extend(messages),
                    Err(violation) => return (End::Misbehaved(violation), answered),
                }
            }
            idle_since = hub.is_idle().then(|| idle_since.unwrap_or(now));
            let idle_until = idle_since.map(|since: Instant| since + self.limits.idle_close);
            let silent_until = hub.silent_since().map(|since| since + self.limits.read_timeout);
            if hub.is_retired() || idle_until.is_some_and(|until| until <= now) {
                return (End::Unwanted, answered);
            }
            if silent_until.is_some_and(|until| until <= now) {
                return (End::Misbehaved(Violation::Silent), answered);
            }
            let next = idle_until.into_iter().chain(silent_until).min();
            tokio::select! {
                permit = outgoing.reserve(), if !waiting.is_empty() => match (permit, waiting.pop_front()) {
                    (Ok(permit), Some(message)) => permit.send(message),
                    _ => return (End::Broken, answered),
                },
                message = incoming.next() => match message {
                    Some(Ok(message)) => match hub.take(message, Instant::now()) {
                        Ok(()) => answered = true,
                        Err(violation) => return (End::Misbehaved(violation), answered),
                    },
                    Some(Err(error)) => {
                        tracing::debug!(execution_id = %hub.id, %error, "an output stream failed");
                        return (End::Broken, answered);
                    }
                    None => return (End::Broken, answered),
                },
                () = hub.wake.notified() => {}
                () = sleep_until(next.unwrap_or(now + FAR)) => {}
            }
        }
    }
}

/// A wake-up without effect, longer than any limit.
const FAR: Duration = Duration::from_secs(3600);
