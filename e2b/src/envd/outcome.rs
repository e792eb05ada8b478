//! Converts the end of an execution to the end of a process in E2B's contract. Facts for which the contract has no field
//! become text on standard error.

use airlock_client::{
    cause, text,
    v1::{CancelledBy, CauseCode, Execution, cause::Detail},
};

use crate::{
    refusal::{Kind, Refusal},
    wire::process::End,
};

/// The exit code of a command that policy or a person denied, as of a program that may not be executed.
pub(super) const DENIED: i32 = 126;
/// The exit code of a command that did not run for another reason.
const NOT_RUN: i32 = 125;
/// The exit code that the SDKs know for a process that a signal ended.
const SIGNALED: i32 = -1;
/// 128 and the number of SIGKILL.
const KILLED: i32 = 137;

/// The end of a process: text for standard error, and the last message or the error of the stream.
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) end: Result<End, Refusal>,
}

/// Returns the end of a finished execution.
pub(super) fn of(execution: &Execution) -> Outcome {
    let result = execution.result.as_ref();
    let cause = result.and_then(|result| result.cause.as_ref());
    let sentence = cause::sentence(result);
    let told = |code: i32, status: &str| {
        let mut text = format!("{}{sentence}\n", text::PREFIX);
        text.push_str(&notes(execution));
        Outcome { text, end: Ok(ended(code, status)) }
    };
    let Some(cause) = cause else {
        return Outcome { text: String::new(), end: Err(Refusal::internal(sentence)) };
    };
    match (cause.code(), &cause.detail) {
        (CauseCode::Exited, Some(Detail::Exited(exited))) => {
            let status = format!("exit status {}", exited.code);
            let error = (exited.code != 0).then(|| status.clone());
            let end = End { exit_code: exited.code, exited: true, status, error };
            Outcome { text: notes(execution), end: Ok(end) }
        }
        (CauseCode::Signaled, Some(Detail::Signaled(signaled))) => {
            let status = format!("signal: {}", signal(signaled.signal));
            Outcome { text: notes(execution), end: Ok(ended(SIGNALED, &status)) }
        }
        (CauseCode::Denied | CauseCode::ApprovalExpired, _) => {
            Outcome { text: text::for_model(execution), end: Ok(ended(DENIED, "denied")) }
        }
        (
            CauseCode::QueueExpired
            | CauseCode::Refused
            | CauseCode::SandboxFailed
            | CauseCode::ShellUnavailable,
            _,
        ) => told(NOT_RUN, "did not run"),
        (CauseCode::TimedOut, _) => {
            Outcome { text: notes(execution), end: Err(Refusal::new(Kind::Late, sentence)) }
        }
        (CauseCode::Cancelled, Some(Detail::Cancelled(cancelled)))
            if cancelled.by() == CancelledBy::Session =>
        {
            Outcome { text: String::new(), end: Err(Refusal::gone()) }
        }
        (CauseCode::Cancelled, _) => told(SIGNALED, "signal: killed"),
        (CauseCode::OomKilled, _) => told(KILLED, "signal: killed"),
        (CauseCode::OutputLimit | CauseCode::DiskLimit, _) => told(SIGNALED, "signal: killed"),
        _ => Outcome { text: notes(execution), end: Err(Refusal::internal(sentence)) },
    }
}

fn ended(exit_code: i32, status: &str) -> End {
    End { exit_code, exited: false, status: status.to_owned(), error: Some(status.to_owned()) }
}

fn notes(execution: &Execution) -> String {
    text::notes(execution.result.as_ref()).iter().map(|note| format!("{}{note}\n", text::PREFIX)).collect()
}

/// Returns the text of a signal, as E2B's services write it.
fn signal(number: i32) -> String {
    let name = match number {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        6 => "aborted",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        15 => "terminated",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use airlock_client::v1::{
        Cause, Note, Result as WireResult, Started,
        cause::{Cancelled, Denied, Exited, Signaled},
    };

    use super::*;

    fn execution(code: CauseCode, detail: Option<Detail>) -> Execution {
        let result = WireResult {
            cause: Some(Cause { code: code.into(), detail, ..Default::default() }),
            started: Started::Yes.into(),
            notes: vec![Note { code: "network_refused".to_owned(), text: "no x.example".to_owned() }],
            ..Default::default()
        };
        Execution { result: Some(result), ..Default::default() }
    }

    #[test]
    fn ends_are_those_of_the_sdks() {
        let exited = |code| Some(Detail::Exited(Exited { code }));
        let end = of(&execution(CauseCode::Exited, exited(3)));
        assert_eq!(end.text, "airlock: no x.example\n");
        let end = end.end.unwrap();
        assert_eq!((end.exit_code, end.exited, end.error.as_deref()), (3, true, Some("exit status 3")));
        assert_eq!(of(&execution(CauseCode::Exited, exited(0))).end.unwrap().error, None);
        let killed =
            of(&execution(CauseCode::Signaled, Some(Detail::Signaled(Signaled { signal: 9, core: false }))));
        assert_eq!(killed.end.unwrap().status, "signal: killed");
    }

    #[test]
    fn a_denied_command_says_why() {
        let denied = Detail::Denied(Denied { reason: "no curl".to_owned(), ..Default::default() });
        let mut denied = execution(CauseCode::Denied, Some(denied));
        denied.result.as_mut().unwrap().started = Started::No.into();
        let outcome = of(&denied);
        assert_eq!(outcome.end.unwrap().exit_code, DENIED);
        assert!(
            outcome.text.starts_with("airlock: denied by policy: no curl; it did not run\n"),
            "{}",
            outcome.text
        );
    }

    #[test]
    fn ends_without_an_exit_code_are_errors_or_told() {
        let by = |by: CancelledBy| Some(Detail::Cancelled(Cancelled { by: by.into() }));
        let kind = |code, detail| of(&execution(code, detail)).end.map_err(|refusal| refusal.kind);
        assert_eq!(kind(CauseCode::TimedOut, None).unwrap_err(), Kind::Late);
        assert_eq!(kind(CauseCode::Cancelled, by(CancelledBy::Session)).unwrap_err(), Kind::Gone);
        assert_eq!(kind(CauseCode::RunnerLost, None).unwrap_err(), Kind::Internal);
        assert_eq!(kind(CauseCode::Cancelled, by(CancelledBy::Admin)).unwrap().exit_code, SIGNALED);
        let refused = of(&execution(CauseCode::Refused, None));
        assert_eq!(refused.end.unwrap().exit_code, NOT_RUN);
        assert!(refused.text.starts_with("airlock: "), "{}", refused.text);
        assert_eq!(of(&Execution::default()).end.unwrap_err().kind, Kind::Internal);
    }
}
