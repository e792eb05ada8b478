//! The change of one execution that a store writes in one transaction. Plain data.

use airlock_domain::{
    BackgroundedBy, Epoch, ExecutionResult, ExecutionState, LinkState, OutputState, RunnerId,
};

use crate::{
    question::{Question, Redecision},
    record::{ApprovalRecord, DecisionRecord},
};

/// A change of an execution. `None` leaves a field unchanged. Only [`decide`](crate::decide) and
/// [`change_owner`](crate::change_owner) build it.
///
/// These changes raise the version by one and add an entry to the history: a change of state, link or owner, an offer,
/// a new approval, and a move to the background. A renewed lease of the same owner, a decision, a cancel request and a
/// change of the output's state leave the version unchanged. Each of them is written on its own, so no writer
/// overwrites another.
///
/// * Only `STARTING` and `RUNNING` have a link.
/// * A step out of `PENDING_APPROVAL` withdraws an approval that is still open.
/// * An offer and `STARTING` require each other.
/// * A `FINISHED` execution accepts only a lease and a state of its output.
/// * Only an execution that is and stays `RUNNING` can be moved to the background, and only once. It is not serial from
///   then on.
/// * If the execution does not move its session ([`moves_session`](crate::record::ExecutionRecord::moves_session)), its
///   result states that the directory was not kept, regardless of the runner's report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transition {
    /// The new state. It must be a permitted successor, or equal to the current state for a change of link only.
    pub state: Option<ExecutionState>,
    /// The new link.
    pub link: Option<Option<LinkState>>,
    /// The runner and its epoch for an offer. An offer also raises `attempt` by one.
    pub offer: Option<(RunnerId, Epoch)>,
    /// The owning server, and the duration of its lease in microseconds.
    pub lease: Option<(String, i64)>,
    /// A new decision, and its directory.
    pub decision: Option<(DecisionRecord, Vec<u8>)>,
    /// A new approval for an execution that waits for an approver (again), and its validity in microseconds.
    pub approval: Option<(ApprovalRecord, i64)>,
    /// Whether a client requested the end of the execution.
    pub cancel_requested: Option<bool>,
    /// Moves the execution to the background.
    pub backgrounded: Option<BackgroundedBy>,
    /// The new state of the output.
    pub output: Option<OutputState>,
    /// The result, together with `FINISHED`. It closes the audit entry, withdraws an open approval and updates the
    /// session's last use. If the result's directory was kept, it also changes the session's current directory.
    pub result: Option<ExecutionResult>,
}

impl Transition {
    /// Returns the transition to another state.
    pub(crate) fn to(state: ExecutionState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// Returns the transition that ends an execution with this result.
    pub(crate) fn finish(result: ExecutionResult) -> Self {
        Self { result: Some(result), ..Self::to(ExecutionState::Finished) }
    }

    /// Returns the transition to a new decision.
    pub(crate) fn decided(decision: Redecision) -> Self {
        Self { decision: Some(decision.into_parts()), ..Self::default() }
    }

    /// Returns the transition to a new question to a person.
    pub(crate) fn asks(question: Question) -> Self {
        Self {
            decision: Some(question.decision.into_parts()),
            approval: Some((question.approval, question.valid_micros)),
            ..Self::to(ExecutionState::PendingApproval)
        }
    }
}
