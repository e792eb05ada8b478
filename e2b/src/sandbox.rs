//! A sandbox: a session of Airlock with an ID, secrets and a timeout.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use airlock_client::Client;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    account::Account,
    process::Processes,
    refusal::{GONE, Kind, Refusal},
    token::AccessToken,
    watcher::Watchers,
};

/// What happens to a sandbox when its timeout expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnTimeout {
    /// The session is closed.
    Kill,
    /// The commands are ended, and the files are kept.
    Pause,
}

/// The part of a sandbox's state that changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    /// The time at which the timeout expires.
    pub(crate) end: Instant,
    /// The same time for people.
    pub(crate) end_at: SystemTime,
    pub(crate) is_paused: bool,
}

impl Life {
    /// Returns the state of a sandbox that runs for `timeout` from now.
    pub(crate) fn running(timeout: Duration) -> Self {
        Self { end: Instant::now() + timeout, end_at: SystemTime::now() + timeout, is_paused: false }
    }

    /// Returns the state of a paused sandbox that is kept for `time` from now.
    pub(crate) fn paused(time: Duration) -> Self {
        Self { is_paused: true, ..Self::running(time) }
    }
}

/// A sandbox of one API key.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) id: String,
    pub(crate) account: Arc<Account>,
    /// The ID of the session.
    pub(crate) session: String,
    pub(crate) token: AccessToken,
    /// The token for the ports of the sandbox.
    pub(crate) traffic_token: AccessToken,
    pub(crate) template: String,
    pub(crate) metadata: BTreeMap<String, String>,
    /// The environment of every command.
    pub(crate) envs: BTreeMap<String, String>,
    pub(crate) started: SystemTime,
    pub(crate) on_timeout: OnTimeout,
    /// The idempotency key of the request that created it.
    pub(crate) request: Option<String>,
    /// The longest timeout of a command.
    pub(crate) command_max: Duration,
    pub(crate) processes: Processes,
    pub(crate) watchers: Watchers,
    /// One permit for each stream.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) life: watch::Sender<Life>,
    /// Cancelled at the end of the sandbox.
    pub(crate) ended: CancellationToken,
    /// Returned at the end of the sandbox.
    pub(crate) place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Sandbox {
    pub(crate) fn client(&self) -> &Client {
        self.account.client()
    }

    /// Returns the sandbox if it runs.
    ///
    /// # Errors
    /// If it is paused. The SDKs take the text for the end of the sandbox.
    pub(crate) fn running(self: &Arc<Self>) -> Result<Arc<Self>, Refusal> {
        match self.life.borrow().is_paused {
            true => Err(Refusal::new(Kind::Gone, format!("{GONE}: it is paused; connect to it first"))),
            false => Ok(Arc::clone(self)),
        }
    }

    /// Returns a permit for a stream.
    ///
    /// # Errors
    /// If the sandbox has too many.
    pub(crate) fn stream(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Refusal::new(Kind::TooMany, "the sandbox has too many open streams; disconnect some first")
        })
    }

    /// Marks the end: streams are ended, and the place is free.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
