//! Approvals, and the rules that answers leave behind. Plain data.

use airlock_proto::domain::{ApprovalId, BoundFile, ExecutionId, RuleId, SessionId, Shell};

use super::{DecisionRecord, Micros};

/// The state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Nobody has answered yet.
    Open,
    /// Allowed, once.
    Allowed,
    /// Denied.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// Its execution ended first.
    Withdrawn,
}

/// A command that waits, or waited, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Made by the server.
    pub id: ApprovalId,
    /// What waits for it.
    pub execution_id: ExecutionId,
    /// Where that would run.
    pub session_id: SessionId,
    /// Whose it is.
    pub tenant: String,
    /// Who asked.
    pub principal: String,
    /// Where it is in its life.
    pub state: ApprovalState,
    /// What the answer is bound to.
    pub binding: [u8; 32],
    /// Exactly what was asked.
    pub command: Vec<u8>,
    /// What would read it.
    pub shell: Shell,
    /// Where.
    pub directory: Vec<u8>,
    /// The agent's words.
    pub description: String,
    /// What policy said.
    pub decision: DecisionRecord,
    /// When it was asked.
    pub created: Micros,
    /// When it expires.
    pub expires: Micros,
    /// Who answered; empty while open.
    pub decided_by: String,
    /// What they wrote.
    pub reason: String,
    /// What it would run of what commands of its session can write, as it was when this was asked.
    pub files: Vec<BoundFile>,
    /// What else the answer is bound to: `airlock.v1.ApprovalTerms`, encoded, with secrets masked. Empty if an older
    /// version has asked.
    pub terms: Vec<u8>,
}

/// For what a remembered rule counts, from the least on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleScope {
    /// The session that asked.
    Session,
    /// The tenant's sessions of the same profile.
    Tenant,
}

impl RuleScope {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Tenant => "tenant",
        }
    }
}

/// A rule that somebody had remembered with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedRule {
    /// Made by the server.
    pub id: RuleId,
    /// Whose.
    pub tenant: String,
    /// The session that it counts in; none: every one of the tenant's with its profile.
    pub session_id: Option<SessionId>,
    /// The profile that it counts under.
    pub profile: String,
    /// As in a profile.
    pub rule: String,
    /// With which answer.
    pub approval_id: ApprovalId,
    /// Whose answer.
    pub decided_by: String,
    /// When.
    pub created: Micros,
}

impl RememberedRule {
    /// For what it counts.
    #[must_use]
    pub fn scope(&self) -> RuleScope {
        if self.session_id.is_some() { RuleScope::Session } else { RuleScope::Tenant }
    }
}
