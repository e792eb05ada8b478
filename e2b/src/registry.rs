//! All sandboxes, and their ends: by request, by timeout, and at the end of the front. They are not stored: after a restart
//! no sandbox is known, and Airlock closes the sessions after their idle timeout.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use airlock_client::v1::{
    ExecutionFilter, ExecutionServiceListRequest, ExecutionState, Mode, NetworkRules, PageRequest,
    SessionServiceCreateRequest, SessionServiceUpdateRequest,
};
use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    account::Account,
    config::LimitsConfig,
    process::Processes,
    refusal::{Kind, Refusal},
    sandbox::{Life, OnTimeout, Sandbox},
    token::{AccessToken, Signed, new_id},
    watcher::Watchers,
};

/// A session outlives the timeout of its sandbox by this time, so that the front ends it.
const MARGIN: Duration = Duration::from_secs(60);
/// The longest idle timeout of a session.
const IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The labels of a session that name its client and its sandbox.
const CLIENT: (&str, &str) = ("client", "airlock-e2b");
const LABEL: &str = "e2b-sandbox";
/// The time to close all sessions at the end.
const CLOSE: Duration = Duration::from_secs(20);
/// The time to end the commands of a sandbox that is paused.
const COMMANDS: Duration = Duration::from_secs(30);
/// The number of looks for commands to end.
const ROUNDS: usize = 3;
/// The longest timeout of a command if the profile does not state it.
const COMMAND_MAX: Duration = Duration::from_secs(1800);
/// The executions of one page.
const PAGE: i32 = 100;

/// A sandbox to create.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) template: String,
    pub(crate) base: String,
    pub(crate) timeout: Duration,
    pub(crate) on_timeout: OnTimeout,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) envs: BTreeMap<String, String>,
    pub(crate) network: Option<NetworkRules>,
    pub(crate) request: Option<String>,
}

/// All sandboxes.
#[derive(Debug)]
pub(crate) struct Registry {
    limits: LimitsConfig,
    by_id: RwLock<HashMap<String, Arc<Sandbox>>>,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl Registry {
    pub(crate) fn new(limits: LimitsConfig, ending: CancellationToken) -> Arc<Self> {
        Arc::new(Self { limits, by_id: RwLock::default(), tasks: TaskTracker::new(), ending })
    }

    pub(crate) fn limits(&self) -> &LimitsConfig {
        &self.limits
    }

    /// Returns the tracker of the front's tasks.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Returns the sandboxes of an account.
    pub(crate) fn of(&self, account: &Arc<Account>) -> Vec<Arc<Sandbox>> {
        let all = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        all.values().filter(|sandbox| Arc::ptr_eq(&sandbox.account, account)).cloned().collect()
    }

    /// Returns a sandbox of an account.
    ///
    /// # Errors
    /// If it does not exist. A sandbox of another account does not exist for the caller.
    pub(crate) fn find(&self, account: &Arc<Account>, id: &str) -> Result<Arc<Sandbox>, Refusal> {
        self.by_id(id)
            .filter(|sandbox| Arc::ptr_eq(&sandbox.account, account))
            .ok_or_else(|| Refusal::new(Kind::NotFound, format!("Sandbox {id} not found")))
    }

    /// Returns a sandbox of any account. The calling code must check an access token.
    pub(crate) fn by_id(&self, id: &str) -> Option<Arc<Sandbox>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Adds a sandbox without a session.
    #[cfg(test)]
    pub(crate) fn insert(&self, sandbox: &Arc<Sandbox>) {
        let mut all = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(sandbox.id.clone(), Arc::clone(sandbox));
    }

    /// Returns the sandbox whose token made a signature. The URL of a signed file names no sandbox.
    pub(crate) fn by_signature(&self, signed: &Signed<'_>) -> Option<Arc<Sandbox>> {
        let all = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
        all.values().find(|sandbox| sandbox.token.has_signed(signed)).cloned()
    }

    /// Creates a session and its sandbox.
    ///
    /// # Errors
    /// If the identity may use the mode `bypass`, if the account has too many sandboxes, and those of the server.
    pub(crate) async fn create(
        self: &Arc<Self>,
        account: &Arc<Account>,
        new: New,
    ) -> Result<Arc<Sandbox>, Refusal> {
        let place = Arc::clone(&account.places).try_acquire_owned().map_err(|_| {
            Refusal::new(Kind::TooMany, "the API key has its maximum number of sandboxes; kill some first")
        })?;
        let profile = account.profile().await?;
        let random = |error: getrandom::Error| Refusal::internal(error.to_string());
        let id = new_id().map_err(random)?;
        let request = SessionServiceCreateRequest {
            profile: profile.name.clone(),
            base: new.base,
            env: new.envs.clone(),
            labels: BTreeMap::from([
                (CLIENT.0.to_owned(), CLIENT.1.to_owned()),
                (LABEL.to_owned(), id.clone()),
            ]),
            idle_timeout: idle(new.timeout),
            network: new.network,
            ..Default::default()
        };
        let session = account.client().create_session(request).await?;
        let command_max = profile.timeout_max.and_then(|most| most.try_into().ok()).unwrap_or(COMMAND_MAX);
        let sandbox = Arc::new(Sandbox {
            id: id.clone(),
            account: Arc::clone(account),
            session: session.session_id.clone(),
            token: AccessToken::new().map_err(random)?,
            traffic_token: AccessToken::new().map_err(random)?,
            template: new.template,
            metadata: new.metadata,
            envs: new.envs,
            started: SystemTime::now(),
            on_timeout: new.on_timeout,
            request: new.request,
            command_max,
            processes: Processes::new(self.limits.processes),
            watchers: Watchers::new(self.limits.watchers),
            streams: Arc::new(Semaphore::new(usize::try_from(self.limits.streams).unwrap_or(usize::MAX))),
            life: watch::Sender::new(Life::running(new.timeout)),
            ended: self.ending.child_token(),
            place: Mutex::new(Some(place)),
        });
        self.by_id.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&sandbox));
        if session.mode() == Mode::Bypass {
            self.end(&sandbox).await;
            return Err(Refusal::new(
                Kind::Denied,
                "the session has the mode bypass, which no API key may use",
            ));
        }
        self.tasks.spawn(live(Arc::clone(self), Arc::clone(&sandbox)));
        Ok(sandbox)
    }

    /// Ends a sandbox: its streams, its commands and its session. Continues if the caller does not wait.
    pub(crate) async fn end(self: &Arc<Self>, sandbox: &Arc<Sandbox>) {
        if self.by_id.write().unwrap_or_else(PoisonError::into_inner).remove(&sandbox.id).is_none() {
            return;
        }
        sandbox.end();
        let sandbox = Arc::clone(sandbox);
        let closing = self.tasks.spawn(async move {
            if let Err(error) = sandbox.client().close_session(&sandbox.session).await {
                let refusal = Refusal::from(error);
                if !refusal.is_gone() {
                    eprintln!(
                        "airlock-e2b: session {} was not closed, and is closed after its idle timeout: {}",
                        sandbox.session, refusal.message
                    );
                }
            }
        });
        // The task does not panic.
        let _ = closing.await;
    }

    /// Sets the timeout of a sandbox, counted from now. A paused sandbox runs again.
    ///
    /// # Errors
    /// Those of the server.
    pub(crate) async fn run_for(&self, sandbox: &Sandbox, time: Duration) -> Result<(), Refusal> {
        self.keep(sandbox, time).await?;
        sandbox.life.send_replace(Life::running(time));
        Ok(())
    }

    /// Ends the commands of a sandbox and keeps its files.
    ///
    /// # Errors
    /// Those of the server. The sandbox is then not paused.
    pub(crate) async fn pause(&self, sandbox: &Sandbox) -> Result<(), Refusal> {
        self.keep(sandbox, self.limits.paused).await?;
        let before = sandbox.life.send_replace(Life::paused(self.limits.paused));
        match end_commands(sandbox).await {
            Ok(()) => Ok(()),
            Err(refusal) => {
                sandbox.life.send_replace(before);
                Err(refusal)
            }
        }
    }

    /// Makes Airlock keep a session for this time, also without a use.
    async fn keep(&self, sandbox: &Sandbox, time: Duration) -> Result<(), Refusal> {
        let request = SessionServiceUpdateRequest {
            session_id: sandbox.session.clone(),
            idle_timeout: idle(time),
            ..Default::default()
        };
        Ok(sandbox.client().update_session(request).await.map(drop)?)
    }

    /// Ends all sandboxes.
    ///
    /// # Errors
    /// Returns text if a session could not be closed in time.
    pub(crate) async fn close(self: &Arc<Self>) -> Result<(), String> {
        let all: Vec<_> =
            self.by_id.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut ends: FuturesUnordered<_> = all.iter().map(|sandbox| self.end(sandbox)).collect();
        let closed = async {
            while ends.next().await.is_some() {}
            self.tasks.close();
            self.tasks.wait().await;
        };
        timeout(CLOSE, closed).await.map_err(|_| {
            "a session could not be closed in time; it is closed after its idle timeout".to_owned()
        })
    }
}

fn idle(time: Duration) -> Option<prost_types::Duration> {
    prost_types::Duration::try_from(time.saturating_add(MARGIN).min(IDLE_MAX)).ok()
}

/// Follows the timeout of a sandbox to its end.
async fn live(registry: Arc<Registry>, sandbox: Arc<Sandbox>) {
    let mut changes = sandbox.life.subscribe();
    loop {
        let life = *changes.borrow_and_update();
        tokio::select! {
            () = sandbox.ended.cancelled() => return,
            changed = changes.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            () = sleep_until(life.end) => {}
        }
        let keeps = sandbox.on_timeout == OnTimeout::Pause && !life.is_paused;
        if !keeps || registry.pause(&sandbox).await.is_err() {
            registry.end(&sandbox).await;
            return;
        }
    }
}

/// Ends every command of a sandbox, and waits for their ends for a limited time.
async fn end_commands(sandbox: &Sandbox) -> Result<(), Refusal> {
    let (client, end) = (sandbox.client(), Instant::now() + COMMANDS);
    // A call that was already under way can start a further command.
    for _ in 0..ROUNDS {
        let ending = running(sandbox).await?;
        if ending.is_empty() {
            break;
        }
        for execution in &ending {
            client.cancel(execution).await?;
        }
        for execution in &ending {
            client.wait(execution, end.saturating_duration_since(Instant::now())).await?;
        }
    }
    Ok(())
}

/// Returns the IDs of a sandbox's executions that have not ended.
///
/// # Errors
/// Those of the server.
pub(crate) async fn running(sandbox: &Sandbox) -> Result<Vec<String>, Refusal> {
    let states = [
        ExecutionState::PendingApproval,
        ExecutionState::Queued,
        ExecutionState::Starting,
        ExecutionState::Running,
    ];
    let (mut found, mut token) = (Vec::new(), String::new());
    loop {
        let request = ExecutionServiceListRequest {
            page: Some(PageRequest { page_size: PAGE, page_token: token }),
            filter: Some(ExecutionFilter {
                session_id: sandbox.session.clone(),
                states: states.map(i32::from).to_vec(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let page = sandbox.client().executions(request).await?;
        found.extend(page.executions.into_iter().map(|execution| execution.execution_id));
        token = page.next_page_token;
        // The server bounds the commands of a session.
        if token.is_empty() {
            return Ok(found);
        }
    }
}
