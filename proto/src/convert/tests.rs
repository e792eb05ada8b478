//! Tests that each message survives a round trip, and that errors name the malformed field.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Stored as _, grant};
use crate::{
    runner_v1,
    runner_v1::{ConnectRequest, ConnectResponse, PushOutputRequest, PushOutputResponse},
    v1,
};
use airlock_domain::{
    cursor::Cursor,
    limits::{HINT_BYTES, HINTS, IMAGES, INLINE_MAX},
    *,
};

fn causes() -> Vec<Cause> {
    let text = || "text".to_owned();
    vec![
        Cause::Exited { code: 0 },
        Cause::Exited { code: 255 },
        Cause::Signaled { signal: 9, core: true },
        Cause::TimedOut(TimeoutKind::Wall),
        Cause::TimedOut(TimeoutKind::Idle),
        Cause::OomKilled,
        Cause::OutputLimit,
        Cause::DiskLimit,
        Cause::Cancelled(CancelledBy::Client),
        Cause::Cancelled(CancelledBy::Drain),
        Cause::Denied { by: DeniedBy::Person, reason: text() },
        Cause::ApprovalExpired,
        Cause::QueueExpired,
        Cause::Refused {
            reason: text(),
            message: text(),
            files: vec![
                BoundFile { path: b"/workspace/\xff".to_vec(), state: FileState::Digest([7; 32]) },
                BoundFile { path: b"/a".to_vec(), state: FileState::Absent },
                BoundFile { path: b"/b".to_vec(), state: FileState::Other },
                BoundFile { path: b"/c".to_vec(), state: FileState::TooLarge },
                BoundFile { path: b"/d".to_vec(), state: FileState::Unknown },
                BoundFile { path: b"/e".to_vec(), state: FileState::Any },
            ],
        },
        Cause::SandboxFailed { step: text(), message: text(), hint: text() },
        Cause::ShellUnavailable { message: text() },
        Cause::RunnerLost,
        Cause::Internal { message: text() },
    ]
}

fn result(cause: Cause) -> ExecutionResult {
    ExecutionResult {
        directory: b"/workspace/\xff".to_vec(),
        directory_report: DirectoryReport::Reported,
        started: Started::Yes,
        leftovers_killed: true,
        cpu_time: Duration::from_millis(1500),
        peak_memory: 7,
        run_time: Duration::from_nanos(3),
        stdout_bytes: u64::MAX,
        stderr_bytes: 1,
        stdout_cut_bytes: 2,
        stderr_cut_bytes: 3,
        violations: vec![Violation {
            layer: "git".to_owned(),
            kind: "bare_repository".to_owned(),
            path: b"/workspace/\xff".to_vec(),
            action: ViolationAction::Quarantined,
            detail: "text".to_owned(),
            quarantine_id: "1".to_owned(),
        }],
        scrubbed_env: vec!["NPM_TOKEN".to_owned()],
        unsandboxed: true,
        landlock_abi: 7,
        inline: Some(Arc::new(inline())),
        snapshot_problem: "it is larger than 1 byte".to_owned(),
        network_problem: "the runner permits none".to_owned(),
        connections: vec![super::connection::sample()],
        connections_left_out: 5,
        limits_not_enforced: vec!["memory".to_owned()],
        ..ExecutionResult::not_started(cause)
    }
}

fn inline() -> InlineOutput {
    let stdout = InlineText {
        text: "caf\u{e9}\n".to_owned(),
        whole: true,
        total_bytes: 6,
        total_lines: Some(1),
        truncated_bytes: 0,
        invalid_utf8: false,
    };
    let image = OutputImage {
        stream: OutputStream::Stderr,
        offset: 7,
        kind: ImageKind::Webp,
        bytes: 99,
        pixels: Some((3, 4)),
        data_uri: true,
    };
    let stderr = InlineText { total_lines: None, invalid_utf8: true, truncated_bytes: 5, ..stdout.clone() };
    let hints = vec!["<airlock-hint a=\"1\"/>".to_owned()];
    InlineOutput { stdout, stderr: Some(stderr), images: vec![image], hints }
}

#[test]
fn of_a_hostile_runners_inline_output_no_more_is_taken_than_the_contract_allows() {
    let mut wire = v1::InlineOutput::from(inline());
    wire.stdout.as_mut().unwrap().text = "\u{e9}".repeat(INLINE_MAX);
    wire.images = vec![wire.images[0].clone(); 2 * IMAGES];
    wire.images.insert(0, v1::OutputImage { media_type: "image/later".to_owned(), ..wire.images[0].clone() });
    wire.hints = vec!["h".repeat(HINT_BYTES); 2 * HINTS];
    wire.hints.insert(0, "h".repeat(HINT_BYTES + 1));
    let taken = InlineOutput::try_from(wire).unwrap();
    assert_eq!((taken.stdout.text.len(), taken.stdout.whole), (INLINE_MAX, false));
    assert_eq!((taken.images.len(), taken.hints.len()), (IMAGES, HINTS));
    assert!(taken.text_bytes() <= 2 * INLINE_MAX + HINTS * HINT_BYTES);
    assert_eq!(InlineOutput::decode(&inline().encode()), Ok(inline()));
    assert!(InlineOutput::decode(b"\xff").is_err());
}

pub(super) fn sample() -> Grant {
    let texts = |text: &str| vec![text.to_owned()];
    Grant {
        session_id: SessionId::new(),
        command: CommandSpec {
            text: b"echo \xf0".to_vec(),
            shell: Shell::Bash,
            directory: b"/workspace".to_vec(),
            env: BTreeMap::from([("A".to_owned(), b"\xff=".to_vec())]),
            stdin: true,
            pty: Some(Pty { size: TerminalSize { rows: 50, cols: 132 }, term: "xterm".to_owned() }),
            separate_stderr: true,
            timeout: Duration::from_secs(120),
            idle_timeout: Some(Duration::from_secs(7)),
            inline_limit: 1234,
            umask: "027".parse().unwrap(),
            network: Some(network("github")),
        },
        profile: SandboxProfile {
            name: "strict".to_owned(),
            root_binds: vec![Bind { source: "/opt".to_owned(), target: "/o".to_owned() }],
            network: NetworkMode::Loopback,
            env: BTreeMap::from([("LANG".to_owned(), b"C".to_vec())]),
            path: "/usr/bin".to_owned(),
            allowed_env: vec!["NODE_OPTIONS".to_owned()],
            limits: SandboxLimits { memory_bytes: Some(1), ..SandboxLimits::default() },
            rootfs: Some("/srv/root".to_owned()),
            paths: PathRules {
                deny_read: vec!["secrets/**".to_owned()],
                allow_read: vec!["secrets/public".to_owned()],
                allow_write: Some(vec!["src/**".to_owned()]),
                deny_write: vec!["src/generated/**".to_owned()],
            },
            protect: Protect {
                action: ProtectAction::Fail,
                git_writes: false,
                git_config: true,
                names: vec!["Jenkinsfile".to_owned()],
            },
            sockets: Sockets { unix: false, netlink_route: true, allowed_unix: vec!["/run/x".to_owned()] },
            pass_env: vec!["PROXY".to_owned()],
            secrets: vec!["DEPLOY_TOKEN".to_owned()],
            shell_init: "alias ll='ls -l'\n".to_owned(),
            shell_prefix: vec!["/usr/bin/nice".to_owned(), "-n5".to_owned()],
            inspection: Inspection { requests: texts("GET api.example"), secrets: texts("TOKEN") },
        },
        read_only: true,
        requires: vec![Requirement::ReadOnlyMount, Requirement::TrustedPath],
        keep_directory: true,
        unsandboxed: false,
        snapshot_digest: vec![1, 2],
        decided: Decided {
            programs: vec![b"git".to_vec()],
            git: vec!["init".to_owned()],
            paths: vec![DecidedPath { path: b"/workspace/\xff".to_vec(), access: PathAccess::Write }],
            files: vec![BoundFile { path: b"/workspace/x.sh".to_vec(), state: FileState::Digest([7; 32]) }],
            obeyed: vec![Obeyed {
                program: "cargo".to_owned(),
                paths: vec!["/workspace/.cargo/config.toml".to_owned()],
                format: ObeyedFormat::Toml,
                settings: vec!["build.rustc-wrapper".to_owned()],
            }],
            edit: Some(super::edit::tests::decided()),
        },
        egress: vec![network("pypi"), network("github")],
        questions: ConnectionQuestions {
            answered: vec!["a.example:443".to_owned()],
            wait: Duration::from_secs(60),
        },
    }
}

fn network(allow: &str) -> NetworkRules {
    let (allow, deny) = (vec![allow.to_owned()], vec!["gist.github.com".to_owned()]);
    NetworkRules { any: true, allow, deny, warn: true, ask: vec!["a.example".to_owned()] }
}

#[test]
fn every_cause_survives_the_wire() {
    for cause in causes() {
        let wire = v1::Cause::from(cause.clone());
        assert_ne!(wire.code, 0, "{cause:?} has a code");
        assert_eq!(Cause::try_from(wire), Ok(cause));
    }
}

#[test]
fn a_cause_of_a_later_version_is_a_failure() {
    let wire = v1::Cause { code: 9999, ..v1::Cause::default() };
    assert!(matches!(Cause::try_from(wire), Ok(Cause::Internal { .. })));
    let exited_without_code = v1::Cause { code: v1::CauseCode::Exited.into(), ..v1::Cause::default() };
    assert!(Cause::try_from(exited_without_code).is_err(), "never read as exit code 0");
}

#[test]
fn messages_from_runners_survive_the_wire() {
    let session_id = SessionId::new();
    let hello = RunnerHello {
        protocol_version: 1,
        runner_id: "runner-1".parse().unwrap(),
        epoch: Epoch::new(),
        version: "0.1.0".to_owned(),
        labels: BTreeMap::from([("zone".to_owned(), "a".to_owned())]),
        slots: 8,
        bases: vec!["airlock".to_owned()],
        capabilities: vec![Capability { name: "uid".to_owned(), enforced: true, detail: String::new() }],
        shells: BTreeMap::from([("bash".to_owned(), "5.2.15".to_owned())]),
        clock_ms: 12,
        vouched_epochs: vec![Epoch::new(), Epoch::new()],
        answers_probes: true,
    };
    let mut messages = vec![
        FromRunner::Hello(hello),
        FromRunner::Heartbeat { clock_ms: 1, running: 2 },
        FromRunner::Reconciled,
        FromRunner::Draining { over: false },
        FromRunner::Draining { over: true },
        FromRunner::Probed { number: 7 },
        FromRunner::Session(SessionReport { session_id, phase: SessionPhase::Closed }),
        FromRunner::Session(SessionReport {
            session_id,
            phase: SessionPhase::Open {
                directory: b"/workspace".to_vec(),
                snapshot: SessionSnapshot { text: b"alias a=b\n".to_vec(), problem: "none".to_owned() },
            },
        }),
        FromRunner::Session(SessionReport {
            session_id,
            phase: SessionPhase::Failed { reason: "disk".to_owned(), message: "full".to_owned() },
        }),
    ];
    for phase in [JobPhase::Accepted, JobPhase::Refused, JobPhase::Running, JobPhase::Ended, JobPhase::Lost] {
        messages.push(FromRunner::Job(JobReport {
            execution_id: ExecutionId::new(),
            attempt: 3,
            epoch: Epoch::new(),
            phase,
            result: Some(result(Cause::Exited { code: 3 })),
        }));
    }
    for message in messages {
        assert_eq!(FromRunner::try_from(ConnectRequest::from(message.clone())), Ok(message));
    }
}

#[test]
fn messages_to_runners_survive_the_wire() {
    let (execution_id, session_id) = (ExecutionId::new(), SessionId::new());
    let grant = sample();
    let messages = vec![
        ToRunner::Welcome {
            server_id: "s".to_owned(),
            protocol_version: 1,
            heartbeat_interval: Duration::from_secs(2),
            link_grace: Duration::from_secs(240),
            takes_questions: true,
        },
        ToRunner::OpenSession { session_id, base: "b".to_owned(), profile: None },
        ToRunner::OpenSession { session_id, base: String::new(), profile: Some(Box::new(sample().profile)) },
        ToRunner::CloseSession { session_id },
        ToRunner::StartJob(Box::new(StartJob {
            execution_id,
            attempt: 1,
            epoch: Epoch::new(),
            not_after_clock_ms: 5,
            binding: grant.binding(),
            grant,
            traceparent: "00-x".to_owned(),
        })),
        ToRunner::EndJob { execution_id, cause: Cause::Cancelled(CancelledBy::Session) },
        ToRunner::OpenOutput { execution_id, ticket: "t".to_owned() },
        ToRunner::ForgetJob { execution_id },
        ToRunner::SignalJob { execution_id, signal: Signal::Usr1 },
        ToRunner::ResizeJob { execution_id, size: TerminalSize { rows: 1, cols: 4096 } },
        ToRunner::DetachJob { execution_id, timeout: Duration::from_secs(1800) },
        ToRunner::SetSessionNetwork { session_id, version: 3, network: None },
        ToRunner::SetSessionNetwork { session_id, version: u64::MAX, network: Some(network("a.b")) },
        ToRunner::Drain { undo: true },
        ToRunner::Probe { number: 7 },
        ToRunner::OpenExchange { ticket: "t".to_owned() },
        ToRunner::Heartbeat,
    ];
    for message in messages {
        assert_eq!(ToRunner::try_from(ConnectResponse::from(message.clone())), Ok(message));
    }
}

#[test]
fn output_messages_survive_the_wire() {
    let up = vec![
        PushFromRunner::Hello {
            runner_id: "r".parse().unwrap(),
            execution_id: ExecutionId::new(),
            ticket: "t".to_owned(),
            missing: true,
        },
        PushFromRunner::Chunk { read_id: 1, offset: 9, data: Bytes::from_static(b"\0\xff") },
        PushFromRunner::Gap { read_id: 1, from: 3, to: 4 },
        PushFromRunner::Done { read_id: 1, offset: 4, end: true, total: 4 },
    ];
    for message in up {
        assert_eq!(PushFromRunner::try_from(PushOutputRequest::from(message.clone())), Ok(message));
    }
    let down = vec![
        PushToRunner::Read {
            read_id: 1,
            stream: OutputStream::Stderr,
            offset: 2,
            max_bytes: 3,
            follow: true,
        },
        PushToRunner::Cancel { read_id: 1 },
    ];
    for message in down {
        assert_eq!(PushToRunner::try_from(PushOutputResponse::from(message.clone())), Ok(message));
    }
}

#[test]
fn malformed_messages_name_their_field() {
    use runner_v1::{OutputChunk, OutputGap, connect_request, push_output_request};
    let empty = FromRunner::try_from(ConnectRequest::default()).unwrap_err();
    assert_eq!(empty.field, "message");
    let hello = ConnectRequest {
        message: Some(connect_request::Message::Hello(runner_v1::Hello {
            runner_id: "no spaces".to_owned(),
            ..Default::default()
        })),
    };
    assert_eq!(FromRunner::try_from(hello).unwrap_err().field, "hello.runner_id");
    let ended = ConnectRequest {
        message: Some(connect_request::Message::Job(runner_v1::JobReport {
            execution_id: ExecutionId::new().to_string(),
            epoch: Epoch::new().to_string(),
            phase: runner_v1::JobPhase::Ended.into(),
            ..Default::default()
        })),
    };
    assert_eq!(FromRunner::try_from(ended).unwrap_err().field, "job.result");
    let chunk = OutputChunk { data: vec![0; 32 * 1024 + 1].into(), ..Default::default() };
    let chunk = PushOutputRequest { message: Some(push_output_request::Message::Chunk(chunk)) };
    assert_eq!(PushFromRunner::try_from(chunk).unwrap_err().field, "chunk.data");
    let gap = OutputGap { read_id: 1, from: 4, to: 4 };
    let gap = PushOutputRequest { message: Some(push_output_request::Message::Gap(gap)) };
    assert_eq!(PushFromRunner::try_from(gap).unwrap_err().field, "gap.to");
    let mut wire = grant::into_wire(&sample(), [0; 32]);
    wire.binding = Bytes::from_static(b"short");
    assert_eq!(grant::from_wire(&wire).unwrap_err().field, "grant.binding");
    let malformed = |from: &str, to: &str| {
        let encoded = String::from_utf8(sample().encode()).unwrap();
        assert_eq!(encoded.matches(from).count(), 1, "{encoded}");
        let wire = runner_v1::Grant {
            encoded: encoded.replace(from, to).into(),
            ..grant::into_wire(&sample(), [0; 32])
        };
        let error = grant::from_wire(&wire).unwrap_err();
        assert_eq!(error.field, "grant.encoded");
        error.problem
    };
    assert!(malformed("TRUSTED_PATH", "A_LATER_ONE").contains("unknown"));
    assert!(malformed(r#"{"session_id""#, r#"{"later":1,"session_id""#).contains("unknown"));
    for (rows, cols) in [(0, 80), (24, 0), (4097, 80), (24, 4097)] {
        let to = format!(r#"{{"rows":{rows},"cols":{cols}}}"#);
        let problem = malformed(r#"{"rows":50,"cols":132}"#, &to);
        assert!(problem.contains(&format!("{rows} by {cols}")), "{problem}");
    }
    assert!(malformed(r#""cols":132"#, r#""cols":65616"#).contains("malformed"));
    let open = |profile: &'static [u8]| ConnectResponse {
        message: Some(runner_v1::connect_response::Message::OpenSession(runner_v1::OpenSession {
            session_id: SessionId::new().to_string(),
            base: String::new(),
            profile: Bytes::from_static(profile),
        })),
    };
    assert_eq!(ToRunner::try_from(open(b"{}")).unwrap_err().field, "open_session.profile");
}

#[test]
fn every_bound_field_changes_the_binding() {
    let base = sample();
    let changes: Vec<fn(&mut Grant)> = vec![
        |g| g.session_id = SessionId::new(),
        |g| g.command.text.push(b' '),
        |g| g.command.shell = Shell::Zsh,
        |g| g.command.directory.push(b'x'),
        |g| drop(g.command.env.insert("B".to_owned(), Vec::new())),
        |g| g.command.env = BTreeMap::from([("A=".to_owned(), b"\xff".to_vec())]),
        |g| g.profile.name.push('x'),
        |g| g.profile.root_binds.clear(),
        |g| g.profile.path.push(':'),
        |g| g.profile.allowed_env.clear(),
        |g| g.profile.env.clear(),
        |g| g.profile.limits.processes += 1,
        |g| g.read_only = false,
        |g| g.requires.clear(),
        |g| g.unsandboxed = true,
        |g| g.snapshot_digest.clear(),
        |g| g.command.stdin = false,
        |g| g.command.pty = None,
        |g| g.command.umask = "077".parse().unwrap(),
        |g| g.command.network = None,
        |g| g.egress.clear(),
        |g| g.egress.swap(0, 1),
        |g| g.egress[0].any = false,
        |g| g.egress[0].deny.clear(),
        |g| g.egress[1].allow.clear(),
        |g| g.command.pty.as_mut().unwrap().size = TerminalSize { rows: 132, cols: 50 },
        |g| g.decided.programs.clear(),
        |g| g.decided.git.clear(),
        |g| g.decided.paths.clear(),
        |g| g.decided.obeyed.clear(),
        |g| g.decided.obeyed[0].paths.clear(),
        |g| g.decided.obeyed[0].settings.clear(),
        |g| g.decided.obeyed[0].program.push('x'),
        |g| g.decided.obeyed[0].format = ObeyedFormat::Text,
        |g| g.decided.paths[0].access = PathAccess::Read,
        |g| g.profile.limits.memory_bytes = None,
        |g| g.profile.limits.cpu_millis = Some(1),
        |g| g.profile.rootfs = None,
        |g| g.profile.paths.deny_read.clear(),
        |g| g.profile.paths.allow_read.clear(),
        |g| g.profile.paths.allow_write = None,
        |g| g.profile.paths.allow_write = Some(Vec::new()),
        |g| g.profile.paths.deny_write.clear(),
        |g| g.profile.protect.action = ProtectAction::Report,
        |g| g.profile.protect.git_writes = true,
        |g| g.profile.protect.git_config = false,
        |g| g.profile.protect.names.clear(),
        |g| g.profile.sockets.unix = true,
        |g| g.profile.sockets.netlink_route = false,
        |g| g.profile.sockets.allowed_unix.clear(),
        |g| g.profile.pass_env.clear(),
        |g| g.profile.secrets.clear(),
        |g| g.profile.shell_init.clear(),
        |g| g.profile.shell_prefix.clear(),
        |g| g.profile.inspection.requests.clear(),
        |g| g.profile.inspection.secrets.clear(),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut other = base.clone();
        change(&mut other);
        assert_ne!(other.binding(), base.binding(), "change {index}");
    }
    let (again, binding) = grant::from_wire(&grant::into_wire(&base, base.binding())).unwrap();
    assert_eq!((again.binding(), binding), (base.binding(), base.binding()));
}

#[test]
fn cursors_are_opaque_and_exact() {
    let cursor = Cursor { epoch: Some(Epoch::new()), version: 4, stdout: u64::MAX, stderr: 1 };
    assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
    assert_eq!(Cursor::decode(&Cursor::default().encode()), Ok(Cursor::default()));
    for length in 0..cursor.encode().len() {
        assert!(Cursor::decode(&cursor.encode()[..length]).is_err());
    }
    let mut longer = cursor.encode();
    longer.push(0);
    assert!(Cursor::decode(&longer).is_err());
    let mut other_version = cursor.encode();
    other_version[0] = 9;
    assert!(Cursor::decode(&other_version).is_err());
}

#[test]
fn states_follow_the_closed_table() {
    use ExecutionState::*;
    for state in ExecutionState::ALL {
        assert!(!Finished.may_become(state), "no event follows the end");
        assert!(!state.may_become(state), "no state follows itself");
    }
    assert!(!PendingApproval.may_become(Running) && !Queued.may_become(Running));
    assert!(!Running.may_become(Queued), "an execution that ran is never queued again");
}
