//! The calls about approvals.

use airlock_cli::render::names;
use airlock_client::{
    Client, ClientError, From,
    v1::{
        self,
        approval_service_decide_request::{AllowOnce, Answer, Deny},
    },
};
use serde_json::{Value, json};

use super::values::text_of;

/// Makes a call.
pub(super) async fn call(client: &Client, name: &str, args: &Value) -> Result<Value, ClientError> {
    if name == "approval.list" {
        let filter =
            v1::ApprovalFilter { session_id: text_of(args, "session").to_owned(), ..Default::default() };
        let request = v1::ApprovalServiceListRequest { filter: Some(filter), ..Default::default() };
        let found = client.approvals(request).await?.approvals;
        let found: Vec<_> = found.iter().map(of_approval).collect();
        return Ok(json!({"approvals": found}));
    }
    let mut approval = shown(client, text_of(args, "approval")).await?;
    let answer = match name {
        "approval.allow" => Answer::AllowOnce(AllowOnce {}),
        "approval.deny" => Answer::Deny(Deny { reason: text_of(args, "reason").to_owned() }),
        _ => {
            let mut events = client.attach(approval.execution_id.clone(), From::Beginning);
            while approval.state() == v1::ApprovalState::Open {
                events.next().await?;
                approval = shown(client, &approval.approval_id).await?;
            }
            return Ok(of_approval(&approval));
        }
    };
    let (approval_id, binding) = (approval.approval_id, approval.binding);
    let request = v1::ApprovalServiceDecideRequest { approval_id, binding, answer: Some(answer) };
    Ok(of_approval(&client.decide(request).await?))
}

/// Returns an approval in any state.
async fn shown(client: &Client, id: &str) -> Result<v1::Approval, ClientError> {
    let states = (1..=5).collect();
    let filter = v1::ApprovalFilter { states, ..Default::default() };
    let mut request = v1::ApprovalServiceListRequest { filter: Some(filter), page: None };
    loop {
        let answer = client.approvals(request.clone()).await?;
        if let Some(found) = answer.approvals.into_iter().find(|one| one.approval_id == id) {
            return Ok(found);
        }
        assert!(!answer.next_page_token.is_empty(), "there is an approval {id}");
        request.page = Some(v1::PageRequest { page_token: answer.next_page_token, ..Default::default() });
    }
}

fn of_approval(approval: &v1::Approval) -> Value {
    json!({
        "id": approval.approval_id,
        "state": names::lower::<v1::ApprovalState>(approval.state),
        "command": String::from_utf8_lossy(approval.command()),
        "reason": approval.reason,
    })
}
