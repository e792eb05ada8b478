//! Limits of the messages of runners. The server trusts a runner's reports about its own commands. But its messages
//! must not fill the store or the listings of other objects.

use airlock_control::api::{ApiError, FieldViolation};
use airlock_domain::{
    Cause, Connection, DirectoryReport, FromRunner, RunnerHello, SessionPhase,
    limits::{DIRECTORY_BYTES, NAME_BYTES, NETWORK_LAYERS, SNAPSHOT_BYTES, VOUCHED_EPOCHS},
};

use airlock_network::Target;

use super::checker::Checker;

/// The maximum number of slots.
const SLOTS: u32 = 1024;
/// The maximum number of bases.
const BASES: usize = 128;
/// The maximum number of capabilities.
const CAPABILITIES: usize = 64;
/// The maximum length, in bytes, of a text for people. A longer text is cut.
const TEXT_BYTES: usize = 4 * 1024;
/// The maximum length of the host of a connection that waits for an answer, in bytes.
const HOST_BYTES: usize = 255;
/// The maximum length of the rule that asks about a connection, in bytes.
const RULE_BYTES: usize = 2 * 1024;
/// The maximum number of shells.
const SHELLS: usize = 8;

/// Validates a Hello. Its texts for people are cut.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn hello(mut hello: RunnerHello) -> Result<RunnerHello, ApiError> {
    let mut checker = Checker::default();
    hello.version = checker.text("hello.version", hello.version, NAME_BYTES).unwrap_or_default();
    hello.labels = checker.labels("hello.labels", hello.labels);
    if hello.slots > SLOTS {
        checker.bad("hello.slots", format!("is {}, at most {SLOTS}", hello.slots));
    }
    checker.count("hello.bases", hello.bases.len(), BASES);
    for base in hello.bases.iter().take(BASES) {
        checker.name("hello.bases", base.clone());
    }
    checker.count("hello.capabilities", hello.capabilities.len(), CAPABILITIES);
    for capability in hello.capabilities.iter_mut().take(CAPABILITIES) {
        checker.name("hello.capabilities.name", capability.name.clone());
        cut(&mut capability.detail);
    }
    checker.count("hello.vouched_epochs", hello.vouched_epochs.len(), VOUCHED_EPOCHS);
    checker.count("hello.shells", hello.shells.len(), SHELLS);
    for (shell, version) in hello.shells.iter().take(SHELLS) {
        checker.name("hello.shells", shell.clone());
        checker.text("hello.shells", version.clone(), NAME_BYTES);
    }
    checker.finish(Some(hello))
}

/// Validates a message after the Hello. Its texts for people are cut. A directory that is too long is treated as
/// unreported.
///
/// # Errors
/// Returns the first invalid field.
pub fn from_runner(mut message: FromRunner) -> Result<FromRunner, FieldViolation> {
    let mut checker = Checker::default();
    match &mut message {
        FromRunner::Job(report) => {
            if let Some(result) = &mut report.result {
                // The end of a job must be accepted, or the runner would report it forever. Its directory can
                // be dropped.
                if result.directory.len() > DIRECTORY_BYTES {
                    result.directory.clear();
                    result.directory_report = DirectoryReport::Unchanged;
                }
                cut_cause(&mut result.cause);
                cut(&mut result.snapshot_problem);
                cut(&mut result.network_problem);
                result.connections.iter_mut().for_each(bound_connection);
            }
        }
        FromRunner::Session(report) => match &mut report.phase {
            SessionPhase::Open { directory, snapshot } => {
                checker.at_most("session.directory", directory.len(), DIRECTORY_BYTES);
                checker.at_most("session.snapshot", snapshot.text.len(), SNAPSHOT_BYTES);
                cut(&mut snapshot.problem);
            }
            SessionPhase::Failed { reason, message } => {
                cut(reason);
                cut(message);
            }
            SessionPhase::Closed => {}
        },
        FromRunner::Asked(asked) => {
            checker.at_most("connection_asked.host", asked.host.len(), HOST_BYTES);
            checker.at_most("connection_asked.rule", asked.rule.len(), RULE_BYTES);
            let target = Target::parse(&format!("{}:{}", asked.host, asked.port));
            if target.is_err() {
                checker.bad("connection_asked.host", "is not a host");
            }
        }
        FromRunner::Hello(_)
        | FromRunner::Heartbeat { .. }
        | FromRunner::Reconciled
        | FromRunner::Draining { .. }
        | FromRunner::Probed { .. }
        | FromRunner::Unasked { .. } => {}
    }
    checker.violations.into_iter().next().map_or(Ok(message), Err)
}

fn cut_cause(cause: &mut Cause) {
    match cause {
        Cause::Denied { reason, .. } => cut(reason),
        // The conversion has already limited the number of files.
        Cause::Refused { reason, message, files: _ } => {
            cut(reason);
            cut(message);
        }
        Cause::SandboxFailed { step, message, hint } => {
            cut(step);
            cut(message);
            cut(hint);
        }
        Cause::ShellUnavailable { message } | Cause::Internal { message } => cut(message),
        Cause::Exited { .. }
        | Cause::Signaled { .. }
        | Cause::TimedOut(_)
        | Cause::OomKilled
        | Cause::OutputLimit
        | Cause::DiskLimit
        | Cause::Cancelled(_)
        | Cause::ApprovalExpired
        | Cause::QueueExpired
        | Cause::RunnerLost => {}
    }
}

/// Bounds the texts of a connection, which are written to the audit. A database accepts no NUL.
fn bound_connection(connection: &mut Connection) {
    let Connection { host, rule, layer, other_layers, address_kind, reason, .. } = connection;
    other_layers.truncate(NETWORK_LAYERS);
    let others = other_layers.iter_mut().map(|layer| (layer, 32));
    let texts = [(host, 256), (rule, 512), (layer, 32), (address_kind, 32), (reason, 1024)];
    for (text, bytes) in texts.into_iter().chain(others) {
        text.retain(|letter| !letter.is_control());
        cut_to(text, bytes);
    }
}

fn cut(text: &mut String) {
    cut_to(text, TEXT_BYTES);
}

fn cut_to(text: &mut String, bytes: usize) {
    text.truncate(text.floor_char_boundary(bytes));
}

#[cfg(test)]
mod tests {
    use airlock_domain::{
        Capability, ConnectionProtocol, ConnectionVerdict, Epoch, ExecutionId, ExecutionResult, JobPhase,
        JobReport, SessionId, SessionReport, SessionSnapshot,
    };

    use super::*;
    use airlock_control::testing;

    fn honest() -> RunnerHello {
        testing::hello("r", Epoch::from_bytes([7; 16]))
    }

    fn fields(said: RunnerHello) -> Vec<String> {
        match hello(said) {
            Err(ApiError::Invalid(violations)) => violations.into_iter().map(|bad| bad.field).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_honest_hello_is_taken_as_it_is() {
        let unversioned = RunnerHello { version: String::new(), ..honest() };
        for said in [honest(), unversioned] {
            assert_eq!(hello(said.clone()).unwrap(), said);
        }
    }

    #[test]
    fn a_hello_is_bounded_in_every_field() {
        let many = |count: usize| (0..count).map(|index| format!("n{index}"));
        let bad = RunnerHello {
            version: "v".repeat(NAME_BYTES + 1),
            labels: many(33).map(|key| (key, String::new())).collect(),
            slots: SLOTS + 1,
            bases: many(BASES + 1).collect(),
            capabilities: many(CAPABILITIES + 1)
                .map(|name| Capability { name, enforced: true, detail: String::new() })
                .collect(),
            vouched_epochs: vec![honest().epoch; VOUCHED_EPOCHS + 1],
            shells: many(SHELLS + 1).map(|name| (name, String::new())).collect(),
            ..honest()
        };
        let expected = ["version", "labels", "slots", "bases", "capabilities", "vouched_epochs", "shells"];
        assert_eq!(fields(bad), expected.map(|field| format!("hello.{field}")));
        let long = "v".repeat(NAME_BYTES + 1);
        for (shell, version) in [("s", long.as_str()), (long.as_str(), "5")] {
            let shells = [(shell.to_owned(), version.to_owned())].into();
            assert_eq!(fields(RunnerHello { shells, ..honest() }), ["hello.shells"]);
        }
        assert_eq!(
            fields(RunnerHello { bases: vec!["b".repeat(NAME_BYTES + 1)], ..honest() }),
            ["hello.bases"]
        );
    }

    #[test]
    fn the_texts_of_connections_are_bounded_and_have_no_control_characters() {
        let long = format!("\0\n{}", "\u{e9}".repeat(TEXT_BYTES));
        let one = Connection {
            host: long.clone(),
            port: 443,
            protocol: ConnectionProtocol::Connect,
            verdict: ConnectionVerdict::Refused,
            rule: long.clone(),
            layer: long.clone(),
            other_layers: vec![long.clone(); 9],
            address_kind: long.clone(),
            reason: long,
            bytes_up: 0,
            bytes_down: 0,
            started_micros: 0,
            duration: std::time::Duration::ZERO,
        };
        let result = ExecutionResult {
            connections: vec![one],
            ..ExecutionResult::not_started(Cause::Internal { message: String::new() })
        };
        let report = JobReport {
            execution_id: ExecutionId::new(),
            attempt: 1,
            epoch: honest().epoch,
            phase: JobPhase::Ended,
            result: Some(result),
        };
        let Ok(FromRunner::Job(report)) = from_runner(FromRunner::Job(report)) else {
            panic!("not a report")
        };
        let Connection { host, rule, layer, other_layers, address_kind, reason, .. } =
            &report.result.unwrap().connections[0];
        let [one, two, three] = &other_layers[..] else { panic!("{other_layers:?}") };
        let texts = [host, rule, reason, layer, address_kind, one, two, three];
        assert_eq!(texts.map(String::len), [256, 512, 1024, 32, 32, 32, 32, 32]);
        for text in texts {
            assert!(!text.contains(char::is_control), "{text:?}");
        }
    }

    #[test]
    fn texts_for_people_are_cut_and_what_is_no_directory_is_not_taken() {
        let long = "\u{e9}".repeat(TEXT_BYTES);
        let capability = Capability { name: "n".to_owned(), enforced: false, detail: long.clone() };
        let taken = hello(RunnerHello { capabilities: vec![capability], ..honest() }).unwrap();
        assert_eq!(taken.capabilities[0].detail.len(), TEXT_BYTES);

        let ended = |result| JobReport {
            execution_id: ExecutionId::new(),
            attempt: 1,
            epoch: honest().epoch,
            phase: JobPhase::Ended,
            result: Some(result),
        };
        let result = ExecutionResult::not_started(Cause::Internal { message: long });
        let Ok(FromRunner::Job(report)) = from_runner(FromRunner::Job(ended(result.clone()))) else {
            panic!("not a report")
        };
        assert!(
            matches!(report.result.unwrap().cause, Cause::Internal { message } if message.len() == TEXT_BYTES)
        );
        let directory = vec![b'd'; DIRECTORY_BYTES + 1];
        let moved = ExecutionResult {
            directory: directory.clone(),
            directory_report: DirectoryReport::Reported,
            ..result
        };
        let Ok(FromRunner::Job(report)) = from_runner(FromRunner::Job(ended(moved))) else {
            panic!("not a report")
        };
        let taken = report.result.unwrap();
        assert_eq!((taken.directory.len(), taken.directory_report), (0, DirectoryReport::Unchanged));
        let opened = |directory: &[u8], text: &[u8]| {
            let snapshot = SessionSnapshot { text: text.to_vec(), problem: String::new() };
            let phase = SessionPhase::Open { directory: directory.to_vec(), snapshot };
            from_runner(FromRunner::Session(SessionReport { session_id: SessionId::new(), phase }))
        };
        assert_eq!(opened(&directory, b"").unwrap_err().field, "session.directory");
        assert_eq!(opened(b"/", &vec![b'#'; SNAPSHOT_BYTES + 1]).unwrap_err().field, "session.snapshot");
        opened(b"/", &vec![b'#'; SNAPSHOT_BYTES]).unwrap();
    }
}
