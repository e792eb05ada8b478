//! The engine: what the gRPC edge calls, and the tasks that drive every execution to an outcome.
//!
//! The truth is in the store; what the engine holds in memory are hints, clocks and links, and it can
//! lose them at any time. No generated protobuf type, no `tonic::Status`.

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

use airlock_proto::domain::{
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

/// Encodes a decision, made by the profile of this name, as `airlock.v1.Decision`.
pub type DecisionEncoder = fn(&airlock_policy::Decision, &str) -> Vec<u8>;

/// How the engine takes part in traces without knowing how they are carried.
#[derive(Debug, Clone, Copy)]
pub struct TraceHooks {
    /// Makes the span a child of the one that this W3C `traceparent` names; empty: of none.
    pub adopt: fn(&tracing::Span, &str),
    /// The W3C `traceparent` of the current span; empty without one.
    pub current: fn() -> String,
}

impl Default for TraceHooks {
    fn default() -> Self {
        Self { adopt: |_, _| {}, current: String::new }
    }
}

/// What the engine is made of.
pub struct EngineParts {
    /// The truth.
    pub store: Arc<dyn Store>,
    /// What policy decides by, and what sandboxes are built from.
    pub profiles: LiveProfiles,
    /// The runners; made first, because the streams need it too.
    pub links: Links,
    /// Takes the output of what has ended.
    pub output: Arc<dyn OutputKeeper>,
    /// Looks at files of sessions.
    pub files: Arc<dyn FileLook>,
    /// Wakes those who wait for an execution.
    pub changes: Changes,
    /// The other servers of the store.
    pub fleet: Fleet,
    /// Names this server in leases.
    pub server_id: String,
    /// Where other servers reach this one; none where they cannot.
    pub advertise: Option<String>,
    /// At most so much of everything.
    pub limits: EngineLimits,
    /// The contract's encoding of decisions.
    pub encode_decision: DecisionEncoder,
    /// How traces are carried.
    pub trace: TraceHooks,
    /// Counts what happens.
    pub observer: Arc<dyn Observer>,
}

/// Why the engine did not start.
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
    /// This command, this once.
    AllowOnce,
    /// This command, and what the rules cover from then on.
    AllowAndRemember {
        /// For what they count.
        scope: RuleScope,
        /// Empty: those that the decision suggests.
        rules: Vec<String>,
    },
    /// No.
    Deny {
        /// Shown to the agent.
        reason: String,
    },
}

/// The state of a runner as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunnerState {
    /// It has a link.
    Connected,
    /// It has none just now.
    Unreachable,
    /// It takes no new work.
    Draining,
    /// It was away for too long.
    Lost,
}

/// A runner as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerView {
    /// As it introduced itself.
    pub record: RunnerRecord,
    /// Whether it can be reached.
    pub state: RunnerState,
    /// Executions that it was given and that have not finished, as far as this server knows.
    pub running: u32,
}

/// The engine. A cheap handle; all clones are one.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
}

impl Engine {
    /// Takes over what has not finished, attaches to the links and begins to drive. Call it once.
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

    /// What policy decides by now, for the edge.
    #[must_use]
    pub fn profiles(&self) -> Arc<Profiles> {
        self.core.parts.profiles.now()
    }

    /// The links, for the edge.
    #[must_use]
    pub fn links(&self) -> &Links {
        &self.core.parts.links
    }

    /// Makes a session and waits, at most `open_wait`, until it is usable.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the profile, `Exhausted` over a limit, `AlreadyExists`,
    /// `Unavailable` without a runner, `FailedPrecondition` if no runner could ever take it.
    pub async fn create_session(
        &self,
        who: &Principal,
        request: CreateSession,
    ) -> Result<SessionRecord, ApiError> {
        self.core.create_session(who, request).await
    }

    /// One session of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        self.core.session(who, id).await
    }

    /// A session of the caller's tenant whose files are to be worked on: it is `OPEN`, and is not idle
    /// until what this gives is dropped.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`).
    pub async fn session_for_files(&self, who: &Principal, id: SessionId) -> Result<SessionInUse, ApiError> {
        self.core.session_in_use(who, id).await
    }

    /// Sessions of the caller's tenant, newest first. The query's tenant is set here.
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

    /// Changes an open session; this is a use of it.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`), `Invalid` for
    /// a mode that the profile does not permit.
    pub async fn update_session(
        &self,
        who: &Principal,
        id: SessionId,
        update: UpdateSession,
    ) -> Result<SessionRecord, ApiError> {
        self.core.update_session(who, id, update).await
    }

    /// Ends what runs in a session and has its runner remove it; waits for that at most `close_wait`,
    /// and then returns it as it is.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn close_session(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        self.core.close_session(who, id).await
    }

    /// Decides a command and, if it may run, queues it.
    ///
    /// # Errors
    /// `Denied` with the finished execution, `AlreadyExists`, `NotFound`, `FailedPrecondition`,
    /// `Invalid`, `Exhausted`, `Unavailable`.
    pub async fn start(&self, who: &Principal, request: StartExecution) -> Result<ExecutionRecord, ApiError> {
        self.core.start(who, request).await
    }

    /// One execution of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn execution(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        self.core.execution(who, id).await
    }

    /// Executions of the caller's tenant, newest first. The query's tenant is set here.
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

    /// Asks for the end of an execution, and returns it as it then is.
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

    /// Sends a signal to every process of a command, and returns its execution as it was then.
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

    /// Changes the size of a command's terminal, and returns its execution as it was then.
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

    /// Sends a command to the background. Doing it again changes nothing.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`NOT_RUNNING`, `NO_BACKGROUND`).
    pub async fn detach(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        self.core.detach(who, id).await
    }

    /// The starts, backgroundings and ends of the tenant's executions, or a session's, as they happen.
    ///
    /// # Errors
    /// `NotFound` for the session, `Invalid` and `CursorOutOfRange` for the cursor, `Exhausted`,
    /// `Unavailable`.
    pub async fn watch(&self, who: &Principal, request: WatchExecutions) -> Result<WatchStream, ApiError> {
        self.core.watch(who, request).await
    }

    /// Waits until the execution has finished, at most `timeout`, and returns it as it then is.
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

    /// Decides a command without running it; also the name of the profile that decided.
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

    /// Approvals of the caller's tenant, oldest first. The query's tenant is set here.
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

    /// Answers an approval that was shown with this binding.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden` for one's own request, `FailedPrecondition` if it is no longer open or
    /// bound to something else, or the profile does not let it be remembered; `Invalid` for rules that do not cover
    /// it or cover much more; `Exhausted` with too many of them.
    pub async fn decide_approval(
        &self,
        who: &Principal,
        id: ApprovalId,
        binding: &[u8],
        answer: ApproverAnswer,
    ) -> Result<ApprovalRecord, ApiError> {
        self.core.decide_approval(who, id, binding, answer).await
    }

    /// Rules that were remembered in the caller's tenant, or in a session of it, oldest first.
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

    /// Runners by id, in these states; empty: all but `Lost`. A page may hold fewer than asked for.
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

    /// One runner, whatever its state.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn runner(&self, id: &RunnerId) -> Result<RunnerView, ApiError> {
        self.core.runner(id).await
    }

    /// Has a runner take no new work, or with `undo` take it again; returns it when it has said so, at most
    /// `drain_wait` later.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable` (`RUNNER_UNREACHABLE`) if it has no link or does not answer.
    pub async fn drain_runner(&self, id: &RunnerId, undo: bool) -> Result<RunnerView, ApiError> {
        self.core.drain_runner(id, undo).await
    }

    /// Of the runners that other servers had links to a moment ago, how many have a link to this one, and how many there
    /// are.
    #[must_use]
    pub fn coverage(&self) -> (usize, usize) {
        self.core.coverage()
    }

    /// Another server says that a session has something to do here. A session that is not there is nothing.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn nudged(&self, id: SessionId) -> Result<(), ApiError> {
        Ok(self.core.nudged(id).await?)
    }

    /// Stops: no new starts, leases handed over, links closed, tasks ended; within `stop_wait`.
    /// Commands go on on their runners.
    pub async fn shut_down(&self) {
        let core = &self.core;
        core.stop.cancel();
        core.tasks.close();
        let handed_over = async {
            core.tasks.wait().await;
            // Only now, so that no task renews them again.
            let handed = core.store().renew_leases(&core.parts.server_id, 0).await.map(drop);
            if let Err(error) = handed.and(core.leave().await) {
                tracing::warn!(%error, "leases could not be handed over; others wait until they are over");
            }
        };
        if tokio::time::timeout(core.parts.limits.stop_wait, handed_over).await.is_err() {
            tracing::warn!("the engine did not stop in time");
        }
        core.parts.links.close();
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
