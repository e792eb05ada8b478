//! Approvals. Plain data.

use airlock_domain::{ApprovalId, BoundFile, ExecutionId, SessionId, Shell};

use super::{decision::DecisionRecord, time::Micros};

/// The state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Not answered yet.
    Open,
    /// Allowed once.
    Allowed,
    /// Denied.
    Denied,
    /// Not answered in time.
    Expired,
    /// Its execution ended first.
    Withdrawn,
}

/// An approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Created by the server.
    pub id: ApprovalId,
    /// The execution that waits for it.
    pub execution_id: ExecutionId,
    /// The session of the execution.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// Its state.
    pub state: ApprovalState,
    /// The hash of the fields that the answer is bound to.
    pub binding: [u8; 32],
    /// The exact command.
    pub command: Vec<u8>,
    /// The shell that reads it.
    pub shell: Shell,
    /// Its working directory.
    pub directory: Vec<u8>,
    /// The agent's description.
    pub description: String,
    /// The decision.
    pub decision: DecisionRecord,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which it expires.
    pub expires: Micros,
    /// The approver. Empty while it is open.
    pub decided_by: String,
    /// The approver's reason.
    pub reason: String,
    /// The files that the command would run and that commands of its session can write, with their state when
    /// the approval was created.
    pub files: Vec<BoundFile>,
    /// The other bound fields: an encoded `airlock.v1.ApprovalTerms` with masked secrets. Empty if an older
    /// version created the approval.
    pub terms: Vec<u8>,
}
