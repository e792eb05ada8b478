//! Questions about connections of running commands: the runner holds a connection until a person has answered.
//!
//! The store has the truth. The runner repeats its open questions on each new link, so that a lost answer is sent again.
//! The runner's own time limit ends the wait in any case.

use airlock_domain::{
    ApprovalId, ConnectionAnswer, ConnectionAsked, ExecutionId, ToRunner, binding::BINDING_BYTES,
    limits::CONNECTION_WAIT_MAX,
};
use airlock_lifecycle::is_placed;
use airlock_store::{
    ConnectionQuestion, StoreError,
    record::{ApprovalRecord, ApprovalState, AskedConnection, ExecutionRecord, Micros},
};
use sha2::{Digest as _, Sha256};

use super::Approvals;
use crate::{links::Link, shared::micros};

impl Approvals {
    /// Creates the approval for a connection that waits on this runner, or sends the answer if there is one.
    pub(crate) async fn connection_asked(
        &self,
        link: &Link,
        asked: ConnectionAsked,
    ) -> Result<(), StoreError> {
        let record = self.store.execution(asked.execution_id).await?;
        let is_here = |record: &ExecutionRecord| {
            is_placed(record.state) && record.runner_id.as_ref() == Some(&link.hello.runner_id)
        };
        let Some(record) = record.filter(is_here) else {
            self.send_answer(link, &asked, unanswered("the command does not run any more")).await;
            return Ok(());
        };
        let approval = of_connection(&record, &asked);
        let valid = micros(asked.wait.min(CONNECTION_WAIT_MAX));
        let most = self.limits.connection_approvals_per_tenant;
        match self.store.ask_about_connection(&approval, valid, most).await? {
            ConnectionQuestion::Asked => self.changes_of(&record),
            ConnectionQuestion::Known(known) => {
                if let Some(answer) = answer_of(&known) {
                    self.send_answer(link, &asked, answer).await;
                }
            }
            ConnectionQuestion::Over => {
                self.send_answer(link, &asked, unanswered("the command does not run any more")).await;
            }
            ConnectionQuestion::Full => {
                let why = format!(
                    "the tenant has {most} open approvals of connections, the most that the server permits (`limits.connection_approvals_per_tenant`)"
                );
                self.send_answer(link, &asked, unanswered(&why)).await;
            }
        }
        Ok(())
    }

    /// Withdraws the approval of a connection that does not wait any more.
    pub(crate) async fn connection_gone(
        &self,
        link: &Link,
        execution: ExecutionId,
        approval: ApprovalId,
    ) -> Result<(), StoreError> {
        let record = self.store.execution(execution).await?;
        let is_here = record.is_some_and(|record| record.runner_id.as_ref() == Some(&link.hello.runner_id));
        if is_here {
            self.store.withdraw_question(execution, approval).await?;
        }
        Ok(())
    }

    /// Sends the answer about a connection to the runner of its execution, through any server with a link.
    pub(super) async fn tell_runner(&self, approval: &ApprovalRecord) -> Result<(), StoreError> {
        let Some(answer) = answer_of(approval) else { return Ok(()) };
        let Some(record) = self.store.execution(approval.execution_id).await? else { return Ok(()) };
        let Some(runner) = record.runner_id.filter(|_| is_placed(record.state)) else { return Ok(()) };
        let (execution_id, approval_id) = (approval.execution_id, approval.id);
        let message = ToRunner::AnswerConnection { execution_id, approval_id, answer };
        if let Err(error) = self.transitions.fleet.tell(&runner, message).await {
            tracing::debug!(%execution_id, %error, "answer not sent; the runner asks again on its next link");
        }
        Ok(())
    }

    fn changes_of(&self, record: &ExecutionRecord) {
        self.transitions.changes.notify(record.id);
        self.transitions.changes.notify_tenant(&record.tenant);
    }

    async fn send_answer(&self, link: &Link, asked: &ConnectionAsked, answer: ConnectionAnswer) {
        let (execution_id, approval_id) = (asked.execution_id, asked.approval_id);
        let message = ToRunner::AnswerConnection { execution_id, approval_id, answer };
        // If sending fails, the link has ended, and the runner asks again on the next one.
        let _ = link.send(message, self.limits.send_wait).await;
    }
}

fn unanswered(reason: &str) -> ConnectionAnswer {
    ConnectionAnswer::Unanswered { reason: reason.to_owned() }
}

fn denied(reason: &str) -> ConnectionAnswer {
    let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    ConnectionAnswer::Denied { reason: format!("a person denied it{said}") }
}

/// Returns the answer to an approval that is no longer open.
fn answer_of(approval: &ApprovalRecord) -> Option<ConnectionAnswer> {
    match approval.state {
        ApprovalState::Open => None,
        ApprovalState::Allowed => Some(ConnectionAnswer::Allowed),
        ApprovalState::Denied => Some(denied(&approval.reason)),
        ApprovalState::Expired => Some(unanswered("nobody answered in time")),
        ApprovalState::Withdrawn => Some(unanswered("the question was withdrawn")),
    }
}

/// Creates the approval for a connection of an execution.
fn of_connection(record: &ExecutionRecord, asked: &ConnectionAsked) -> ApprovalRecord {
    let connection = AskedConnection { host: asked.host.clone(), port: asked.port, rule: asked.rule.clone() };
    ApprovalRecord {
        id: asked.approval_id,
        execution_id: record.id,
        session_id: record.session_id,
        tenant: record.tenant.clone(),
        principal: record.principal.clone(),
        state: ApprovalState::Open,
        binding: binding(asked),
        command: record.spec.command.text.clone(),
        shell: record.spec.command.shell,
        directory: record.spec.command.directory.clone(),
        description: record.spec.description.clone(),
        decision: record.decision.clone(),
        created: Micros(0),
        expires: Micros(0),
        decided_by: String::new(),
        reason: String::new(),
        files: Vec::new(),
        terms: Vec::new(),
        connection: Some(connection),
    }
}

/// Returns the hash that an answer about a connection is bound to: the question, its execution, host, port and rule.
fn binding(asked: &ConnectionAsked) -> [u8; BINDING_BYTES] {
    // A new field does not compile until it is bound or named as unbound. A repeated question has another wait.
    let ConnectionAsked { approval_id, execution_id, host, port, rule, wait: _ } = asked;
    let mut hash = Sha256::new();
    hash.update(b"airlock connection v1");
    let (host, port, rule) = (host.as_bytes(), port.to_be_bytes(), rule.as_bytes());
    let parts: [&[u8]; 5] = [approval_id.as_bytes(), execution_id.as_bytes(), host, &port, rule];
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_answer_is_bound_to_the_execution_the_host_the_port_and_the_rule() {
        let asked = ConnectionAsked {
            approval_id: ApprovalId::new(),
            execution_id: ExecutionId::new(),
            host: "a.example".to_owned(),
            port: 443,
            rule: "Network(a.example)".to_owned(),
            wait: Duration::from_secs(60),
        };
        let later = ConnectionAsked { wait: Duration::from_secs(1), ..asked.clone() };
        assert_eq!(binding(&asked), binding(&later), "a repeated question is the same");
        for other in [
            ConnectionAsked { approval_id: ApprovalId::new(), ..asked.clone() },
            ConnectionAsked { execution_id: ExecutionId::new(), ..asked.clone() },
            ConnectionAsked { host: "b.example".to_owned(), ..asked.clone() },
            ConnectionAsked { port: 80, ..asked.clone() },
            ConnectionAsked { rule: "Network(*.example)".to_owned(), ..asked.clone() },
        ] {
            assert_ne!(binding(&asked), binding(&other), "{other:?}");
        }
    }
}
