//! Arguments, results and errors as values of JSON.

use std::time::Duration;

use airlock_cli::render::{cause, names};
use airlock_client::{
    ClientError, text,
    v1::{self, cause::Detail},
};
use airlock_tests::site::sha256;
use serde_json::{Value, json};

/// Returns an argument, or an empty text.
pub(super) fn text_of<'a>(args: &'a Value, name: &str) -> &'a str {
    args[name].as_str().unwrap_or_default()
}

/// Returns a time of an argument, if it is given.
pub(super) fn seconds(args: &Value, name: &str) -> Option<Duration> {
    args[name].as_f64().map(Duration::from_secs_f64)
}

/// Returns bytes as the cases describe them.
pub(super) fn of_bytes(data: &[u8]) -> Value {
    let mut made = json!({"bytes": data.len(), "sha256": sha256(data)});
    if data.len() <= 4096 {
        made["text"] = String::from_utf8_lossy(data).into();
    }
    made
}

/// Returns an error as the cases describe it.
pub(in super::super) fn of_error(error: &ClientError) -> Value {
    let (span, text) = match error {
        ClientError::Denied(denial) => (denial.span(), denial.text()),
        _ => (None, String::new()),
    };
    json!({
        "kind": error.kind().name(),
        "reason": error.reason(),
        "remedy": error.remedy(),
        "span": span.map(|span| [span.start, span.end]),
        "text": text,
        "execution": error.execution_id(),
    })
}

/// Returns a finished execution as the cases describe a result.
pub(super) fn of_result(execution: &v1::Execution) -> Value {
    let outcome = execution.result.clone().unwrap_or_default();
    let cause = outcome.cause.clone().unwrap_or_default();
    let (code, detail) = cause_of(&cause);
    let inline = outcome.inline.clone().unwrap_or_default();
    let stream = |text: &Option<v1::InlineText>| text.as_ref().map_or("", |text| &text.text).to_owned();
    let is_part = |text: &Option<v1::InlineText>| text.as_ref().is_some_and(|text| !text.whole);
    let short = |note: &v1::Note| ["output_cut", "output_shortened"].contains(&note.code.as_str());
    json!({
        "execution": execution.execution_id,
        "exit_code": code.filter(|_| outcome.started() != v1::Started::No),
        "cause": names::lower::<v1::CauseCode>(cause.code),
        "cause_detail": detail,
        "started": names::lower::<v1::Started>(outcome.started),
        "ok": cause::exit_code(Some(&outcome)) == 0,
        "text": text::for_model(execution),
        "stdout": stream(&inline.stdout),
        "stderr": stream(&inline.stderr),
        "truncated":
            is_part(&inline.stdout) || is_part(&inline.stderr) || outcome.notes.iter().any(short),
        "notes": outcome.notes.iter().map(|note| note.code.clone()).collect::<Vec<_>>(),
    })
}

/// Returns the exit code of a cause, if it has one, and its detail.
fn cause_of(cause: &v1::Cause) -> (Option<i32>, String) {
    let lower = |name: &str, prefix: &str| name.trim_start_matches(prefix).to_lowercase();
    match &cause.detail {
        Some(Detail::Exited(exited)) => (Some(exited.code), String::new()),
        Some(Detail::TimedOut(out)) => (None, lower(out.kind().as_str_name(), "TIMEOUT_KIND_")),
        Some(Detail::Cancelled(cancelled)) => (None, lower(cancelled.by().as_str_name(), "CANCELLED_BY_")),
        Some(Detail::Denied(denied)) => (None, lower(denied.by().as_str_name(), "DENIED_BY_")),
        Some(Detail::Refused(refused)) => (None, refused.reason.clone()),
        Some(Detail::SandboxFailed(failed)) => (None, failed.step.clone()),
        Some(Detail::Signaled(_)) | None => (None, String::new()),
    }
}
