//! The answer of an approver.

use airlock_store::record::RuleScope;

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
