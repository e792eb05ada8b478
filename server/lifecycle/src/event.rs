//! The events of an execution: everything that can change it after its creation. Plain data.

use airlock_domain::{ApprovalId, BackgroundedBy, CancelledBy, Cause, DeniedBy, Epoch, LinkState, RunnerId};

use crate::{
    output::OutputEvent,
    owner::{Lease, OwnerEvent},
    question::{Question, Redecision},
    report::Reported,
};

/// An event of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The end of the execution was requested.
    CancelRequested {
        /// The origin of the request.
        by: CancelledBy,
    },
    /// The approval of the execution was answered, or has expired.
    Answered {
        /// The approval.
        approval: ApprovalId,
        /// The answer.
        answer: Answer,
    },
    /// The session of the execution could not be opened.
    SessionFailed {
        /// The cause of the end.
        cause: Cause,
    },
    /// The session of the execution has ended.
    SessionEnded {
        /// Whether it was lost with its runner. If not, it was closed.
        lost: bool,
    },
    /// The execution cannot be placed.
    NotPlaced {
        /// The cause of the end.
        cause: Cause,
    },
    /// The repeated decision changed, and the execution stays queued.
    DecidedAgain {
        /// The new decision.
        decision: Redecision,
    },
    /// The repeated decision asks a person.
    AskedAgain(Box<Question>),
    /// The repeated decision denies the command, or asks although the request does not wait for a person.
    DeniedAgain {
        /// The new decision.
        decision: Redecision,
        /// The denial.
        by: DeniedBy,
    },
    /// The execution is offered to a runner. The offer is not repeated if another writer was first.
    Offered(Box<Offered>),
    /// An offer was not accepted and can no longer be accepted.
    TakenBack {
        /// The number of the offer.
        attempt: u32,
        /// The origin of a cancel request, if there was one.
        by: CancelledBy,
    },
    /// The runner reported its job.
    Reported(Box<Reported>),
    /// The runner of the execution can be reached, or cannot.
    LinkSeen(LinkState),
    /// The runner no longer has the execution.
    Lost {
        /// The number of the offer.
        attempt: u32,
        /// Whether the runner has reconnected, so that its output can be read.
        is_back: bool,
    },
    /// The execution moves to the background.
    Backgrounded {
        /// The reason.
        by: BackgroundedBy,
    },
    /// An event that can change the owner. A change is not repeated if another writer was first.
    Owner(OwnerEvent),
    /// An event that concerns the output of an ended execution.
    Output(OutputEvent),
}

/// The answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Allowed.
    Allowed,
    /// Denied.
    Denied {
        /// The approver's reason.
        reason: String,
    },
    /// Not answered in time.
    Expired,
}

/// An offer to a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The runner.
    pub runner: RunnerId,
    /// Its epoch.
    pub epoch: Epoch,
    /// The lease of the server that makes the offer.
    pub lease: Lease,
    /// The decision of the offer, if it differs from the stored one.
    pub decision: Option<Redecision>,
}

impl Event {
    /// Reports whether the transition of this event is written only if no other writer was first.
    #[must_use]
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Offered(_) | Self::Owner(_))
    }
}
