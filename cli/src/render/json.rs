//! Results as JSON. Bytes have the form `text` with `lossy`, and if `lossy` is true also `base64`.
//! Times are RFC 3339; durations are in seconds.

mod files;
mod parts;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

pub use files::{change, file, piece, quarantined};

use super::{names, network, time};
use airlock_client::{
    ClientError, Violation,
    v1::{
        Approval, ApprovalState, BackgroundedBy, Cause, CauseCode, Decision, DirectoryReport, Event,
        Execution, ExecutionState, LinkState, Mode, OutputState, OutputStream, RememberedRule,
        Result as Outcome, RuleScope, Runner, RunnerState, Session, SessionState, Shell, Started, Verdict,
        ViolationAction, cause::Detail, event::Event as Kind,
    },
};
use parts::{bytes, insert, known};

/// Formats an event as an object: `event` (its kind), `execution_id`, `cursor`, and a field with the name of the kind
/// that has the contents.
#[must_use]
pub fn event(execution_id: &str, event: &Event) -> Value {
    let (kind, says) = match &event.event {
        Some(Kind::Opened(opened)) => ("opened", json!(opened.execution.as_ref().map(execution))),
        Some(Kind::StateChanged(change)) => (
            "state_changed",
            json!({
                "version": change.version,
                "state": names::upper::<ExecutionState>(change.state),
                "link": known(change.link != 0, || names::upper::<LinkState>(change.link)),
                "at": time::rfc3339(change.at.as_ref()),
                "approval_id": known(!change.approval_id.is_empty(), || change.approval_id.clone()),
                "backgrounded_by": background(change.backgrounded_by),
            }),
        ),
        Some(Kind::Output(output)) => {
            let mut says = bytes(&output.data);
            insert(&mut says, "stream", json!(names::lower::<OutputStream>(output.stream)));
            insert(&mut says, "offset", json!(output.offset));
            ("output", says)
        }
        Some(Kind::Gap(gap)) => (
            "gap",
            json!({"stream": names::lower::<OutputStream>(gap.stream), "from": gap.from, "to": gap.to}),
        ),
        Some(Kind::Finished(finished)) => ("finished", json!(finished.execution.as_ref().map(execution))),
        Some(Kind::Backgrounded(gone)) => ("backgrounded", json!(gone.execution.as_ref().map(execution))),
        Some(Kind::Progress(how)) => ("progress", parts::progress(how)),
        None => ("unknown", Value::Null),
    };
    let cursor = STANDARD.encode(&event.cursor);
    json!({"event": kind, "execution_id": execution_id, "cursor": cursor, kind: says})
}

/// Formats an error as an object with `event: "error"`.
#[must_use]
pub fn error(error: &ClientError) -> Value {
    let rejection = error.rejection();
    let violations = rejection.map(|rejection| {
        let each = |v: &Violation| json!({"field": v.field, "description": v.description});
        rejection.violations.iter().map(each).collect::<Vec<_>>()
    });
    let says = json!({
        "message": error.to_string(),
        "code": rejection.map(|r| format!("{:?}", r.code)),
        "reason": rejection.map(|r| r.reason.clone()),
        "retry_after": rejection.and_then(|r| r.retry_after).map(|after| after.as_secs_f64()),
        "violations": violations,
    });
    let execution_id = rejection.and_then(|r| r.execution_id.clone());
    json!({"event": "error", "execution_id": execution_id, "error": says})
}

/// Formats an execution.
#[must_use]
pub fn execution(one: &Execution) -> Value {
    let times = one.times.unwrap_or_default();
    json!({
        "execution_id": one.execution_id,
        "session_id": one.session_id,
        "request_id": one.request_id,
        "tenant": one.tenant,
        "principal": one.principal,
        "state": names::upper::<ExecutionState>(one.state),
        "link": known(one.link != 0, || names::upper::<LinkState>(one.link)),
        "version": one.version,
        "runner_id": one.runner_id,
        "attempt": one.attempt,
        "shell": names::lower::<Shell>(one.shell),
        "directory": bytes(one.directory()),
        "created": time::rfc3339(times.created.as_ref()),
        "started_at": time::rfc3339(times.started.as_ref()),
        "ended": time::rfc3339(times.ended.as_ref()),
        "verdict": names::lower::<Verdict>(one.verdict),
        "output_state": names::upper::<OutputState>(one.output_state),
        "partial_from": one.partial_from,
        "network": network::json(one.network.as_ref()),
        "pty": one.pty.as_ref().map(|pty| json!({"rows": pty.rows, "cols": pty.cols, "term": pty.term})),
        "result": one.result.as_ref().map(outcome),
        "approval_id": known(!one.approval_id.is_empty(), || one.approval_id.clone()),
        "labels": one.labels,
        "command": known(one.decision.is_some() || !one.command().is_empty(), || bytes(one.command())),
        "description": one.description,
        "decision": one.decision.as_ref().map(decision),
        "backgrounded_by": background(one.backgrounded_by),
    })
}

fn background(by: i32) -> Value {
    known(by != 0, || names::upper::<BackgroundedBy>(by))
}

fn outcome(one: &Outcome) -> Value {
    let seconds = |span: Option<&prost_types::Duration>| time::duration(span).map(|span| span.as_secs_f64());
    json!({
        "cause": one.cause.as_ref().map(cause),
        "started": names::upper::<Started>(one.started),
        "exit_code": super::cause::exit_code(Some(one)),
        "directory": bytes(one.directory()),
        "directory_report": names::upper::<DirectoryReport>(one.directory_report),
        "leftovers_killed": one.leftovers_killed,
        "cpu_time": seconds(one.cpu_time.as_ref()),
        "run_time": seconds(one.run_time.as_ref()),
        "peak_memory": one.peak_memory,
        "stdout_bytes": one.stdout_bytes,
        "stderr_bytes": one.stderr_bytes,
        "stdout_cut_bytes": one.stdout_cut_bytes,
        "stderr_cut_bytes": one.stderr_cut_bytes,
        "violations": one.violations.iter().map(violation).collect::<Vec<_>>(),
        "scrubbed_env": one.scrubbed_env,
        "limits_not_enforced": one.limits_not_enforced,
        "unsandboxed": one.unsandboxed,
        "landlock_abi": one.landlock_abi,
        "interpretation": one.interpretation.as_ref().map(|told| json!({
            "text": told.text,
            "failure": told.failure,
        })),
        "no_output_expected": one.no_output_expected,
        "interrupted": one.interrupted,
        "inline": one.inline.as_ref().map(parts::inline),
        "snapshot_problem": known(!one.snapshot_problem.is_empty(), || one.snapshot_problem.clone()),
        "network_problem": known(!one.network_problem.is_empty(), || one.network_problem.clone()),
        "connections": one.connections.iter().map(network::connection_json).collect::<Vec<_>>(),
        "connections_left_out": one.connections_left_out,
        "notes": one.notes.iter().map(|note| json!({"code": note.code, "text": note.text})).collect::<Vec<_>>(),
    })
}

fn violation(one: &airlock_client::v1::Violation) -> Value {
    json!({
        "layer": one.layer,
        "kind": one.kind,
        "path": bytes(one.path()),
        "action": names::upper::<ViolationAction>(one.action),
        "detail": one.detail,
        "quarantine_id": known(!one.quarantine_id.is_empty(), || one.quarantine_id.clone()),
    })
}

fn cause(one: &Cause) -> Value {
    let mut out = json!({"code": names::upper::<CauseCode>(one.code), "message": one.message});
    let mut put = |name: &str, value: Value| insert(&mut out, name, value);
    match &one.detail {
        Some(Detail::Exited(exited)) => put("exit_code", json!(exited.code)),
        Some(Detail::Signaled(signaled)) => {
            put("signal", json!(signaled.signal));
            put("core", json!(signaled.core));
        }
        Some(Detail::TimedOut(timed_out)) => {
            put("kind", json!(timed_out.kind().as_str_name().trim_start_matches("TIMEOUT_KIND_")));
        }
        Some(Detail::Cancelled(cancelled)) => {
            put("by", json!(cancelled.by().as_str_name().trim_start_matches("CANCELLED_BY_")));
        }
        Some(Detail::Denied(denied)) => {
            put("by", json!(denied.by().as_str_name().trim_start_matches("DENIED_BY_")));
            put("reason", json!(denied.reason));
        }
        Some(Detail::Refused(refused)) => put("reason", json!(refused.reason)),
        Some(Detail::SandboxFailed(failed)) => {
            put("step", json!(failed.step));
            put("hint", json!(failed.hint));
        }
        None => {}
    }
    out
}

fn decision(one: &Decision) -> Value {
    let reasons = one.reasons.iter().map(|reason| {
        json!({
            "code": reason.code,
            "message": reason.message,
            "span": reason.span.map(|span| [span.start, span.end]),
            "rule": known(!reason.rule.is_empty(), || reason.rule.clone()),
            "command_index": reason.command_index,
        })
    });
    let commands = one.commands.iter().map(|command| {
        json!({
            "argv": command.argv.iter().map(|word| word.bytes().map(bytes)).collect::<Vec<_>>(),
            "span": command.span.map(|span| [span.start, span.end]),
            "nesting": command.nesting,
            "read_only": command.read_only,
            "category": command.category,
        })
    });
    let paths = one.paths.iter().map(
        |path| json!({"path": bytes(path.path()), "access": path.access, "command_index": path.command_index}),
    );
    let shadow = one.shadow.iter().map(|hit| {
        json!({
            "rule": hit.rule,
            "verdict": names::lower::<Verdict>(hit.verdict),
            "command_index": hit.command_index,
        })
    });
    json!({
        "edit": one.edit.as_deref().map(parts::file_edit),
        "verdict": names::lower::<Verdict>(one.verdict),
        "reasons": reasons.collect::<Vec<_>>(),
        "commands": commands.collect::<Vec<_>>(),
        "read_only": one.read_only,
        "concurrency_safe": one.concurrency_safe,
        "requires": one.requires,
        "category": one.category,
        "no_output_expected": one.no_output_expected,
        "paths": paths.collect::<Vec<_>>(),
        "rewrites": one.rewrites,
        "warnings": one.warnings,
        "suggested_rules": one.suggested_rules,
        "parse_complete": one.parse_complete,
        "policy_version": hex::encode(&one.policy_version),
        "profile": one.profile,
        "shadow": shadow.collect::<Vec<_>>(),
        "hooks": one.hooks.iter().map(parts::hook).collect::<Vec<_>>(),
        "endings": one.endings,
    })
}

/// Formats a session.
#[must_use]
pub fn session(one: &Session) -> Value {
    json!({
        "session_id": one.session_id,
        "tenant": one.tenant,
        "principal": one.principal,
        "state": names::upper::<SessionState>(one.state),
        "state_message": one.state_message,
        "profile": one.profile,
        "mode": names::lower::<Mode>(one.mode),
        "shell": names::lower::<Shell>(one.shell),
        "directory": bytes(one.directory()),
        "runner_id": one.runner_id,
        "base": one.base,
        "labels": one.labels,
        "created": time::rfc3339(one.created.as_ref()),
        "idle_timeout": time::duration(one.idle_timeout.as_ref()).map(|span| span.as_secs_f64()),
        "throwaway": one.throwaway,
        "network": network::json(one.network.as_ref()),
        "snapshot_problem": known(!one.snapshot_problem.is_empty(), || one.snapshot_problem.clone()),
    })
}

/// Formats a runner.
#[must_use]
pub fn runner(one: &Runner) -> Value {
    let capabilities =
        one.capabilities.iter().map(|c| json!({"name": c.name, "enforced": c.enforced, "detail": c.detail}));
    json!({
        "runner_id": one.runner_id,
        "epoch": one.epoch,
        "state": names::upper::<RunnerState>(one.state),
        "version": one.version,
        "labels": one.labels,
        "slots": one.slots,
        "running": one.running,
        "bases": one.bases,
        "capabilities": capabilities.collect::<Vec<_>>(),
        "shells": one.shells,
        "last_seen": time::rfc3339(one.last_seen.as_ref()),
    })
}

/// Formats an approval.
#[must_use]
pub fn approval(one: &Approval) -> Value {
    json!({
        "approval_id": one.approval_id,
        "execution_id": one.execution_id,
        "session_id": one.session_id,
        "principal": one.principal,
        "state": names::upper::<ApprovalState>(one.state),
        "command": bytes(one.command()),
        "shell": names::lower::<Shell>(one.shell),
        "directory": bytes(one.directory()),
        "description": one.description,
        "decision": one.decision.as_ref().map(decision),
        "created": time::rfc3339(one.created.as_ref()),
        "expires": time::rfc3339(one.expires.as_ref()),
        "binding": hex::encode(&one.binding),
        "decided_by": one.decided_by,
        "reason": one.reason,
        "files": one.files.iter().map(parts::bound_file).collect::<Vec<_>>(),
        "terms": one.terms.as_ref().map(parts::terms),
        "connection": one
            .connection
            .as_ref()
            .map(|asked| json!({"host": asked.host, "port": asked.port, "rule": asked.rule})),
    })
}

/// Formats a remembered rule.
#[must_use]
pub fn rule(one: &RememberedRule) -> Value {
    json!({
        "rule_id": one.rule_id,
        "rule": one.rule,
        "scope": names::upper::<RuleScope>(one.scope),
        "session_id": one.session_id,
        "profile": one.profile,
        "approval_id": one.approval_id,
        "decided_by": one.decided_by,
        "created": time::rfc3339(one.created.as_ref()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlock_client::v1::{Finished, Output, cause::Exited};

    #[test]
    fn output_is_exact() {
        for (data, expected) in [
            (&b"ok\n"[..], json!({"text": "ok\n", "lossy": false})),
            (b"\xff", json!({"text": "\u{fffd}", "lossy": true, "base64": "/w=="})),
        ] {
            let kind = Kind::Output(Output { stream: 1, offset: 7, data: data.to_vec().into() });
            let value = event("e", &Event { cursor: "c".into(), event: Some(kind) });
            assert_eq!(value["event"], "output");
            assert_eq!(value["cursor"], "Yw==");
            assert_eq!(value["output"]["stream"], "stdout");
            assert_eq!(value["output"]["offset"], 7);
            for (name, field) in expected.as_object().unwrap() {
                assert_eq!(&value["output"][name], field);
            }
        }
    }

    #[test]
    fn the_end_names_its_cause() {
        let result = Outcome {
            cause: Some(Cause {
                code: 1,
                message: String::new(),
                detail: Some(Detail::Exited(Exited { code: 3 })),
            }),
            started: 2,
            ..Default::default()
        };
        let execution =
            Execution { execution_id: "e".to_owned(), result: Some(result), ..Default::default() };
        let kind = Kind::Finished(Finished { execution: Some(execution) });
        let value = event("e", &Event { cursor: "".into(), event: Some(kind) });
        assert_eq!(value["finished"]["result"]["cause"]["code"], "EXITED");
        assert_eq!(value["finished"]["result"]["cause"]["exit_code"], 3);
        assert_eq!(value["finished"]["result"]["exit_code"], 3);
        assert_eq!(value["finished"]["result"]["started"], "YES");
    }
}
