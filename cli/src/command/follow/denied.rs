//! The report for an execution that cannot be followed: the decision with the underlined part of the
//! command, and the remedy.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tonic::Code;

use super::super::{failure::describe, output};
use crate::render::{cause, decision, escape};
use airlock_client::{Client, ClientError, Rejection};

/// The reason code of a rule that asks.
const ASK_RULE: &str = "ask_rule";
/// The reason code of a denial by the mode alone.
const PLAN_MODE: &str = "plan_mode";

/// Reports why the execution cannot be followed any further, and returns the exit code.
pub(super) async fn not_followed(client: &Client, error: &ClientError, started: bool) -> u8 {
    let denied = error.rejection().filter(|rejection| rejection.code == Code::PermissionDenied);
    if let Some((rejection, id)) = denied.and_then(|r| Some((r, r.execution_id.as_deref()?))) {
        say_denied(client, rejection, id).await;
        return cause::NOT_RUN;
    }
    output::note(&describe(error));
    match error {
        ClientError::ViewLost { execution_id, cursor, .. } => {
            let from = if cursor.is_empty() {
                String::new()
            } else {
                format!(" --cursor {}", STANDARD.encode(cursor))
            };
            output::note(&format!(
                "the command may still be running; to continue: airlock attach {execution_id}{from}"
            ));
            cause::FAILED
        }
        ClientError::StartUnknown { request_id, .. } => {
            output::note(&format!(
                "to find out whether it started, repeat the command with --request-id {request_id}"
            ));
            cause::FAILED
        }
        _ if started => cause::FAILED,
        _ => cause::NOT_RUN,
    }
}

/// Reports why policy refused the command, with the part underlined, and the remedy.
async fn say_denied(client: &Client, rejection: &Rejection, id: &str) {
    let execution = match client.execution(id).await {
        Ok(execution) => execution,
        Err(error) => {
            output::note(&format!("{} (execution {id})", escape::line(rejection.message.as_bytes())));
            output::note(&format!("cannot get the decision: {}", describe(&error)));
            return;
        }
    };
    let mut text = format!("it did not run: {}", escape::line(rejection.message.as_bytes()));
    let asked = rejection.reason == "APPROVAL_REQUIRED";
    if let Some(decided) = &execution.decision {
        text = format!("it did not run: {}\n", decision::headline(decided));
        text.push_str(&decision::reasons(execution.command(), decided));
        let rules = decision::suggestions(decided);
        // An ask rule takes precedence over every allow rule.
        let by_rule = decided.reasons.iter().any(|reason| reason.code == ASK_RULE);
        if asked && !by_rule && !rules.is_empty() {
            text.push_str("  rules that would allow it in the profile:\n");
            text.push_str(&rules);
        }
    }
    let planned = execution.decision.iter().flat_map(|decided| &decided.reasons);
    text.push_str(if planned.into_iter().any(|reason| reason.code == PLAN_MODE) {
        "  to apply the profile's rules, run it in another --mode, in a session that permits it\n"
    } else if asked {
        "  to ask for an approval, run it again with --on-ask wait, and answer with `airlock approve`\n"
    } else {
        "  only a change of the profile can allow it\n"
    });
    text.push_str(&format!("  details: airlock show {id}"));
    output::note(&text);
}
