//! Tests of the exit code and the sentence for each cause.

use super::*;
use airlock_client::v1::{
    CancelledBy, Cause, DeniedBy,
    cause::{Cancelled, Denied, Exited, Signaled},
};

fn outcome(code: CauseCode, started: Started, detail: Option<Detail>) -> Outcome {
    Outcome {
        cause: Some(Cause { code: code.into(), message: String::new(), detail }),
        started: started.into(),
        ..Default::default()
    }
}

fn exited(code: i32) -> Option<Detail> {
    Some(Detail::Exited(Exited { code }))
}

fn signaled(signal: i32) -> Option<Detail> {
    Some(Detail::Signaled(Signaled { signal, core: false }))
}

#[test]
fn exit_codes() {
    use CauseCode as C;
    use Started::{No, Unknown, Yes};
    for (code, started, detail, expected) in [
        (C::Exited, Yes, exited(0), 0),
        (C::Exited, Yes, exited(7), 7),
        (C::Exited, Yes, exited(255), 255),
        (C::Exited, Yes, exited(256), FAILED),
        (C::Exited, Yes, exited(-1), FAILED),
        // Without an explicit exit code, the result is not a success.
        (C::Exited, Yes, None, FAILED),
        (C::Signaled, Yes, signaled(15), 143),
        (C::Signaled, Yes, signaled(-3), FAILED),
        (C::Signaled, Yes, signaled(4000), FAILED),
        (C::TimedOut, Yes, None, 124),
        (C::Cancelled, Yes, None, 130),
        (C::Cancelled, No, None, 125),
        (C::OomKilled, Yes, None, 137),
        (C::Denied, No, None, 125),
        (C::ApprovalExpired, No, None, 125),
        (C::QueueExpired, No, None, 125),
        (C::Refused, No, None, 125),
        (C::SandboxFailed, No, None, 125),
        (C::SandboxFailed, Unknown, None, FAILED),
        (C::ShellUnavailable, No, None, 125),
        (C::RunnerLost, Yes, None, FAILED),
        (C::RunnerLost, Unknown, None, FAILED),
        (C::Internal, Yes, None, FAILED),
        (C::Unspecified, Yes, exited(0), FAILED),
    ] {
        let outcome = outcome(code, started, detail);
        assert_eq!(exit_code(Some(&outcome)), expected, "{outcome:?}");
    }
    assert_eq!(exit_code(None), FAILED);
    assert_eq!(exit_code(Some(&Outcome::default())), FAILED);
    let later = Outcome {
        cause: Some(Cause { code: 99, message: String::new(), detail: exited(0) }),
        started: Yes.into(),
        ..Default::default()
    };
    assert_eq!(exit_code(Some(&later)), FAILED);
    assert!(sentence(Some(&later)).contains("UNKNOWN_99"));
}

#[test]
fn sentences_say_who_and_whether_it_ran() {
    let denied = Detail::Denied(Denied { by: DeniedBy::Person.into(), reason: "no\x1b[2J".into() });
    assert_eq!(
        sentence(Some(&outcome(CauseCode::Denied, Started::No, Some(denied)))),
        "denied by a person: no\\u{1b}[2J; it did not run"
    );
    let cancelled = Detail::Cancelled(Cancelled { by: CancelledBy::Session.into() });
    assert_eq!(
        sentence(Some(&outcome(CauseCode::Cancelled, Started::Yes, Some(cancelled)))),
        "cancelled because its session was closed"
    );
    assert_eq!(
        sentence(Some(&outcome(CauseCode::RunnerLost, Started::Unknown, None))),
        "its runner was lost; it is unknown whether it ran"
    );
    assert_eq!(short(Some(&outcome(CauseCode::Exited, Started::Yes, exited(3)))), "exited (3)");
    assert_eq!(short(Some(&outcome(CauseCode::RunnerLost, Started::Yes, None))), "runner lost");
    assert_eq!(short(None), "unknown");
    assert_eq!(sentence(None), "the result of the command is unknown");
}

#[test]
fn a_summary_says_what_a_person_wants_to_know() {
    let done = Outcome {
        run_time: Some(prost_types::Duration { seconds: 1, nanos: 250_000_000 }),
        peak_memory: 3 << 20,
        ..outcome(CauseCode::Exited, Started::Yes, exited(0))
    };
    assert_eq!(summary(Some(&done)), "done, 1.2 s, 3.00 MiB of memory, no output");
    let failed = Outcome {
        interpretation: Some(airlock_client::v1::Interpretation {
            text: "grep: no line\x1b[2J matched".to_owned(),
            failure: false,
        }),
        stdout_bytes: 1 << 30,
        stderr_bytes: 1024,
        cause: outcome(CauseCode::Exited, Started::Yes, exited(1)).cause,
        peak_memory: 0,
        ..done
    };
    let told = summary(Some(&failed));
    assert!(!told.contains('\x1b'), "{told:?}");
    for piece in ["exited with code 1 (grep: no line", "1.00 GiB of output"] {
        assert!(told.contains(piece), "`{piece}` in {told}");
    }
    let denied = outcome(CauseCode::Denied, Started::No, None);
    assert_eq!(summary(Some(&denied)), sentence(Some(&denied)), "a command that did not run has no usage");
    assert_eq!(summary(None), sentence(None));
}
