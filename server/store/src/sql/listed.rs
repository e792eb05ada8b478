//! The records of lists: their sort key and their size. Independent of the engine.

use std::{fmt::Display, str::FromStr};

use airlock_domain::{ApprovalId, ExecutionId, InlineOutput, NetworkRules, RuleId, RunnerId, SessionId};

use crate::record::{
    ApprovalRecord, AuditRecord, ExecutionRecord, RememberedRule, RunnerRecord, SessionRecord,
};

/// A record of a list.
pub(crate) trait Listed {
    /// The ID that the list is ordered by.
    type Id: FromStr + Display;

    /// Returns its ID.
    fn id(&self) -> Self::Id;
    /// Returns the approximate size in memory, in bytes.
    fn bytes(&self) -> usize;
}

impl Listed for SessionRecord {
    type Id = SessionId;

    fn id(&self) -> SessionId {
        self.id
    }

    fn bytes(&self) -> usize {
        let network = self.network.as_ref().map_or(0, NetworkRules::bytes);
        let env: usize = self.env.values().map(Vec::len).sum();
        env + self.directory.len() + self.snapshot.text.len() + network
    }
}

impl Listed for ExecutionRecord {
    type Id = ExecutionId;

    fn id(&self) -> ExecutionId {
        self.id
    }

    fn bytes(&self) -> usize {
        let env: usize = self.spec.command.env.values().map(Vec::len).sum();
        let network = self.spec.command.network.as_ref().map_or(0, NetworkRules::bytes);
        let inline = self.result.as_ref().and_then(|result| result.inline.as_deref());
        let inline = inline.map_or(0, InlineOutput::text_bytes);
        env + network + self.spec.command.text.len() + self.decision.encoded.len() + inline
    }
}

impl Listed for ApprovalRecord {
    type Id = ApprovalId;

    fn id(&self) -> ApprovalId {
        self.id
    }

    fn bytes(&self) -> usize {
        self.command.len() + self.decision.encoded.len()
    }
}

impl Listed for AuditRecord {
    type Id = i64;

    fn id(&self) -> i64 {
        self.sequence
    }

    fn bytes(&self) -> usize {
        self.command.len()
    }
}

impl Listed for RunnerRecord {
    type Id = RunnerId;

    fn id(&self) -> RunnerId {
        self.id.clone()
    }

    fn bytes(&self) -> usize {
        self.capabilities.iter().map(|capability| capability.detail.len()).sum()
    }
}

impl Listed for RememberedRule {
    type Id = RuleId;

    fn id(&self) -> RuleId {
        self.id
    }

    fn bytes(&self) -> usize {
        self.rule.len()
    }
}
