//! Remembered rules. Plain data.

use airlock_domain::{ApprovalId, RuleId, SessionId};
use airlock_lifecycle::record::Micros;

/// The scope of a remembered rule, ordered from narrow to wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleScope {
    /// The session of the approved command.
    Session,
    /// The tenant's sessions with the same profile.
    Tenant,
}

impl RuleScope {
    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Tenant => "tenant",
        }
    }
}

/// A rule that an approver added with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedRule {
    /// Created by the server.
    pub id: RuleId,
    /// Its tenant.
    pub tenant: String,
    /// The session that it applies to. `None`: all of the tenant's sessions with its profile.
    pub session_id: Option<SessionId>,
    /// The profile that it applies to.
    pub profile: String,
    /// The rule, in the syntax of a profile.
    pub rule: String,
    /// The approval that it was added with.
    pub approval_id: ApprovalId,
    /// The approver.
    pub decided_by: String,
    /// The time of its creation.
    pub created: Micros,
}

impl RememberedRule {
    /// Returns its scope.
    #[must_use]
    pub fn scope(&self) -> RuleScope {
        if self.session_id.is_some() { RuleScope::Session } else { RuleScope::Tenant }
    }
}
