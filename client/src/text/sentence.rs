//! The result of an execution as one sentence for people and models.

use std::fmt::Write as _;

use airlock_escape as escape;
use airlock_proto::v1::{
    CancelledBy, Cause, CauseCode, DeniedBy, Result as Outcome, Started, TimeoutKind, cause::Detail,
};

/// Returns the result as one line without a final period.
#[must_use]
pub fn sentence(outcome: Option<&Outcome>) -> String {
    let Some((outcome, cause)) = outcome.and_then(|outcome| Some((outcome, outcome.cause.as_ref()?))) else {
        return "the result of the command is unknown".to_owned();
    };
    let what = what_happened(cause);
    let said = escape::line(cause.message.as_bytes());
    let mut line = if said.is_empty() || what.contains(&said) { what } else { format!("{what}: {said}") };
    if let Some(told) = &outcome.interpretation {
        let _ = write!(line, " ({})", escape::line(told.text.as_bytes()));
    }
    line.push_str(match (cause.code(), outcome.started()) {
        (_, Started::No) => "; it did not run",
        (_, Started::Unknown | Started::Unspecified) => "; it is unknown whether it ran",
        (CauseCode::RunnerLost, Started::Yes) => "; it had started, but its result is unknown",
        (_, Started::Yes) => "",
    });
    line
}

fn what_happened(cause: &Cause) -> String {
    let shown = |text: &str| escape::line(text.as_bytes());
    match (cause.code(), &cause.detail) {
        (CauseCode::Exited, Some(Detail::Exited(exited))) => format!("exited with code {}", exited.code),
        (CauseCode::Signaled, Some(Detail::Signaled(signaled))) => {
            let core = if signaled.core { ", core dumped" } else { "" };
            format!("ended by signal {}{core}", signaled.signal)
        }
        (CauseCode::TimedOut, Some(Detail::TimedOut(timed_out))) => match timed_out.kind() {
            TimeoutKind::Idle => "ended because it wrote no output within its idle timeout".to_owned(),
            TimeoutKind::Wall | TimeoutKind::Unspecified => "ended because its timeout expired".to_owned(),
        },
        (CauseCode::Cancelled, Some(Detail::Cancelled(cancelled))) => by_whom(cancelled.by()).to_owned(),
        (CauseCode::Denied, Some(Detail::Denied(denied))) => {
            let who = match denied.by() {
                DeniedBy::Person => "denied by a person",
                DeniedBy::NobodyToAsk => "policy requires an approval, and the request did not wait for one",
                DeniedBy::Policy | DeniedBy::Unspecified => "denied by policy",
            };
            if denied.reason.is_empty() {
                who.to_owned()
            } else {
                format!("{who}: {}", shown(&denied.reason))
            }
        }
        (CauseCode::Refused, Some(Detail::Refused(refused))) => {
            format!("refused by the runner ({})", shown(&refused.reason))
        }
        (CauseCode::SandboxFailed, Some(Detail::SandboxFailed(failed))) => {
            let hint =
                if failed.hint.is_empty() { String::new() } else { format!("; {}", shown(&failed.hint)) };
            format!("the sandbox failed at the step `{}`{hint}", shown(&failed.step))
        }
        (CauseCode::OomKilled, _) => "ended by the kernel because it ran out of memory".to_owned(),
        (CauseCode::OutputLimit, _) => "ended because it exceeded its output limit".to_owned(),
        (CauseCode::DiskLimit, _) => "ended because it exceeded its disk limit".to_owned(),
        (CauseCode::ApprovalExpired, _) => "its approval expired without an answer".to_owned(),
        (CauseCode::QueueExpired, _) => "it waited too long in the queue".to_owned(),
        (CauseCode::ShellUnavailable, _) => "the shell is not available".to_owned(),
        (CauseCode::RunnerLost, _) => "its runner was lost".to_owned(),
        (CauseCode::Internal, _) => "internal error of Airlock".to_owned(),
        _ => format!("ended with a cause that this client does not support ({})", name(cause.code)),
    }
}

fn by_whom(by: CancelledBy) -> &'static str {
    match by {
        CancelledBy::Client => "cancelled",
        CancelledBy::Admin => "cancelled by an administrator",
        CancelledBy::Disconnect => "cancelled because the client that started it disconnected",
        CancelledBy::Session => "cancelled because its session was closed",
        CancelledBy::Drain => "cancelled because its runner was drained",
        CancelledBy::Unspecified => "cancelled by an unknown party",
    }
}

/// Returns the short name of a cause's code. A code that this client does not know is `UNKNOWN_` and its number.
fn name(code: i32) -> String {
    CauseCode::try_from(code).map_or_else(
        |_| format!("UNKNOWN_{code}"),
        |known| known.as_str_name().trim_start_matches("CAUSE_CODE_").to_owned(),
    )
}
