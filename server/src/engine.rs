//! The engine: the operations that the gRPC layer calls, and the tasks that drive every execution to its end.
//!
//! The store holds the authoritative state. The engine keeps only hints, timers and links in memory, and can lose them
//! at any time. This module must not use generated protobuf types or `tonic::Status`.

mod core;
mod observer;
mod poll;
mod presence;
mod runners;
mod seats;
mod sink;
mod tend;
mod uses;
mod wake;
mod watch;
mod writing;

use std::{sync::Arc, time::Duration};

use airlock_domain::{
    ApprovalId, CancelledBy, ExecutionId, RuleId, RunnerId, SessionId, Signal, TerminalSize,
};

pub(crate) use self::{
    core::{Core, micros},
    runners::runner_unreachable,
    seats::Seat,
};
pub use self::{
    observer::{Levels, NoObserver, Observer},
    uses::SessionInUse,
    watch::WatchStream,
};
use crate::{
    api::{ApiError, CheckCommand, CreateSession, StartExecution, UpdateSession, WatchExecutions},
    approval::FileLook,
    changes::Changes,
    fleet::Fleet,
    limits::EngineLimits,
    links::{LinkSink, Links},
    model::{
        ApprovalRecord, ExecutionRecord, Principal, RememberedRule, RuleScope, RunnerRecord, SessionRecord,
    },
    placement,
    profiles::{LiveProfiles, Profiles},
    store::{ApprovalQuery, ExecutionQuery, Page, PageQuery, SessionQuery, Store},
    stream_door::OutputKeeper,
};

/// Encodes a decision by the profile with this name as `airlock.v1.Decision`.
pub type DecisionEncoder = fn(&airlock_policy::Decision, &str) -> Vec<u8>;

/// The trace context functions. They keep the engine independent of the tracing protocol.
#[derive(Debug, Clone, Copy)]
pub struct TraceHooks {
    /// Makes the span a child of the span in this W3C `traceparent`. An empty string means no parent.
    pub adopt: fn(&tracing::Span, &str),
    /// Returns the W3C `traceparent` of the current span, or an empty string.
    pub current: fn() -> String,
}

impl Default for TraceHooks {
    fn default() -> Self {
        Self { adopt: |_, _| {}, current: String::new }
    }
}

/// The dependencies of [`Engine`].
pub struct EngineParts {
    /// The authoritative state.
    pub store: Arc<dyn Store>,
    /// The profiles, for decisions and for sandboxes.
    pub profiles: LiveProfiles,
    /// The links to the runners. They exist before the engine, because the streams need them too.
    pub links: Links,
    /// Copies the output of ended executions.
    pub output: Arc<dyn OutputKeeper>,
    /// Reads the state of files in sessions.
    pub files: Arc<dyn FileLook>,
    /// Notifies tasks that wait for an execution.
    pub changes: Changes,
    /// The other servers of the store.
    pub fleet: Fleet,
    /// The name of this server in leases.
    pub server_id: String,
    /// The address of this server for other servers, or `None` if they cannot reach it.
    pub advertise: Option<String>,
    /// The limits of the engine.
    pub limits: EngineLimits,
    /// Encodes decisions for the contract.
    pub encode_decision: DecisionEncoder,
    /// The trace context functions.
    pub trace: TraceHooks,
    /// Receives events for telemetry.
    pub observer: Arc<dyn Observer>,
}

/// Why the engine failed to start.
#[derive(Debug, thiserror::Error)]
pub enum StartUpError {
    /// The limits contradict each other.
    #[error(transparent)]
    Limits(#[from] crate::limits::LimitError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
}

/// An approver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverAnswer {
    /// Allows this execution once.
    AllowOnce,
    /// Allows this execution and remembers rules for later ones.
    AllowAndRemember {
        /// The scope of the rules.
        scope: RuleScope,
        /// The rules. Empty selects those that the decision suggests.
        rules: Vec<String>,
    },
    /// Denies the execution.
    Deny {
        /// The reason, which is shown to the client.
        reason: String,
    },
}

/// The state of a runner in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunnerState {
    /// A server has a link to it.
    Connected,
    /// No server has a link to it now.
    Unreachable,
    /// It accepts no new work.
    Draining,
    /// It was unreachable for too long.
    Lost,
}

/// A runner in the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerView {
    /// The record from its last hello.
    pub record: RunnerRecord,
    /// The state of the runner.
    pub state: RunnerState,
    /// The number of its executions that have not finished, as known to this server.
    pub running: u32,
}

/// The engine. Clones are cheap and share the same state.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
}

impl Engine {
    /// Takes over unfinished executions, attaches to the links and starts the tasks. Call it once.
    ///
    /// # Errors
    /// The limits contradict each other, or the store cannot be read.
    pub async fn start_up(parts: EngineParts) -> Result<Self, StartUpError> {
        parts.limits.check(parts.profiles.now().longest_grace())?;
        let core = Arc::new(Core::new(parts).await?);
        poll::poll_once(&core).await?;
        core.spawn(placement::drive_sessions(core.clone()));
        core.spawn(placement::fill_vacancies(core.clone()));
        core.spawn(poll::poll_forever(core.clone()));
        let sink: Arc<dyn LinkSink> = core.clone();
        core.parts.links.attach(Arc::downgrade(&sink));
        Ok(Self { core })
    }

    /// Returns the current profiles.
    #[must_use]
    pub fn profiles(&self) -> Arc<Profiles> {
        self.core.parts.profiles.now()
    }

    /// Returns the links.
    #[must_use]
    pub fn links(&self) -> &Links {
        &self.core.parts.links
    }

    /// Creates a session and waits for at most `open_wait` until it is open.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the profile, `Exhausted` if a limit is reached, `AlreadyExists`, `Unavailable`
    /// without a runner, `FailedPrecondition` if no runner can ever match.
    pub async fn create_session(
        &self,
        who: &Principal,
        request: CreateSession,
    ) -> Result<SessionRecord, ApiError> {
        self.core.create_session(who, request).await
    }

    /// Returns a session of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        self.core.session(who, id).await
    }

    /// Returns an `OPEN` session of the caller's tenant for work on its files. The session does not count as idle until
    /// the result is dropped.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`).
    pub async fn session_for_files(&self, who: &Principal, id: SessionId) -> Result<SessionInUse, ApiError> {
        self.core.session_in_use(who, id).await
    }

    /// Lists sessions of the caller's tenant, newest first. Overrides the tenant of the query.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list_sessions(
        &self,
        who: &Principal,
        query: SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, ApiError> {
        self.core.list_sessions(who, query, page).await
    }

    /// Changes an open session. This counts as a use of the session.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`), `Invalid` for a mode
    /// that the profile does not permit.
    pub async fn update_session(
        &self,
        who: &Principal,
        id: SessionId,
        update: UpdateSession,
    ) -> Result<SessionRecord, ApiError> {
        self.core.update_session(who, id, update).await
    }

    /// Ends the executions of a session and tells its runner to remove it. Waits for at most `close_wait`, and then
    /// returns the session in its current state.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn close_session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        self.core.close_session(who, id).await
    }

    /// Decides a command and queues it if it may run.
    ///
    /// # Errors
    /// `Denied` with the finished execution, `AlreadyExists`, `NotFound`, `FailedPrecondition`, `Invalid`, `Exhausted`,
    /// `Unavailable`.
    pub async fn start(&self, who: &Principal, request: StartExecution) -> Result<ExecutionRecord, ApiError> {
        self.core.start(who, request).await
    }

    /// Returns an execution of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn execution(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        self.core.execution(who, id).await
    }

    /// Lists executions of the caller's tenant, newest first. Overrides the tenant of the query.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list_executions(
        &self,
        who: &Principal,
        query: ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, ApiError> {
        self.core.list_executions(who, query, page).await
    }

    /// Requests the end of an execution and returns its current record.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn cancel(
        &self,
        who: &Principal,
        id: ExecutionId,
        by: CancelledBy,
    ) -> Result<ExecutionRecord, ApiError> {
        self.core.cancel(who, id, by).await
    }

    /// Sends a signal to every process of a command and returns its current record.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`), `Unavailable` (`RUNNER_UNREACHABLE`).
    pub async fn signal(
        &self,
        who: &Principal,
        id: ExecutionId,
        signal: Signal,
    ) -> Result<ExecutionRecord, ApiError> {
        self.core.signal(who, id, signal).await
    }

    /// Changes the size of a command's terminal and returns its current record.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`, `NO_TERMINAL`), `Unavailable` (`RUNNER_UNREACHABLE`).
    pub async fn resize(
        &self,
        who: &Principal,
        id: ExecutionId,
        size: TerminalSize,
    ) -> Result<ExecutionRecord, ApiError> {
        self.core.resize(who, id, size).await
    }

    /// Moves a command to the background. Idempotent.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`, `NO_BACKGROUND`).
    pub async fn detach(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        self.core.detach(who, id).await
    }

    /// Streams the starts, moves to the background and ends of the executions of the tenant or of one session.
    ///
    /// # Errors
    /// `NotFound` for the session, `Invalid` and `CursorOutOfRange` for the cursor, `Exhausted`, `Unavailable`.
    pub async fn watch(&self, who: &Principal, request: WatchExecutions) -> Result<WatchStream, ApiError> {
        self.core.watch(who, request).await
    }

    /// Waits for at most `timeout` until the execution has finished, and returns its current record.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn wait(
        &self,
        who: &Principal,
        id: ExecutionId,
        timeout: Duration,
    ) -> Result<ExecutionRecord, ApiError> {
        self.core.wait(who, id, timeout).await
    }

    /// Decides a command without running it. Also returns the name of the profile.
    ///
    /// # Errors
    /// `NotFound` for a session or profile that the caller cannot use, `Invalid`.
    pub async fn check(
        &self,
        who: &Principal,
        request: CheckCommand,
    ) -> Result<(airlock_policy::Decision, String), ApiError> {
        self.core.check(who, request).await
    }

    /// Lists approvals of the caller's tenant, oldest first. Overrides the tenant of the query.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list_approvals(
        &self,
        who: &Principal,
        query: ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, ApiError> {
        self.core.list_approvals(who, query, page).await
    }

    /// Answers an approval. `binding` is the binding that the approver was shown.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` for the caller's own request; `FailedPrecondition` if the approval is no longer open,
    /// has another binding, or must not be remembered by its profile; `Invalid` for rules that do not cover the command
    /// or cover much more; `Exhausted` if there are too many rules.
    pub async fn decide_approval(
        &self,
        who: &Principal,
        id: ApprovalId,
        binding: &[u8],
        answer: ApproverAnswer,
    ) -> Result<ApprovalRecord, ApiError> {
        self.core.decide_approval(who, id, binding, answer).await
    }

    /// Lists remembered rules of the caller's tenant or of one of its sessions, oldest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list_rules(
        &self,
        who: &Principal,
        session_id: Option<SessionId>,
        page: &PageQuery,
    ) -> Result<Page<RememberedRule>, ApiError> {
        self.core.list_rules(who, session_id, page).await
    }

    /// Removes a remembered rule of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_rule(&self, who: &Principal, id: RuleId) -> Result<RememberedRule, ApiError> {
        self.core.remove_rule(who, id).await
    }

    /// Lists runners in these states by ID. Empty `states` selects all except `Lost`. A page may hold fewer items than
    /// requested.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list_runners(
        &self,
        states: &[RunnerState],
        page: &PageQuery,
    ) -> Result<Page<RunnerView>, ApiError> {
        self.core.list_runners(states, page).await
    }

    /// Returns a runner in any state.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn runner(&self, id: &RunnerId) -> Result<RunnerView, ApiError> {
        self.core.runner(id).await
    }

    /// Tells a runner to drain, or with `undo` to accept new work again. Waits for at most `drain_wait` for its
    /// confirmation.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable` (`RUNNER_UNREACHABLE`) if it has no link or does not answer.
    pub async fn drain_runner(&self, id: &RunnerId, undo: bool) -> Result<RunnerView, ApiError> {
        self.core.drain_runner(id, undo).await
    }

    /// Returns how many of the runners with a link to any other server have a link to this one, and their total number.
    #[must_use]
    pub fn coverage(&self) -> (usize, usize) {
        self.core.coverage()
    }

    /// Handles the hint of another server that a session has work here. Does nothing if the session does not exist.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn nudged(&self, id: SessionId) -> Result<(), ApiError> {
        Ok(self.core.nudged(id).await?)
    }

    /// Stops the engine within `stop_wait`: starts no more commands, ends the tasks, releases the leases and closes the
    /// links. Commands continue on their runners.
    pub async fn shut_down(&self) {
        let core = &self.core;
        core.stop.cancel();
        core.tasks.close();
        let handed_over = async {
            core.tasks.wait().await;
            // The tasks have ended, so the leases are not renewed again.
            let handed = core.store().renew_leases(&core.parts.server_id, 0).await.map(drop);
            if let Err(error) = handed.and(core.leave().await) {
                tracing::warn!(%error, "cannot release the leases of executions; other servers take over when they expire");
            }
        };
        if tokio::time::timeout(core.parts.limits.stop_wait, handed_over).await.is_err() {
            tracing::warn!("engine did not stop in time; other servers take over when its leases expire");
        }
        core.parts.links.close();
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
