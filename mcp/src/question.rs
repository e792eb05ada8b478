//! The question of an approval: who is told, and who may answer it.
//!
//! An approver answers with `airlock approve` or another client. The user of the MCP client is asked by an elicitation
//! only if the profile permits self-approval, because the answer is sent with the identity that submitted the command.

use std::future::pending;

use airlock_client::{
    ClientError,
    v1::{
        Approval, ApprovalFilter, ApprovalServiceDecideRequest, ApprovalServiceListRequest, ProfileView,
        approval_service_decide_request::{AllowOnce, Answer, Deny},
    },
};
use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, ServerRequest,
    },
    service::{ElicitationMode, Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use serde_json::json;

use super::workspace::Open;

/// The largest approval that is shown to the user of an MCP client, in bytes. A larger one needs `airlock approve`, which
/// shows it page by page.
const SHOWN_BYTES: usize = 16 * 1024;
/// The reason of a denial by the user of the MCP client.
const DENIED: &str = "the user of the MCP client denied it";

/// An open approval.
pub(crate) struct Question {
    approval: Approval,
    /// The request to the user of the MCP client, if one was sent.
    asked: Option<RequestHandle<RoleServer>>,
}

/// Returns the open approval of an execution: of the command, or of one of its connections. If there are several, it is
/// the one with the ID `known`, else the first one.
pub(crate) async fn about(
    open: &Open,
    execution: &str,
    known: &str,
) -> Result<Option<Approval>, ClientError> {
    let filter = ApprovalFilter { session_id: open.session.clone(), ..Default::default() };
    let mut request = ApprovalServiceListRequest { filter: Some(filter), ..Default::default() };
    let mut first = None;
    loop {
        let list = open.client.approvals(request.clone()).await?;
        for approval in list.approvals.into_iter().filter(|one| one.execution_id == execution) {
            if approval.approval_id == known {
                return Ok(Some(approval));
            }
            first.get_or_insert(approval);
        }
        if list.next_page_token.is_empty() {
            return Ok(first);
        }
        request.page.get_or_insert_default().page_token = list.next_page_token;
    }
}

impl Question {
    /// Asks the user of the MCP client about an approval, if that is permitted.
    pub(crate) async fn ask(
        open: &Open,
        approval: Approval,
        peer: &Peer<RoleServer>,
        page: fn(&Approval) -> String,
    ) -> Self {
        let may_ask = may_ask(open, &approval, peer).await.unwrap_or(false);
        let asked = if may_ask { elicit(&approval, page(&approval), peer).await } else { None };
        Self { approval, asked }
    }

    pub(crate) fn approval(&self) -> &Approval {
        &self.approval
    }

    /// Returns the answer of the user of the MCP client. Waits forever if the user was not asked or does not answer.
    /// Cancel-safe.
    pub(crate) async fn answer(&mut self) -> Answer {
        if let Some(handle) = &mut self.asked {
            let answered = (&mut handle.rx).await;
            self.asked = None;
            if let Ok(Ok(ClientResult::ElicitResult(result))) = answered
                && let Some(answer) = meaning(result.action, result.content.as_ref())
            {
                return answer;
            }
        }
        pending().await
    }

    /// Sends an answer.
    pub(crate) async fn decide(&self, open: &Open, answer: Answer) -> Result<(), ClientError> {
        let request = ApprovalServiceDecideRequest {
            approval_id: self.approval.approval_id.clone(),
            binding: self.approval.binding.clone(),
            answer: Some(answer),
        };
        open.client.decide(request).await.map(drop)
    }

    /// Withdraws the request to the user of the MCP client, because the approval was answered elsewhere.
    pub(crate) async fn withdraw(self) {
        if let Some(handle) = self.asked {
            // A client that has gone needs no notification.
            let _: Result<(), ServiceError> =
                handle.cancel(Some("the approval is no longer open".to_owned())).await;
        }
    }
}

async fn may_ask(open: &Open, approval: &Approval, peer: &Peer<RoleServer>) -> Result<bool, ClientError> {
    if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
        return Ok(false);
    }
    let profile = match &approval.terms {
        Some(terms) => terms.profile.clone(),
        None => open.client.session(&open.session).await?.profile,
    };
    Ok(open.client.policy().profile(&profile, ProfileView::Basic).await?.self_approval)
}

async fn elicit(
    approval: &Approval,
    page: String,
    peer: &Peer<RoleServer>,
) -> Option<RequestHandle<RoleServer>> {
    if page.len() > SHOWN_BYTES {
        return None;
    }
    let (title, meaning, subject) = match approval.connection {
        None => (
            "Allow this command once?",
            "`allow` runs exactly this command. `deny` does not run it, and tells the agent so.",
            "a command of the agent",
        ),
        Some(_) => (
            "Allow this connection?",
            "`allow` lets this command connect to this host and port. `deny` refuses the connection.",
            "a connection of a running command of the agent",
        ),
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": title,
                "description": meaning,
                "enum": ["allow", "deny"],
            },
        },
        "required": ["answer"],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    let message = format!("Airlock asks a person about {subject}.\n\n{page}");
    let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
    peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await.ok()
}

/// Returns the meaning of a user's answer. Without a clear answer the approval stays open.
fn meaning(action: ElicitationAction, content: Option<&serde_json::Value>) -> Option<Answer> {
    let denied = || Answer::Deny(Deny { reason: DENIED.to_owned() });
    let chosen = content.and_then(|content| content.get("answer")).and_then(|answer| answer.as_str());
    match (action, chosen) {
        (ElicitationAction::Accept, Some("allow")) => Some(Answer::AllowOnce(AllowOnce {})),
        (ElicitationAction::Accept, Some("deny")) | (ElicitationAction::Decline, _) => Some(denied()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_counts() {
        let said = |answer: &str| json!({ "answer": answer });
        let allows = |action, content: &serde_json::Value| {
            meaning(action, Some(content)).map(|answer| matches!(answer, Answer::AllowOnce(_)))
        };
        assert_eq!(allows(ElicitationAction::Accept, &said("allow")), Some(true));
        assert_eq!(allows(ElicitationAction::Accept, &said("deny")), Some(false));
        assert_eq!(allows(ElicitationAction::Decline, &said("allow")), Some(false));
        for unclear in [said("yes"), json!({}), json!({ "answer": true })] {
            assert_eq!(allows(ElicitationAction::Accept, &unclear), None, "{unclear}");
        }
        assert_eq!(allows(ElicitationAction::Cancel, &said("allow")), None);
        assert!(meaning(ElicitationAction::Accept, None).is_none());
    }
}
