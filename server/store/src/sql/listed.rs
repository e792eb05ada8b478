//! The records of lists: their sort key and their size. Independent of the engine.

use airlock_domain::InlineOutput;

use crate::record::{
    ApprovalRecord, AuditRecord, ExecutionRecord, RememberedRule, RunnerRecord, SessionRecord,
};

/// A record of a list.
pub(crate) trait Listed {
    /// Returns the ID that the list is ordered by.
    fn id(&self) -> String;
    /// Returns the approximate size in memory, in bytes.
    fn bytes(&self) -> usize;
}

impl Listed for SessionRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.env.values().map(Vec::len).sum::<usize>() + self.directory.len() + self.snapshot.text.len()
    }
}

impl Listed for ExecutionRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        let env: usize = self.spec.command.env.values().map(Vec::len).sum();
        let inline = self.result.as_ref().and_then(|result| result.inline.as_deref());
        let inline = inline.map_or(0, InlineOutput::text_bytes);
        env + self.spec.command.text.len() + self.decision.encoded.len() + inline
    }
}

impl Listed for ApprovalRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.command.len() + self.decision.encoded.len()
    }
}

impl Listed for AuditRecord {
    fn id(&self) -> String {
        self.sequence.to_string()
    }

    fn bytes(&self) -> usize {
        self.command.len()
    }
}

impl Listed for RunnerRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.capabilities.iter().map(|capability| capability.detail.len()).sum()
    }
}

impl Listed for RememberedRule {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.rule.len()
    }
}
