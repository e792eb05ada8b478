//! The records that the state machine reads and changes: executions and their approvals.
//!
//! Plain data. This module must not access a store or use generated protobuf types.

mod values;

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    ApprovalId, BackgroundedBy, CommandSpec, Epoch, ExecutionId, ExecutionResult, ExecutionState, Given,
    LinkState, Mode, OutputState, RunnerId, SessionId,
};

pub use values::{ApprovalRecord, ApprovalState, AskedConnection, DecisionRecord, Micros, Verdict};

/// The specification of an execution: its command, and how the server treats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSpec {
    /// The command to run. Its directory is that of the latest decision.
    pub command: CommandSpec,
    /// The fields of `command` that the client set.
    pub given: Given,
    /// Runs in the background from the start.
    pub background: bool,
    /// The maximum time in the foreground. `None`: until the end.
    pub yield_after: Option<Duration>,
    /// The agent's description.
    pub description: String,
    /// Waits for an approver if policy asks. If false, the request fails.
    pub wait_for_approval: bool,
    /// The tighter of the session's mode and the request's.
    pub mode: Mode,
    /// Does not wait for other commands of the session.
    pub allow_concurrent: bool,
    /// Requests a run outside the sandbox.
    pub dangerously_disable_sandbox: bool,
    /// Labels from the client.
    pub labels: BTreeMap<String, String>,
}

/// An execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRecord {
    /// Created by the server.
    pub id: ExecutionId,
    /// Increases by one with each change of state.
    pub version: u64,
    /// Its session.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted it.
    pub principal: String,
    /// The client's key.
    pub request_id: Option<String>,
    /// SHA-256 of every field of the request that influences the run.
    pub request_hash: [u8; 32],
    /// Its specification.
    pub spec: ExecutionSpec,
    /// Its state.
    pub state: ExecutionState,
    /// Whether its runner can be reached. `None` if it is not on a runner.
    pub link: Option<LinkState>,
    /// The latest decision.
    pub decision: DecisionRecord,
    /// The runner that it was offered to.
    pub runner_id: Option<RunnerId>,
    /// The epoch that it was offered to.
    pub runner_epoch: Option<Epoch>,
    /// The number of offers.
    pub attempt: u32,
    /// The server that controls it.
    pub owner_server: Option<String>,
    /// The deadline of that server's lease.
    pub lease_until: Micros,
    /// The latest approval.
    pub approval_id: Option<ApprovalId>,
    /// A cancellation was requested.
    pub cancel_requested: bool,
    /// The reason why it runs in the background. `None` in the foreground.
    pub backgrounded: Option<BackgroundedBy>,
    /// The place of its output.
    pub output: OutputState,
    /// Set if and only if the state is `FINISHED`.
    pub result: Option<ExecutionResult>,
    /// The W3C trace context of the request.
    pub traceparent: String,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which it last became `QUEUED`.
    pub queued: Micros,
    /// The time at which it became `RUNNING`.
    pub started: Option<Micros>,
    /// The time at which it became `FINISHED`.
    pub ended: Option<Micros>,
}

/// The fields of an unfinished execution that determine its next step. Small regardless of the size of the
/// command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveExecution {
    /// Created by the server.
    pub id: ExecutionId,
    /// As in [`ExecutionRecord`].
    pub version: u64,
    /// Its session.
    pub session_id: SessionId,
    /// Its state.
    pub state: ExecutionState,
    /// Whether its runner can be reached.
    pub link: Option<LinkState>,
    /// The runner that it was offered to.
    pub runner_id: Option<RunnerId>,
    /// The number of offers.
    pub attempt: u32,
    /// The server that controls it.
    pub owner_server: Option<String>,
    /// The deadline of that server's lease.
    pub lease_until: Micros,
    /// The latest approval.
    pub approval_id: Option<ApprovalId>,
    /// That approval is no longer open.
    pub is_answered: bool,
    /// Waits for earlier commands of its session.
    pub serial: bool,
    /// Runs in the background.
    pub backgrounded: bool,
    /// The time at which it moves to the background.
    pub yields_at: Option<Micros>,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which it last became `QUEUED`.
    pub queued: Micros,
}

impl From<&ExecutionRecord> for LiveExecution {
    /// Assumes that the execution's approval, if there is one, is still open.
    fn from(record: &ExecutionRecord) -> Self {
        Self {
            id: record.id,
            version: record.version,
            session_id: record.session_id,
            state: record.state,
            link: record.link,
            runner_id: record.runner_id.clone(),
            attempt: record.attempt,
            owner_server: record.owner_server.clone(),
            lease_until: record.lease_until,
            approval_id: record.approval_id,
            is_answered: false,
            serial: record.is_serial(),
            backgrounded: record.backgrounded.is_some(),
            yields_at: record.yields_at(),
            created: record.created,
            queued: record.queued,
        }
    }
}

/// A change of state, as readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The execution's version after it.
    pub version: u64,
    /// The state after it.
    pub state: ExecutionState,
    /// The link after it.
    pub link: Option<LinkState>,
    /// The time of the change.
    pub at: Micros,
    /// Set with `PENDING_APPROVAL`, and when a connection of a running command begins to wait for an answer.
    pub approval_id: Option<ApprovalId>,
    /// Set from the step that moved the execution to the background.
    pub backgrounded_by: Option<BackgroundedBy>,
}

/// A step of an execution that watches report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Milestone {
    /// It became `RUNNING`.
    Started,
    /// It moved to the background.
    Backgrounded,
    /// It became `FINISHED`.
    Finished,
}

impl ExecutionRecord {
    /// Reports whether the execution waits for earlier commands of its session, and later ones wait for it.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        !self.spec.allow_concurrent && !self.decision.concurrency_safe && !self.has_left_order()
    }

    /// Reports whether the execution's last directory becomes the session's. This applies only to serial
    /// executions that stay in the foreground.
    #[must_use]
    pub fn moves_session(&self) -> bool {
        self.backgrounded.is_none() && !self.spec.allow_concurrent && !self.decision.concurrency_safe
    }

    /// Reports whether the execution has left the order for the background. A command with `background` keeps
    /// its turn until it runs.
    fn has_left_order(&self) -> bool {
        match self.backgrounded {
            None => false,
            Some(BackgroundedBy::Request) => {
                matches!(self.state, ExecutionState::Running | ExecutionState::Finished)
            }
            Some(BackgroundedBy::Client | BackgroundedBy::Budget) => true,
        }
    }

    /// Returns the time at which the execution moves to the background. `None` unless it runs in the
    /// foreground and has a `yield_after`.
    #[must_use]
    pub fn yields_at(&self) -> Option<Micros> {
        let in_foreground = self.state == ExecutionState::Running && self.backgrounded.is_none();
        let (started, budget) = self.started.zip(self.spec.yield_after).filter(|_| in_foreground)?;
        Some(started.after(budget))
    }
}
