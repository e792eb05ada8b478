//! The registry of connected runners, and the handle of one link.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use airlock_domain::{Epoch, ExecutionId, FromRunner, RunnerHello, RunnerId, ToRunner};
use airlock_output::stream::{LinkUnavailable, OutputLink};
use airlock_proto::{LINK_PROTOCOL_OLDEST, LINK_PROTOCOL_VERSION};
use tokio::sync::mpsc;

use super::{
    hello::{LinkError, LinkRefusal},
    link::Link,
};
use crate::{exchange::ExchangeLink, limits::ServiceLimits};

/// The number of fenced epochs that are remembered per runner.
const FENCED_EPOCHS: usize = 16;

/// The receiver of the links' events. It outlives every call.
#[async_trait::async_trait]
pub(crate) trait LinkSink: Send + Sync {
    /// A runner connects. Its messages are processed after this returns. Returns the runner's previous epoch
    /// if it differs.
    async fn arrived(&self, hello: &RunnerHello) -> Result<Option<Epoch>, LinkRefusal>;
    /// The runner has sent a message.
    async fn heard(&self, link: &Arc<Link>, message: FromRunner) -> Result<(), LinkError>;
    /// The link has ended, and no other has replaced it.
    fn gone(&self, link: &Arc<Link>);
}

/// The links of this server. A cheap handle; all clones share the same state.
#[derive(Clone)]
pub struct Links {
    inner: Arc<Inner>,
}

struct Inner {
    server_id: String,
    limits: ServiceLimits,
    sink: OnceLock<Weak<dyn LinkSink>>,
    body: Mutex<Body>,
}

#[derive(Default)]
struct Body {
    live: HashMap<RunnerId, Arc<Link>>,
    fenced: HashMap<RunnerId, VecDeque<Epoch>>,
    closed: bool,
}

impl Body {
    fn fence(&mut self, runner: &RunnerId, epoch: Epoch, at_most: usize) {
        if self.fenced.len() > 2 * at_most {
            let live = &self.live;
            self.fenced.retain(|runner, _| live.contains_key(runner));
        }
        let epochs = self.fenced.entry(runner.clone()).or_default();
        if !epochs.contains(&epoch) {
            epochs.push_back(epoch);
        }
        if epochs.len() > FENCED_EPOCHS {
            epochs.pop_front();
        }
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").field("live", &self.body().live.len()).finish_non_exhaustive()
    }
}

impl Links {
    /// Creates a registry without links. [`crate::services::Services::start_up`] attaches their receiver. Until then,
    /// every runner gets an error with a retry delay.
    #[must_use]
    pub fn new(server_id: impl Into<String>, limits: ServiceLimits) -> Self {
        let inner = Inner {
            server_id: server_id.into(),
            limits,
            sink: OnceLock::new(),
            body: Mutex::new(Body::default()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Checks that a runner with this version of the link protocol may connect.
    ///
    /// # Errors
    /// Returns [`LinkRefusal::Version`].
    pub fn check_version(theirs: u32) -> Result<(), LinkRefusal> {
        let ours = LINK_PROTOCOL_VERSION;
        if !(LINK_PROTOCOL_OLDEST..=ours).contains(&theirs) {
            return Err(LinkRefusal::Version { theirs, ours });
        }
        Ok(())
    }

    /// Connects an authenticated runner by its Hello. `Welcome` is the first outgoing message of the handle.
    ///
    /// # Errors
    /// Returns the reason why the runner is refused, possibly only for now.
    pub async fn connect(&self, hello: RunnerHello) -> Result<LinkHandle, LinkRefusal> {
        let theirs = hello.protocol_version;
        Self::check_version(theirs)?;
        self.check_room(&hello)?;
        let sink = self.sink().ok_or_else(starting)?;
        let before = sink.arrived(&hello).await?;

        let (sender, receiver) = mpsc::channel(self.inner.limits.link_queue);
        let welcome = ToRunner::Welcome {
            server_id: self.inner.server_id.clone(),
            protocol_version: theirs,
            heartbeat_interval: self.inner.limits.heartbeat_interval,
            link_grace: self.inner.limits.link_grace,
            takes_questions: true,
        };
        let link = Arc::new(Link::new(hello, sender));
        link.send(welcome, Duration::ZERO).await.map_err(|_| starting())?;
        self.enter(&link, before)?;
        Ok(LinkHandle { links: self.clone(), link, outgoing: Some(receiver) })
    }

    /// Returns the connected runners, ordered by ID.
    #[must_use]
    pub fn connected(&self) -> Vec<RunnerId> {
        let mut ids: Vec<_> = self.body().live.keys().cloned().collect();
        ids.sort();
        ids
    }

    /// Ends every link and refuses new ones. Runners keep their jobs and connect to other servers.
    pub fn close(&self) {
        let live = {
            let mut body = self.body();
            body.closed = true;
            std::mem::take(&mut body.live)
        };
        for link in live.values() {
            link.end("the server is stopping");
        }
    }

    pub(crate) fn attach(&self, sink: Weak<dyn LinkSink>) {
        // A second receiver would be an error in the wiring. The first one remains.
        let _ = self.inner.sink.set(sink);
    }

    pub(crate) fn get(&self, runner: &RunnerId) -> Option<Arc<Link>> {
        self.body().live.get(runner).filter(|link| !link.has_ended()).cloned()
    }

    /// Sends a message to a runner on this server's own link.
    ///
    /// # Errors
    /// Returns an error if no link exists or it has just ended.
    pub async fn tell(&self, runner: &RunnerId, message: ToRunner) -> Result<(), LinkUnavailable> {
        let link = self.get(runner).ok_or(LinkUnavailable::NotConnected)?;
        link.send(message, self.inner.limits.send_wait).await
    }

    pub(crate) fn all(&self) -> Vec<Arc<Link>> {
        self.body().live.values().cloned().collect()
    }

    async fn received(&self, link: &Arc<Link>, message: FromRunner) -> Result<(), LinkError> {
        if link.has_ended() {
            return Err(link.ended().await);
        }
        let sink = self.sink().ok_or(LinkError::Ended("the server is stopping"))?;
        link.heard();
        let done = tokio::select! {
            biased;
            error = link.ended() => Err(error),
            done = sink.heard(link, message) => done,
        };
        link.heard();
        done
    }

    /// Removes a link unless another has replaced it.
    fn lost(&self, link: &Arc<Link>) {
        link.end("the runner disconnected");
        let removed = {
            let mut body = self.body();
            let runner = &link.hello.runner_id;
            let is_this = body.live.get(runner).is_some_and(|live| Arc::ptr_eq(live, link));
            is_this && body.live.remove(runner).is_some()
        };
        if removed && let Some(sink) = self.sink() {
            sink.gone(link);
        }
    }

    fn check_room(&self, hello: &RunnerHello) -> Result<(), LinkRefusal> {
        let body = self.body();
        if body.closed {
            return Err(LinkRefusal::Unavailable { reason: "the server is stopping".to_owned() });
        }
        let fenced = body.fenced.get(&hello.runner_id);
        if fenced.is_some_and(|epochs| epochs.contains(&hello.epoch)) {
            return Err(LinkRefusal::Fenced);
        }
        let limit = self.inner.limits.runners;
        let is_new = !body.live.contains_key(&hello.runner_id);
        if is_new && body.live.len() >= limit as usize {
            return Err(LinkRefusal::TooMany { limit });
        }
        Ok(())
    }

    /// Enters a link. The limits are checked again, because time has passed since the first check.
    fn enter(&self, link: &Arc<Link>, before: Option<Epoch>) -> Result<(), LinkRefusal> {
        self.check_room(&link.hello)?;
        let mut body = self.body();
        let hello = &link.hello;
        let old = body.live.insert(hello.runner_id.clone(), link.clone());
        for epoch in old.iter().map(|old| old.hello.epoch).chain(before) {
            if epoch != hello.epoch {
                body.fence(&hello.runner_id, epoch, self.inner.limits.runners as usize);
            }
        }
        if let Some(old) = old {
            let same = old.hello.epoch == hello.epoch;
            old.end(if same { "the runner has opened a new link" } else { "the runner was restarted" });
        }
        Ok(())
    }

    fn sink(&self) -> Option<Arc<dyn LinkSink>> {
        self.inner.sink.get().and_then(Weak::upgrade)
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.inner.body.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle of a link for the gRPC edge. Dropping it marks the link as lost.
#[derive(Debug)]
pub struct LinkHandle {
    links: Links,
    link: Arc<Link>,
    outgoing: Option<mpsc::Receiver<ToRunner>>,
}

impl LinkHandle {
    /// Returns the messages for the runner, `Welcome` first. The channel closes when the server ends the
    /// link. Returns `None` on a second call.
    pub fn outgoing(&mut self) -> Option<mpsc::Receiver<ToRunner>> {
        self.outgoing.take()
    }

    /// Processes a message of the runner and returns when it is stored. Messages must be passed in order, one
    /// at a time. Cancel-safe: the runner repeats a message that was not stored on its next link.
    ///
    /// # Errors
    /// Returns an error if the link must be closed. The runner may connect again.
    pub async fn received(&self, message: FromRunner) -> Result<(), LinkError> {
        self.links.received(&self.link, message).await
    }

    /// Returns when the server has ended the link, with the reason.
    pub async fn ended(&self) -> LinkError {
        self.link.ended().await
    }
}

impl Drop for LinkHandle {
    fn drop(&mut self) {
        self.links.lost(&self.link);
    }
}

fn starting() -> LinkRefusal {
    LinkRefusal::Unavailable { reason: "the server is not ready yet".to_owned() }
}

#[async_trait::async_trait]
impl OutputLink for Links {
    async fn open_output(
        &self,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable> {
        self.tell(runner, ToRunner::OpenOutput { execution_id: execution, ticket: ticket.to_owned() }).await
    }

    async fn forget_job(&self, runner: &RunnerId, execution: ExecutionId) -> Result<(), LinkUnavailable> {
        self.tell(runner, ToRunner::ForgetJob { execution_id: execution }).await
    }
}

#[async_trait::async_trait]
impl ExchangeLink for Links {
    async fn open_exchange(&self, runner: &RunnerId, ticket: &str) -> Result<(), LinkUnavailable> {
        self.tell(runner, ToRunner::OpenExchange { ticket: ticket.to_owned() }).await
    }
}
